"""Positions of a complex from a PDB file, by residue and atom name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sophron.records.errors import UserError
from sophron.science.host_guest.preparation.mol2 import Molecule

if TYPE_CHECKING:
    from numpy.typing import NDArray


def read_positions(path: Path) -> dict[str, dict[str, tuple[float, float, float]]]:
    """Return residue -> atom -> position in Angstrom, in the order of the file; UserError if there is none."""
    residues: dict[str, dict[str, tuple[float, float, float]]] = {}
    try:
        for line in path.read_text().splitlines():
            if line.startswith(("ATOM  ", "HETATM")):
                atom, residue = line[12:16].strip(), line[17:21].strip()
                place = (float(line[30:38]), float(line[38:46]), float(line[46:54]))
                residues.setdefault(residue, {})[atom] = place
    except FileNotFoundError:
        raise UserError(f"{path} is not there; put it there.") from None
    except ValueError:
        raise UserError(f"{path} is no readable PDB file; replace it by one.") from None
    if len(residues) != 2:
        raise UserError(f"{path} holds {len(residues)} residues; a complex has one host and one guest, named apart.")
    return residues


def placed(
    host: Molecule, guest: Molecule, found: Mapping[str, Mapping[str, tuple[float, float, float]]], path: Path
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the positions in Angstrom of host and guest, in the order of the molecules.

    A residue is taken for the molecule whose atom names it has. UserError, which names `path`, if none fits.
    """
    places = []
    for what, molecule in (("host", host), ("guest", guest)):
        fits = [atoms for atoms in found.values() if set(atoms) == set(molecule.names)]
        if len(fits) != 1:
            raise UserError(f"{path}: {len(fits)} residues have the atoms of {what}.mol2; the names must agree.")
        places.append(np.array([fits[0][name] for name in molecule.names]))
    return places[0], places[1]
