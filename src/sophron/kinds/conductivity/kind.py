"""The conductivity kind: thermal conductivity by Green-Kubo, by an imposed flux, or of a crystal by its phonons.

All families of stages are optional. The first two start from the same equilibrated boxes, so that a campaign may change
from one to the other by an amendment that leaves build and equilibrate alone; lattice dynamics (displace, forces,
transport) starts from the perfect crystal of build. Read by every verb at start-up, so it imports nothing heavy; what
runs a stage is named, not imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from sophron.interfaces.kind import Definition, Kind, Question, stage_of
from sophron.records.errors import UserError

_REPLICA = ("replica",)
_SYSTEM = {"system": "system.data"}
_GATHERING = ("green_kubo", "extrapolate")


def ranges(definitions: Mapping[str, Definition]) -> dict[str, Sequence[str]]:
    """Return the values of the wildcards: `replica` and `batch` count from 0, `copies` lists `mueller_plathe.copies`.

    Raise UserError if Green-Kubo and extrapolation are both there and want different numbers of replicas.
    """
    counts = {name: int(definitions[name]["replicas"]) for name in _GATHERING if name in definitions}
    if len(set(counts.values())) > 1:
        raise UserError(
            "stages: green_kubo.definition.replicas and extrapolate.definition.replicas differ; both methods start "
            "from the same replicas, so make them equal"
        )
    values: dict[str, Sequence[str]] = {"replica": [str(one) for one in range(max(counts.values(), default=1))]}
    if "mueller_plathe" in definitions:
        values["copies"] = [str(copies) for copies in definitions["mueller_plathe"]["copies"]]
    if "forces" in definitions:
        values["batch"] = [str(one) for one in range(definitions["forces"]["batches"])]
    return values


def question(definitions: Mapping[str, Definition]) -> Question:
    """Ask for a conductivity in the units of build: SI for LAMMPS's `metal`, or Lennard-Jones units."""
    reduced = definitions["build"]["units"] == "lj"
    unit, degree, length = (
        ("k_B sigma^-1 tau^-1 (LJ)", "epsilon/k_B", "sigma") if reduced else ("W/(m K)", "K", "angstrom")
    )
    conditions: dict[str, str | None] = {"temperature": degree, "lattice_constant": length, "cutoff": length}
    return Question({"thermal conductivity": unit}, conditions, reduced)


_stage = partial(stage_of, "conductivity")
_lammps = partial(_stage, engine="lammps")
_analysis = partial(_stage, rederivable=True)


KIND = Kind(
    name="conductivity",
    about="Thermal conductivity of a crystal or liquid with LAMMPS: Green-Kubo, an imposed flux, or phonons",
    rules="conductivity.smk",
    stages=(
        _analysis("build", wildcards=_REPLICA, outputs=_SYSTEM),
        _lammps("equilibrate", "build", wildcards=_REPLICA, outputs=_SYSTEM, optional=True),
        _lammps("green_kubo_flux", "equilibrate", wildcards=_REPLICA, outputs={"flux": "flux.npz"}, optional=True),
        _analysis(
            "green_kubo",
            "green_kubo_flux",
            outputs={"curves": "curves.npz", "integral_plot": "integral.svg"},
            optional=True,
        ),
        _lammps(
            "mueller_plathe",
            "equilibrate",
            wildcards=("copies", "replica"),
            outputs={"profile": "profile.npz"},
            optional=True,
        ),
        _analysis("extrapolate", "mueller_plathe", outputs={"lengths_plot": "lengths.svg"}, optional=True),
        _analysis("displace", "build", outputs={"displacements": "displacements.npz"}, optional=True),
        _lammps("forces", "displace", wildcards=("batch",), outputs={"forces": "forces.npz"}, optional=True),
        _analysis("transport", "displace", "forces", outputs={"lengths_plot": "lengths.svg"}, optional=True),
    ),
    ranges=ranges,
    question=question,
    planted_faults="conductivity/planted_faults.yaml",
)
