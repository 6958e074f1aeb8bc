"""Stage transport: the conductivity of an infinite crystal from its phonons, by the Boltzmann equation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.interfaces.kind import Definition, EngineFailure, EnvironmentFailure, StepContext, StepResult
from sophron.records.typed_json import from_json
from sophron.science.conductivity.build import UNITS
from sophron.science.conductivity.displace import ORDERS, Displaced, available
from sophron.science.conductivity.lattice_dynamics import displacements, modes, set_forces, solved
from sophron.science.conductivity.phonon_transport import (
    anisotropy,
    conductivity,
    extrapolate_mesh,
    free_paths,
    mean,
    zone_centre,
)
from sophron.science.estimators.statistics import NORMAL
from sophron.science.figures import BLUE, VERMILION, saved_figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from phono3py import Phono3py

    from sophron.science.conductivity.phonon_transport import Modes

ENDS = ("solved", "classical", "quantum", "classical_isotopes", "quantum_isotopes")
"""What is extrapolated: the answer; in the relaxation-time approximation both statistics, without and with isotopes."""
SHARES = {"free_path_10": 0.1, "free_path_50": 0.5, "free_path_90": 0.9}
"""Free paths up to which modes carry these shares of the conductivity, by their names in the result."""


def run(ctx: StepContext) -> StepResult:
    """Solve the Boltzmann equation on each mesh, extrapolate to a fine one, and draw `lengths.svg`.

    The answer has the statistics and isotopes of the definition; all four pairs of them are given in the
    relaxation-time approximation beside it. Walls and free paths are of the finest mesh, in that approximation. To all
    but the free paths, what the cell around the zone's centre carries is added: to the solved equation its share.
    """
    made, definition = force_constants(ctx), ctx.definition
    found = [on_mesh(made, mesh, definition) for mesh in definition["meshes"]]
    result = gather_meshes(found, definition)
    path = ctx.workdir / "lengths.svg"
    _draw(path, result)
    return StepResult(result, {"lengths_plot": path}, {"phono3py": made.version, "numpy": np.__version__})


@dataclass(frozen=True)
class OnMesh:
    """What one mesh gives: the phonons by statistics, and the tensor of the equation solved whole, W/(m K)."""

    mesh: int
    modes: Mapping[str, Modes]
    tensor: NDArray[np.float64]


def on_mesh(made: Phono3py, mesh: int, definition: Definition) -> OnMesh:
    """Compute one mesh; the cost goes as its sixth power."""
    temperature, classical = definition["temperature"], definition["statistics"] == "classical"
    both = modes(made, mesh, temperature)
    tensor = solved(made, mesh, temperature, classical=classical, isotopes=definition["isotopes"] == "natural")
    return OnMesh(mesh, both, tensor)


def gather_meshes(found: Sequence[OnMesh], definition: Definition) -> dict[str, Any]:
    """Return the result of the stage from its meshes, the finest last."""
    isotopes, statistics = definition["isotopes"] == "natural", definition["statistics"]
    rows = []
    for one in found:
        share = _centre_share(one.modes[statistics], isotopes=isotopes)
        row = {"mesh": one.mesh, "zone_centre": share, "solved": mean(one.tensor) / (1 - share)}
        rows.append(row | _relaxation_time(one.modes))
    finest = found[-1].modes[statistics]
    lengths = _lengths(finest, definition["lengths"], isotopes=isotopes)
    paths = dict(zip(SHARES, free_paths(finest, list(SHARES.values()), isotopes=isotopes), strict=True))
    return {
        **_extrapolated(rows),
        "units": UNITS["metal"].conductivity,
        "temperature": definition["temperature"],
        "anisotropy": anisotropy(found[-1].tensor),
        "lowest_frequency": float(finest.frequency.min()),
        "highest_frequency": float(finest.frequency.max()),
        **paths,
        "remark": _remark(paths["free_path_50"], lengths),
        "meshes": rows,
        "lengths": lengths,
    }


def _centre_share(found: Modes, *, isotopes: bool) -> float:
    """Share of the conductivity in the cell around the zone's centre."""
    centre, rest = (mean(part(found, isotopes=isotopes)) for part in (zone_centre, conductivity))
    return centre / (centre + rest)


def _extrapolated(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The numbers of the result that come from all meshes; the error reaches to where they end without the centre."""
    meshes = [int(row["mesh"]) for row in rows]
    ends = {name: extrapolate_mesh(meshes, [row[name] for row in rows]) for name in ENDS}
    without = extrapolate_mesh(meshes, [row["solved"] * (1 - row["zone_centre"]) for row in rows])
    end = ends["solved"]
    error = max(end.error, abs(end.value - without.value))
    return {
        "conductivity": end.value,
        "conductivity_standard_error": error,
        "conductivity_relative_error": error / abs(end.value),
        "conductivity_without_centre": without.value,
        "interval_low": end.value - NORMAL * error,
        "interval_high": end.value + NORMAL * error,
        "finest": end.finest,
        **{f"relaxation_time_{name}": ends[name].value for name in ENDS[1:]},
    }


def force_constants(ctx: StepContext) -> Phono3py:
    """Return phono3py with force constants from all batches.

    EngineFailure if supercells are missing; EnvironmentFailure if phono3py displaces other atoms than displace did.
    """
    step, batches = ctx.one("displace"), ctx.upstream["forces"]
    plan = from_json(Displaced, step.result)
    made = available(plan.cell, plan.supercells)
    with np.load(step.files["displacements"]) as kept:
        planned = {order: kept[order] for order in ORDERS}
    for order, found in displacements(made).items():
        if found.shape != planned[order].shape or not np.allclose(found, planned[order], atol=1e-10):
            raise EnvironmentFailure(
                "phono3py displaces other atoms than in stage displace; use one version for the whole campaign"
            )
    set_forces(made, gather(planned, {int(one.wildcards["batch"]): one.files["forces"] for one in batches}))
    return made


def gather(planned: Mapping[str, NDArray[np.float64]], batches: Mapping[int, Path]) -> dict[str, NDArray[np.float64]]:
    """Return the forces of all batches in the order of the displacements; EngineFailure if some are missing."""
    forces = {order: np.full(moved.shape, np.nan) for order, moved in planned.items()}
    count = max(batches) + 1
    for batch, path in batches.items():
        with np.load(path) as kept:
            for order in ORDERS:
                forces[order][batch::count] = kept[order]
    for order, found in forces.items():
        missing = int(np.isnan(found).any(axis=(1, 2)).sum())
        if missing:
            raise EngineFailure(f"{missing} supercells of {order} order have no forces")
    return forces


def _relaxation_time(both: Mapping[str, Modes]) -> dict[str, float]:
    """Conductivity in the relaxation-time approximation, by `ENDS`."""
    return {
        kind + ending: mean(_whole(found, isotopes=bool(ending)))
        for ending in ("", "_isotopes")
        for kind, found in both.items()
    }


def _whole(found: Modes, *, isotopes: bool, length: float | None = None) -> NDArray[np.float64]:
    """Conductivity with that of the cell around the zone's centre."""
    return conductivity(found, isotopes=isotopes, length=length) + zone_centre(found, isotopes=isotopes, length=length)


def _lengths(found: Modes, lengths: Sequence[float], *, isotopes: bool) -> list[dict[str, float]]:
    """Conductivity of boxes whose walls end every path at their length."""
    tensors = {length: _whole(found, isotopes=isotopes, length=length) for length in lengths}
    return [{"length": length, "conductivity": mean(tensor)} for length, tensor in tensors.items()]


def _remark(half: float, lengths: Sequence[Mapping[str, float]]) -> str:
    """Return why shorter boxes conduct less, in two sentences."""
    shorter = [one for one in lengths if one["length"] < half]
    sentence = (
        f"Half of the heat flies further than {half:.3g} angstrom: a shorter box conducts less, and a straight line "
        "through shorter boxes ends below the crystal."
    )
    if not shorter:
        return sentence
    boxes = ", ".join(f"{one['conductivity']:.3g} at {one['length']:.3g} angstrom" for one in shorter)
    return f"{sentence} Boxes whose walls end every path: {boxes}."


def _draw(path: Path, result: Mapping[str, Any]) -> None:
    """Conductivity of boxes against their length, with that of the infinite crystal."""
    points = result["lengths"]
    with saved_figure(path) as figure:
        axes = figure.subplots()
        axes.loglog([one["length"] for one in points], [one["conductivity"] for one in points], "o-", color=BLUE)
        axes.axhline(result["conductivity"], color=VERMILION, label="infinite crystal")
        axes.set_xlabel("length (Å)")
        axes.set_ylabel(f"κ ({UNITS['metal'].conductivity})")
        axes.set_title("Conductivity of boxes whose walls scatter every phonon")
        axes.legend(loc="lower right")
