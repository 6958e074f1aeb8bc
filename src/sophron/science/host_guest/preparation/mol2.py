"""Molecules in mol2 files: atoms with partial charges and types, bonds, and nothing else of the format."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sophron.records.errors import UserError
from sophron.records.files import write_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHARGE_QUANTUM = 1e-6
"""Charges are written with six decimals, in elementary charges."""
LARGEST_ROUNDING = 0.01
"""Elementary charges by which published charges of a molecule may miss their integer; a wrong state misses it by 1."""


@dataclass(frozen=True)
class Atom:
    """One atom. position_a: in Angstrom; type: as the file has it (Sybyl or GAFF); charge: in elementary charges."""

    name: str
    position_a: tuple[float, float, float]
    type: str
    charge: float

    @property
    def element(self) -> str:
        """Chemical symbol, from the name: names of these data sets begin with it."""
        letters = re.match(r"[A-Za-z]+", self.name)
        symbol = letters[0].capitalize() if letters else ""
        return symbol if symbol in {"Cl", "Br"} else symbol[:1]


@dataclass(frozen=True)
class Molecule:
    """Atoms and bonds (two places from 0, and the order as the file has it) of one residue."""

    residue: str
    atoms: tuple[Atom, ...]
    bonds: tuple[tuple[int, int, str], ...]

    @property
    def charge(self) -> float:
        """Sum of the partial charges, in elementary charges."""
        return float(np.round(sum(atom.charge for atom in self.atoms), 9))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the atoms, in their order."""
        return tuple(atom.name for atom in self.atoms)

    @property
    def positions_a(self) -> NDArray[np.float64]:
        """Positions in Angstrom, shape (atoms, 3)."""
        return np.array([atom.position_a for atom in self.atoms])

    @property
    def heavy(self) -> tuple[int, ...]:
        """Places of all atoms but hydrogen."""
        return tuple(place for place, atom in enumerate(self.atoms) if atom.element != "H")

    def neighbours(self, place: int) -> tuple[int, ...]:
        """Return the places of the atoms bonded to one."""
        return tuple(b if a == place else a for a, b, _ in self.bonds if place in {a, b})

    def integer_charge(self, name: str) -> int:
        """Return the integer that the partial charges mean; UserError, which tells of `name`, if there is none."""
        nearest = round(self.charge)
        if abs(self.charge - nearest) > LARGEST_ROUNDING:
            raise UserError(
                f"{name}: the partial charges sum to {self.charge:.4f} e, which is no integer; repair them."
            )
        return nearest

    def renormalised(self, charge: int) -> Molecule:
        """Return it with charges that sum to `charge`: the rounding error is spread evenly, in units of 1e-6 e."""
        units = np.round(np.array([atom.charge for atom in self.atoms]) / CHARGE_QUANTUM).astype(np.int64)
        missing = round(charge / CHARGE_QUANTUM) - int(units.sum())
        each, rest = divmod(missing, len(units))
        units += each
        units[:rest] += 1
        atoms = (
            replace(atom, charge=float(unit) * CHARGE_QUANTUM) for atom, unit in zip(self.atoms, units, strict=True)
        )
        return replace(self, atoms=tuple(atoms))

    def moved(self, positions_a: NDArray[np.float64]) -> Molecule:
        """Return the same at other positions, shape (atoms, 3), in Angstrom."""
        rows = [(float(x), float(y), float(z)) for x, y, z in positions_a]
        return replace(
            self, atoms=tuple(replace(atom, position_a=row) for atom, row in zip(self.atoms, rows, strict=True))
        )

    def write(self, path: Path) -> None:
        """Write it as a mol2 file."""
        atoms = [
            f"{place:7d} {atom.name:<8s}{atom.position_a[0]:10.4f}{atom.position_a[1]:10.4f}{atom.position_a[2]:10.4f} "
            f"{atom.type:<6s}{1:5d} {self.residue:<6s}{atom.charge:12.6f}"
            for place, atom in enumerate(self.atoms, 1)
        ]
        bonds = [f"{place:6d}{a + 1:6d}{b + 1:6d} {order}" for place, (a, b, order) in enumerate(self.bonds, 1)]
        head = ["@<TRIPOS>MOLECULE", self.residue, f"{len(atoms):5d}{len(bonds):6d}     1     0     0", "SMALL"]
        lines = [*head, "USER_CHARGES", "", "@<TRIPOS>ATOM", *atoms, "@<TRIPOS>BOND", *bonds]
        lines += ["@<TRIPOS>SUBSTRUCTURE", f"     1 {self.residue:<6s}    1 TEMP", ""]
        write_text(path, "\n".join(lines))


def read(path: Path) -> Molecule:
    """Read the first molecule of a mol2 file; UserError if the file is missing or is none."""
    try:
        sections = _sections(path.read_text())
        atoms = [line.split() for line in sections["ATOM"]]
        bonds = [line.split() for line in sections["BOND"]]
        return Molecule(
            residue=atoms[0][7],
            atoms=tuple(
                Atom(each[1], (float(each[2]), float(each[3]), float(each[4])), each[5], float(each[8]))
                for each in atoms
            ),
            bonds=tuple((int(each[1]) - 1, int(each[2]) - 1, each[3]) for each in bonds),
        )
    except FileNotFoundError:
        raise UserError(f"{path} is not there; put it there.") from None
    except (KeyError, IndexError, ValueError):
        raise UserError(f"{path} is no mol2 file with partial charges; replace it by one.") from None


def _sections(text: str) -> dict[str, list[str]]:
    """Name of a section -> its lines that are not empty, of the first molecule."""
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        if line.startswith("@<TRIPOS>"):
            current = sections.setdefault(line.removeprefix("@<TRIPOS>").strip(), [])
        elif line.strip():
            current.append(line)
    return sections
