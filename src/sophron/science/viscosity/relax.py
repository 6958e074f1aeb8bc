"""Stage relax: chains slide off each other, a lattice melts; the result is a liquid without overlaps."""

from __future__ import annotations

import math

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.records.typed_json import to_json
from sophron.science.lammps import logfile
from sophron.science.lammps.executable import find
from sophron.science.lammps.stage_run import run_once, template
from sophron.science.viscosity import build
from sophron.science.viscosity.build import begin

NO_PUSH_OFF = {"steps": 0, "prefactor": 0.0, "max_displacement": 0.0}


def run(ctx: StepContext) -> StepResult:
    """Relax the built system and write `system.data`.

    Chains: a soft repulsion grows from zero while FENE bonds hold (Auhl et al. 2003, 10.1063/1.1628670), then the
    full potential is minimised. All: a Langevin thermostat runs `steps` steps, above melting for a lattice.
    The stage is short; a killed one starts again. EngineFailure if LAMMPS fails or the energy is not finite.
    """
    start = begin(ctx, "build")
    soft = ctx.definition.get("push_off", NO_PUSH_OFF)
    own = {name: ctx.definition[name] for name in ("temperature", "timestep", "steps")}
    push = {"push_off_steps": soft["steps"], **{name: soft[name] for name in ("prefactor", "max_displacement")}}
    values = {**start.values, **own, **push, "seed": ctx.seed}
    log = run_once(ctx, find(), template("viscosity", "relax"), values, own["steps"])
    end = logfile.last_row(log)
    if not all(math.isfinite(value) for value in end.values()):
        raise EngineFailure("relax: the energy is not finite; lengthen the push-off or shorten the time step")
    path = ctx.workdir / "system.data"
    system = build.read_positions(path, start.system.chain_length)
    result = {
        **to_json(start.system),
        "energy_per_atom": end["PotEng"],
        "temperature": end["Temp"],
        "pressure": end["Press"],
        "bond_length_max": build.longest_bond(system),
        "internal_distance_ratio": build.internal_distance_ratio(system),
    }
    return StepResult(result, {"system": path}, {"lammps": logfile.version(log)})
