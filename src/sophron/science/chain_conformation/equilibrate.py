"""Stage equilibrate: chains slide off each other and forget their start; all backends begin here."""

from __future__ import annotations

from sophron.interfaces.kind import StepContext, StepResult
from sophron.records.typed_json import to_json
from sophron.science.chain_conformation.build import begin
from sophron.science.chain_conformation.gyration import squared_radii
from sophron.science.lammps import logfile
from sophron.science.lammps.executable import find
from sophron.science.lammps.stage_run import run_once, template
from sophron.science.viscosity.build import longest_bond, read_positions


def run(ctx: StepContext) -> StepResult:
    """Push overlapping beads apart, run `steps` steps of Langevin dynamics, write `system.data` with velocities.

    The seed of this step is the one that every way samples with. A killed run begins again.
    """
    start, definition = begin(ctx, "build"), ctx.definition
    names = ("temperature", "timestep", "damping", "push_off_steps", "steps")
    values = {**start.values, **{name: definition[name] for name in names}, "seed": ctx.seed}
    log = run_once(ctx, find(), template("chain_conformation", "equilibrate"), values, definition["steps"])
    end = logfile.last_row(log)
    path = ctx.workdir / "system.data"
    system = read_positions(path, start.system.chain_length)
    result = {
        **to_json(start.system),
        "temperature_target": definition["temperature"],
        "timestep": definition["timestep"],
        "damping": definition["damping"],
        "sampling_seed": ctx.seed,
        "energy_per_bead": end["PotEng"],
        "temperature": end["Temp"],
        "longest_bond": longest_bond(system),
        "squared_radius": float(squared_radii(system.chains).mean()),
    }
    return StepResult(result, {"system": path}, {"lammps": logfile.version(log)})
