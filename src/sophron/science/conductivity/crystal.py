"""Crystals of unit cells: where the atoms are, and the data file that LAMMPS starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sophron.records.files import write_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
