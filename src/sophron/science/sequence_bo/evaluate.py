"""Evaluate one sequence: LAMMPS runs the chain, and its mean squared radius of gyration has a correlated error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sophron.interfaces.kind import EngineFailure, StepContext
from sophron.records.files import write_text
from sophron.science.lammps import logfile
from sophron.science.lammps.executable import find
from sophron.science.lammps.render import FileName
from sophron.science.lammps.stage_run import START, all_samples, check_multiples, run_once, template
from sophron.science.sequence_bo.sequences import blocks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SPACING = 0.97
"""Distance of neighbours at the start, near the shortest energy of a FENE bond (sigma)."""
COLUMNS = 2
"""Columns of the series: squared radius of gyration, kinetic temperature."""


def evaluate(ctx: StepContext, sequence: str, model: Mapping[str, float]) -> tuple[dict[str, object], dict[str, str]]:
    """Run the chain `sequence` with the definition's `discard_steps`, `steps` and `sample_every`.

    model: the definition of the chain, in LJ units. Return a result (schema `sequence_bo/evaluate`), and the tools.
    A killed run begins again. EngineFailure if LAMMPS fails, or if the series is too short for an error: a value
    without one cannot enter the model.
    """
    from sophron.science.chain_conformation.gyration import radius
    from sophron.science.estimators.correlated_series import series_mean

    check_multiples(ctx, "sample_every", "discard_steps", "steps")
    write_text(ctx.workdir / START, data_file(sequence, float(model["bond_r0"])))
    lengths = {name: ctx.definition[name] for name in ("discard_steps", "steps", "sample_every")}
    names = {"data": FileName(START), "radius_file": FileName("radius.0.dat"), "seed": ctx.seed}
    last = lengths["discard_steps"] + lengths["steps"]
    values = {**_numbers(model), **names, "sample_every": lengths["sample_every"], "steps": last}
    log = run_once(ctx, find(), template("sequence_bo", "sample"), values, last)
    series = all_samples(ctx, "radius", COLUMNS, last, lengths["sample_every"])
    squared, temperature = series.values[series.steps > lengths["discard_steps"]].T
    mean = series_mean(squared)
    found = radius([mean])
    if found.error is None:
        raise EngineFailure(
            f"{blocks(sequence)}: {mean.refusal.sentence if mean.refusal else 'the series is too short'}"
        )
    interval = lengths["sample_every"] * model["timestep"]
    relaxation = mean.time * interval
    discarded = lengths["discard_steps"] * model["timestep"]
    result = {
        "sequence": sequence,
        "radius_of_gyration": found.value,
        "radius_of_gyration_error": found.error,
        "error_degrees_of_freedom": found.degrees_of_freedom,
        "effective_samples": float(mean.effective_samples),
        "relaxation_time": relaxation,
        "discarded_relaxation_times": discarded / max(relaxation, interval),
        "samples": len(squared),
        "temperature_mean": float(temperature.mean()),
        "seed": ctx.seed,
    }
    return result, {"lammps": logfile.version(log)}


def _numbers(model: Mapping[str, float]) -> dict[str, float]:
    """Return the values of the template; the energy of unlike beads is the geometric mean if none is given."""
    names = ("epsilon_a", "epsilon_b", "cutoff", "bond_k", "bond_r0", "temperature", "damping", "timestep")
    numbers = {name: float(model[name]) for name in names}
    return {**numbers, "epsilon_ab": float(model.get("epsilon_ab", math.sqrt(model["epsilon_a"] * model["epsilon_b"])))}


def data_file(sequence: str, reach: float) -> str:
    """Return a LAMMPS data file of one chain on a square lattice, row by row there and back.

    reach: longest bond in sigma; the box holds the stretched chain, so that no bead can leave it.
    """
    half = len(sequence) * reach
    positions = _rows(len(sequence))
    lines = [
        "one chain",
        "",
        f"{len(sequence)} atoms",
        f"{len(sequence) - 1} bonds",
        "2 atom types",
        "1 bond types",
        "",
    ]
    lines += [f"{-half} {half} {axis}lo {axis}hi" for axis in "xyz"]
    lines += ["", "Masses", "", "1 1.0", "2 1.0", "", "Atoms", ""]
    lines += [
        f"{number + 1} 1 {'AB'.index(bead) + 1} {x:.6g} {y:.6g} 0"
        for number, (bead, (x, y)) in enumerate(zip(sequence, positions, strict=True))
    ]
    lines += ["", "Bonds", ""]
    lines += [f"{number} 1 {number} {number + 1}" for number in range(1, len(sequence))]
    return "\n".join(lines) + "\n"


def _rows(beads: int) -> NDArray[np.float64]:
    """Positions in sigma, shape (beads, 2), centred."""
    import numpy as np

    width = math.ceil(math.sqrt(beads))
    row, column = np.divmod(np.arange(beads), width)
    places = SPACING * np.stack([np.where(row % 2, width - 1 - column, column), row], axis=1)
    return np.asarray(places - places.mean(axis=0), dtype=np.float64)
