"""A complex of one task: parametrised, its guest's axis on +z, in implicit solvent or a box, as Amber files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from sophron.interfaces.kind import EngineFailure
from sophron.records import documents
from sophron.records.errors import UserError
from sophron.records.files import write_json, write_text
from sophron.records.typed_json import from_json
from sophron.science.host_guest.preparation import geometry, mol2, pdb
from sophron.science.host_guest.preparation.ambertools import Charges, Parametrised, call, parametrise, warnings
from sophron.science.host_guest.preparation.geometry import Anchors
from sophron.science.host_guest.task_metadata import Solvent, TaskMetadata

if TYPE_CHECKING:
    from numpy.typing import NDArray

BOXES = {"tip3p": "TIP3PBOX", "opc": "OPCBOX"}
AROUND_A = 12.0
"""Water between solute and box, in x and y, and beyond the pulled guest in z."""
MOLAR_PER_A3 = 6.02214076e-4
"""Particles in one cubic Angstrom at 1 mol/l."""
NEUTRAL_E = 1e-6


@dataclass(frozen=True)
class SolvatedGuest:
    """The guest by itself in the same solvent; atoms: its own."""

    prmtop: Path
    coordinates: Path
    solvent: Solvent
    atoms: int


@dataclass(frozen=True)
class Complex:
    """What preparation leaves. anchors: in host-then-guest order, the order of the files; atoms: of both together.

    renormalised_by_e, charge_sum_e: before ions; type_changes, warnings: of host and guest, quoted.
    """

    prmtop: Path
    coordinates: Path
    solvent: Solvent
    anchors: Anchors
    host_atoms: int
    atoms: int
    host_heavy: tuple[int, ...]
    charge_sum_e: float
    renormalised_by_e: float
    type_changes: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def alone(self) -> SolvatedGuest:
        """The guest by itself, where `build` was asked for it."""
        paths = self.prmtop.with_name("alone.prmtop"), self.coordinates.with_name("alone.rst7")
        return SolvatedGuest(*paths, self.solvent, self.atoms - self.host_atoms)

    def save(self, folder: Path) -> None:
        """Describe it in `complex.json`, beside its Amber files in `folder`."""
        described = asdict(self) | {"prmtop": self.prmtop.name, "coordinates": self.coordinates.name}
        write_json(folder / "complex.json", described)

    @classmethod
    def load(cls, folder: Path) -> Complex:
        """Read what `save` wrote; the folder may have been moved."""
        each = documents.load_json(folder / "complex.json")
        host, guest = each["anchors"]["host"], each["anchors"]["guest"]
        return cls(
            prmtop=folder / each["prmtop"],
            coordinates=folder / each["coordinates"],
            solvent=each["solvent"],
            anchors=Anchors((host[0], host[1], host[2]), (guest[0], guest[1])),
            host_atoms=each["host_atoms"],
            atoms=each["atoms"],
            host_heavy=tuple(each["host_heavy"]),
            charge_sum_e=each["charge_sum_e"],
            renormalised_by_e=each["renormalised_by_e"],
            type_changes=tuple(each["type_changes"]),
            warnings=tuple(each["warnings"]),
        )


def read_task(folder: Path) -> dict[str, object]:
    """`task_metadata.json`; UserError where it is missing."""
    task: dict[str, object] = documents.load_json(folder / "task_metadata.json")
    return task


Built = Complex | SolvatedGuest


@dataclass(frozen=True)
class Medium:
    """What surrounds the solute. pull_a: room for the way out; molar: ionic strength; pairs: of ions, at least."""

    solvent: Solvent
    pull_a: float
    molar: float
    pairs: int = 0

    @property
    def margins_a(self) -> NDArray[np.float64]:
        """Between solute and box, shape (3,)."""
        return np.array([AROUND_A, AROUND_A, AROUND_A + self.pull_a / 2])

    def salt(self, positions_a: NDArray[np.float64]) -> int:
        """Pairs of ions that make the ionic strength, from the size of the box to come."""
        sides = np.ptp(positions_a, axis=0) + 2 * self.margins_a
        return max(self.pairs, round(self.molar * MOLAR_PER_A3 * float(np.prod(sides))))


def build(
    inputs: Path,
    folder: Path,
    *,
    charges: Charges = "shipped",
    solvent: Solvent | None = None,
    pull_a: float = 12.0,
    alone: bool = False,
) -> Complex:
    """Build the complex of the task in `inputs` (metadata, host.mol2, guest.mol2, complex.pdb) in `folder`.

    solvent: None: the one of the metadata; pull_a: how far the guest will be pulled, for which a box makes room.
    alone: the guest by itself, too, and in each box an ion for every charge of the guest that can go when it goes.
    UserError where files contradict each other, EngineFailure where a program fails.
    """
    task = from_json(TaskMetadata, read_task(inputs))
    medium = solvent or cast("Solvent", task.solvent or "obc2")
    host, guest = mol2.read(inputs / "host.mol2"), mol2.read(inputs / "guest.mol2")
    if host.residue == guest.residue:
        raise UserError(f"host.mol2 and guest.mol2 both name their residue {host.residue}; give them two names.")
    path = inputs / "complex.pdb"
    places = pdb.placed(host, guest, pdb.read_positions(path), path)
    host, guest = host.moved(places[0]), guest.moved(places[1])
    anchors = geometry.named(host, guest, task.anchors) if task.anchors else geometry.chosen(host, guest)
    aligned = _aligned(np.concatenate(places), anchors)
    count = len(host.names)
    folder.mkdir(parents=True, exist_ok=True)
    pair = (
        parametrise(host.moved(aligned[:count]), "host", task.host_charge_e, folder, charges),
        parametrise(guest.moved(aligned[count:]), "guest", task.guest_charge_e, folder, charges),
    )
    around = Medium(medium, pull_a, task.ionic_strength_molar, abs(pair[1].charge_e) if alone else 0)
    said = _leap(folder, "complex", {"host": pair[0], "guest": pair[1]}, around)
    if alone:
        said += _leap(folder, "alone", {"guest": pair[1]}, replace(around, pull_a=0.0))
    return Complex(
        prmtop=folder / "complex.prmtop",
        coordinates=folder / "complex.rst7",
        solvent=medium,
        anchors=anchors,
        host_atoms=count,
        atoms=len(aligned),
        host_heavy=host.heavy,
        charge_sum_e=_charge_sum(folder / "complex.prmtop", len(aligned)),
        renormalised_by_e=sum(each.renormalised_by_e for each in pair),
        type_changes=tuple(change for each in pair for change in each.type_changes),
        warnings=(*(line for each in pair for line in each.warnings), *said),
    )


def diagnostics(built: Complex, task: Mapping[str, object]) -> dict[str, object]:
    """What there is to judge preparation by, under the names of `stage_result`. task: its metadata."""
    given = from_json(TaskMetadata, task)
    return {
        "atoms": built.atoms,
        "force_field_warnings": list(built.warnings),
        "atom_type_changes": list(built.type_changes),
        "charge_sum_e": built.charge_sum_e,
        "charge_expected_e": given.host_charge_e + given.guest_charge_e,
        "renormalised_by_e": built.renormalised_by_e,
    }


def _aligned(positions_a: NDArray[np.float64], anchors: Anchors) -> NDArray[np.float64]:
    """G1 at the origin, G2 on +z."""
    first, second = positions_a[list(anchors.guest)]
    return np.asarray((positions_a - first) @ geometry.rotation_to_z(second - first).T)


def _leap(folder: Path, name: str, parts: Mapping[str, Parametrised], medium: Medium) -> list[str]:
    """Amber files `<name>.prmtop` and `<name>.rst7` of all parts together; what tleap warned of."""
    lines = ["source leaprc.gaff2"]
    boxed = medium.solvent in BOXES
    if boxed:
        lines.append(f"source leaprc.water.{medium.solvent}")  # with the ions that were fitted to this water
    lines.append("set default PBRadii mbondi2")
    for part, each in parts.items():
        lines += [f"loadamberparams {each.frcmod.name}", f"{part} = loadmol2 {each.mol2.name}"]
    lines.append(f"whole = combine {{{' '.join(parts)}}}")
    if boxed:
        room = " ".join(f"{each:g}" for each in medium.margins_a)
        lines.append(f"solvatebox whole {BOXES[medium.solvent]} {{{room}}}")
        charge = sum(each.charge_e for each in parts.values())
        counter = "Cl-" if charge > 0 else "Na+"
        if charge:
            lines.append(f"addionsrand whole {counter} {abs(charge)}")
        pairs = medium.salt(np.concatenate([each.molecule.positions_a for each in parts.values()]))
        if pairs:
            lines.append(f"addionsrand whole Na+ {pairs} Cl- {pairs}")
    lines += [f"saveamberparm whole {name}.prmtop {name}.rst7", "quit", ""]
    write_text(folder / f"{name}.tleap.in", "\n".join(lines))
    said = call(folder, "tleap", "-I", str(folder), "-f", f"{name}.tleap.in")
    if not (folder / f"{name}.prmtop").is_file() or not (folder / f"{name}.prmtop").stat().st_size:
        raise EngineFailure(
            "tleap wrote no topology: " + "; ".join(said or warnings((folder / "tleap.log").read_text()))
        )
    return said


def _charge_sum(prmtop: Path, atoms: int) -> float:
    """Sum of the charges of host and guest in the topology, in elementary charges.

    EngineFailure where it is no integer within 1e-6, for which periodic electrostatics would add a background.
    """
    import parmed

    charges = [atom.charge for atom in parmed.load_file(str(prmtop)).atoms[:atoms]]
    total = float(sum(charges))
    if abs(total - round(total)) > NEUTRAL_E:
        raise EngineFailure(f"the topology's charges sum to {total:.8f} e, which is no integer")
    return total
