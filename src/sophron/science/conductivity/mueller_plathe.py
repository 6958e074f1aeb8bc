"""Stage mueller_plathe: an imposed flux of energy through a long box, and the gradient of temperature it makes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.records.typed_json import to_json
from sophron.science.conductivity.build import Start, begin, series_file
from sophron.science.conductivity.temperature_profile import Profile, conductivity, read_profile
from sophron.science.lammps import logfile, segments
from sophron.science.lammps.executable import find
from sophron.science.lammps.stage_run import all_samples, check_multiples, run_once, template

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COLUMNS = 3
"""Columns of the series: energy swapped since the start, total energy, temperature."""

WIDER = 1 + 1e-9
"""LAMMPS is given slabs this much wider, so that rounding makes no further, empty slab."""

LEAST_SLABS = 8


@dataclass(frozen=True)
class Box:
    """The long box of a step. copies: of the equilibrated box along z; slabs: in which atoms are counted."""

    copies: int
    slabs: int
    length: float
    area: float

    @classmethod
    def of(cls, ctx: StepContext, start: Start) -> Box:
        """From the wildcard and the definition; EngineFailure if slabs of whole cells cannot be paired."""
        copies, thickness = int(ctx.wildcards["copies"]), ctx.definition["slab_cells"]
        cells = start.system.cells[2] * copies
        slabs, rest = divmod(cells, thickness)
        if rest or slabs % 2 or slabs < LEAST_SLABS:
            raise EngineFailure(
                f"mueller_plathe.definition: {copies} copies are {cells} cells along z, which slabs of {thickness} do "
                f"not divide into an even number of at least {LEAST_SLABS}; change copies or slab_cells"
            )
        x, y, z = start.system.box
        return cls(copies, slabs, z * copies, x * y)


def run(ctx: StepContext) -> StepResult:
    """Swap the velocities of the hottest atom in the first slab and the coldest in the middle one, again and again.

    Method of Mueller-Plathe (1997, 10.1063/1.473271): the energy that the swaps carry is exact, flows back through
    both halves of the box, and the conductivity is flux over gradient. Writes `profile.npz`: `temperature`
    (blocks, slabs), `swapped` (blocks + 1,), energy since the start, `total` likewise, `steps`; all blocks, the
    discarded ones too. A run that was killed begins again: restart files do not hold the swapped energy.
    """
    definition, lammps = ctx.definition, find()
    check_multiples(ctx, "block_steps", "discard_steps", "steps")
    check_multiples(ctx, "sample_every", "block_steps")
    check_multiples(ctx, "swap_every", "block_steps")
    start = begin(ctx, "equilibrate", lammps)
    box, last = Box.of(ctx, start), definition["discard_steps"] + definition["steps"]
    log = run_once(ctx, lammps, template("conductivity", "mueller_plathe"), _values(ctx, start, box, last), last)
    swapped = all_samples(ctx, "swapped", COLUMNS, last, definition["block_steps"])
    blocks = read_profile(ctx.workdir / str(series_file("profile").text), box.slabs)
    path = ctx.workdir / "profile.npz"
    _write(path, blocks, swapped)
    result = {
        **to_json(start.system),
        "copies": box.copies,
        "length": box.length,
        "area": box.area,
        "slabs": box.slabs,
        "temperature_target": start.step.result["temperature_target"],
        **_measured(ctx, start, box, blocks, swapped.values),
    }
    return StepResult(result, {"profile": path}, {"lammps": logfile.version(log)})


def _values(ctx: StepContext, start: Start, box: Box, last: int) -> dict[str, object]:
    definition, temperature = ctx.definition, start.step.result["temperature_target"]
    # One box at rest lacks 3 degrees of freedom; the long one lacks 3 too, and not 3 a copy.
    energy = start.step.result["energy_mean"] * start.system.atoms * box.copies
    energy += (box.copies - 1) * 1.5 * start.system.units.boltzmann * temperature
    names = ("timestep", "damping", "settle_steps", "swap_every", "block_steps", "sample_every")
    return {
        **start.values,
        **{name: definition[name] for name in names},
        "temperature": temperature,
        "energy_target": energy,
        "degrees_of_freedom": 3 * start.system.atoms * box.copies - 3,
        "samples_a_block": definition["block_steps"] // definition["sample_every"],
        "copies": box.copies,
        "slabs": box.slabs,
        "slab_share": WIDER / box.slabs,
        "steps": last,
        "seed": ctx.seed,
        "swapped_file": series_file("swapped"),
        "profile_file": series_file("profile"),
    }


def _measured(
    ctx: StepContext, start: Start, box: Box, blocks: NDArray[np.float64], series: NDArray[np.float64]
) -> dict[str, float | None]:
    """The part of the result that comes from the blocks after the discarded ones."""
    from sophron.science.estimators.correlated_series import block_mean

    definition = ctx.definition
    first, atoms = definition["discard_steps"] // definition["block_steps"], start.system.atoms * box.copies
    swapped, total, kinetic = series[first:].T
    block_time = definition["block_steps"] * definition["timestep"]
    profile = Profile(blocks[first:] * atoms / (atoms - 1), swapped, box.length, box.area, block_time)
    found = conductivity(profile, definition["fit_share"], start.system.units.to_conductivity)
    temperature = block_mean(kinetic[1:])
    return {
        **found,
        "temperature_mean": temperature.mean,
        "temperature_error": temperature.error,
        "energy_drift": float(total[-1] - total[0]) / atoms,
        "swaps": definition["steps"] // definition["swap_every"],
        "blocks": len(profile.temperature),
    }


def _write(path: Path, blocks: NDArray[np.float64], swapped: segments.Joined) -> None:
    import numpy as np

    energy, total, _ = swapped.values.T
    np.savez(path, temperature=blocks, swapped=energy, total=total, steps=swapped.steps)
