"""Stage build: a perfect crystal, the potential by name and digest, units; where later stages begin from a system."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sophron.interfaces.kind import EngineFailure, EnvironmentFailure, StepContext, StepResult, UpstreamStep
from sophron.records.digests import file_digest
from sophron.records.files import write_text
from sophron.records.typed_json import from_json, to_json
from sophron.science.lammps import stage_run
from sophron.science.lammps.executable import Lammps, find, potential
from sophron.science.lammps.render import FileName, Word

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def run(ctx: StepContext) -> StepResult:
    """Place the atoms and write `system.data`. A liquid begins as a crystal too: equilibrate melts it.

    EngineFailure if species and lattice do not fit each other, the potential is not there, or the box is too thin.
    """
    import numpy as np

    definition = ctx.definition
    lattice, species = definition["lattice"], definition["species"]
    if len(species) != len(SUBLATTICES[lattice["style"]]):
        raise EngineFailure(
            f"build.definition.species: a {lattice['style']} lattice has {len(SUBLATTICES[lattice['style']])} species, "
            f"not {len(species)}"
        )
    atoms = crystal(lattice["style"], float(lattice["constant"]), definition["cells"])
    if 2 * definition.get("cutoff", 0.0) > min(atoms.box):
        raise EngineFailure(
            f"build.definition.cutoff: {definition['cutoff']} is over half the shortest edge {min(atoms.box):.4g}; "
            "take more cells"
        )
    path = ctx.workdir / "system.data"
    write_data(path, atoms, [float(one["mass"]) for one in species])
    volume = float(np.prod(atoms.box))
    result = SystemData(
        atoms=len(atoms.positions),
        cells=definition["cells"],
        box=atoms.box,
        volume=volume,
        density=len(atoms.positions) / volume,
        model=_model(ctx),
    )
    return StepResult(to_json(result), {"system": path}, {"numpy": np.__version__})


def _model(ctx: StepContext) -> Interactions:
    definition = ctx.definition
    file = definition.get("potential")
    return Interactions(
        units=definition["units"],
        pair_style=definition["pair_style"],
        elements=tuple(one["element"] for one in definition["species"]),
        potential=file,
        potential_sha256=file_digest(potential(find(), file)) if file else None,
        cutoff=definition.get("cutoff"),
    )


@dataclass(frozen=True)
class Units:
    """A unit system of LAMMPS.

    boltzmann: Boltzmann's constant in energy a degree; to_conductivity: unit of the conductivity that energy, length,
    time and temperature make, in `conductivity`; skin: reach of neighbour lists beyond the cut-off, in `length`.
    """

    boltzmann: float
    to_conductivity: float
    conductivity: str
    length: str
    time: str
    skin: float


SIGMA = "\N{GREEK SMALL LETTER SIGMA}"

UNITS = {
    # eV/K and 1 eV/(K ps A) in W/(m K), from the exact elementary charge and Boltzmann constant of the SI (2019)
    "metal": Units(8.617333262e-5, 1602.176634, "W/(m K)", "Å", "ps", 1.0),
    "lj": Units(1.0, 1.0, f"k_B {SIGMA}⁻¹ τ⁻¹", SIGMA, "τ", 0.3),
}


FACE_CENTRED = ((0.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.5, 0.0, 0.5), (0.0, 0.5, 0.5))

SUBLATTICES = {"fcc": (0.125,), "zincblende": (0.125, 0.375)}
"""Shift of each face-centred sublattice along the cell's diagonal, one for a species. The first is not 0, so that
every plane of atoms across z lies inside a slab of whole cells, and none on a border between two."""


@dataclass(frozen=True)
class Crystal:
    """Atoms in an orthogonal box [0, box). species: (atoms,), from 0; positions: (atoms, 3), in the unit of length."""

    species: NDArray[np.int64]
    positions: NDArray[np.float64]
    box: tuple[float, float, float]


def crystal(style: str, constant: float, cells: Sequence[int]) -> Crystal:
    """Return `cells` unit cells along x, y and z of the lattice `style` (a key of `SUBLATTICES`), edge `constant`."""
    import numpy as np

    corners = np.stack(np.meshgrid(*(np.arange(count) for count in cells), indexing="ij"), axis=-1).reshape(-1, 1, 1, 3)
    basis = np.array([[np.add(site, shift) for site in FACE_CENTRED] for shift in SUBLATTICES[style]])
    positions = ((corners + basis) * constant).reshape(-1, 3)
    species = np.broadcast_to(np.arange(len(basis))[:, None], (corners.shape[0], *basis.shape[:2])).reshape(-1)
    x, y, z = (float(count * constant) for count in cells)
    return Crystal(species, positions, (x, y, z))


def write_data(path: Path, atoms: Crystal, masses: Sequence[float]) -> None:
    """Write a LAMMPS data file, atom style `atomic`; 17 digits, so that nothing is lost."""
    lines = ["unit cells of a crystal", "", f"{len(atoms.positions)} atoms", f"{len(masses)} atom types", ""]
    lines += [f"0.0 {edge!r} {axis}lo {axis}hi" for axis, edge in zip("xyz", atoms.box, strict=True)]
    lines += ["", "Masses", "", *(f"{kind + 1} {mass!r}" for kind, mass in enumerate(masses))]
    lines += ["", "Atoms # atomic", ""]
    for number, (kind, (x, y, z)) in enumerate(zip(atoms.species.tolist(), atoms.positions.tolist(), strict=True), 1):
        lines.append(f"{number} {kind + 1} {x!r} {y!r} {z!r}")
    write_text(path, "\n".join(lines) + "\n")


SERIES_FILE = "{name}.0.dat"
"""Name of a series that is written in one piece, as `lammps.segments` reads it."""


@dataclass(frozen=True)
class Interactions:
    """What later stages need to know of the interactions. potential: name of its file, pinned by its digest."""

    units: str
    pair_style: str
    elements: tuple[str, ...]
    potential: str | None
    potential_sha256: str | None
    cutoff: float | None


@dataclass(frozen=True)
class SystemData:
    """What a result repeats of the system that its step was given. cells: unit cells along x, y, z; box: edges."""

    atoms: int
    cells: tuple[int, int, int]
    box: tuple[float, float, float]
    volume: float
    density: float
    model: Interactions

    @property
    def units(self) -> Units:
        """The unit system."""
        return UNITS[self.model.units]


def system_of(step: UpstreamStep) -> SystemData:
    """Return what a finished step says of its system."""
    return from_json(SystemData, step.result)


Start = stage_run.Start[SystemData]


def begin(ctx: StepContext, stage: str, lammps: Lammps) -> Start:
    """Start from the upstream `stage`; its system lies in the work folder as `start.data`, the potential beside it.

    EnvironmentFailure if the potential file is not the one that build found.
    """
    step, system = stage_run.begin(ctx, stage, SystemData)
    values = {**interaction_values(ctx, lammps, system.model), "data": FileName(stage_run.START)}
    return Start(step, system, values)


def interaction_values(ctx: StepContext, lammps: Lammps, model: Interactions) -> dict[str, object]:
    """Return what `_system.in.j2` needs of a model; its potential file lies in the work folder then.

    EnvironmentFailure if the potential file is not the one that build found.
    """
    if model.potential is not None:
        found = potential(lammps, model.potential)
        if file_digest(found) != model.potential_sha256:
            raise EnvironmentFailure(
                f"{found} is not the potential that build found; use one LAMMPS for the whole campaign"
            )
        shutil.copyfile(found, ctx.workdir / model.potential)
    return {
        "units": Word(model.units),
        "pair_style": Word(model.pair_style),
        "elements": [Word(element) for element in model.elements],
        "potential": FileName(model.potential) if model.potential else None,
        "cutoff": model.cutoff,
        "skin": UNITS[model.units].skin,
        "boltzmann": UNITS[model.units].boltzmann,
        "copies": 1,
        "restart": None,
    }


def series_file(name: str) -> FileName:
    """Return the name of a series that is written in one piece."""
    return FileName(SERIES_FILE.format(name=name))
