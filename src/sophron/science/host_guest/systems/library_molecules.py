"""Host and guest from files of a user's own, with what later programs would stumble over found and named first."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from sophron.records.errors import UserError
from sophron.science.host_guest.preparation import mol2
from sophron.science.host_guest.preparation.mol2 import Molecule
from sophron.science.host_guest.systems import tasks

ELEMENTS = ("H", "C", "N", "O", "F", "P", "S", "Cl", "Br", "I")
"""Those of GAFF2."""
LONGEST_NAME = 4
"""Characters that a PDB file has for an atom's name."""


def read_molecules(host: Path, guest: Path, pose: Path) -> tuple[Molecule, Molecule]:
    """Return both as they lie in the pose; UserError if a file is missing, unfit or contradicts another."""
    molecules = [mol2.read(path) for path in (host, guest)]
    for molecule, path in zip(molecules, (host, guest), strict=True):
        _check_molecule(molecule, path)
    return tasks.in_pose(molecules[0], molecules[1], pose)


def _check_molecule(molecule: Molecule, path: Path) -> None:
    twice = [name for name, count in Counter(molecule.names).items() if count > 1]
    if twice:
        raise UserError(f"{path}: {twice[0]} is the name of several atoms; give each a name of its own.")
    for atom in molecule.atoms:
        if len(atom.name) > LONGEST_NAME:
            raise UserError(f"{path}: the atom name {atom.name} is longer than {LONGEST_NAME} characters; shorten it.")
        typed = atom.type.partition(".")[0]
        if atom.element not in ELEMENTS or (typed in ELEMENTS and typed != atom.element):
            raise UserError(
                f"{path}: the atom {atom.name} of type {atom.type} is not named after its element, one of "
                f"{', '.join(ELEMENTS)}; rename it."
            )
    if not any(atom.charge for atom in molecule.atoms):
        raise UserError(f"{path}: all partial charges are 0; give it charges, such as those of antechamber -c bcc.")
    molecule.integer_charge(str(path))
