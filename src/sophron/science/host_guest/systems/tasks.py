"""Tasks from a benchmark's files: host.mol2, guest.mol2, complex.pdb and task_metadata.json, and what was odd in them.

Charges come from the partial charges, never from a file's word for them; anchors from Taproom's files if there are
any. A measured value is never read here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sophron.records.errors import UserError
from sophron.records.files import write_json, write_text
from sophron.science.host_guest.preparation import mol2, pdb
from sophron.science.host_guest.preparation.mol2 import Atom, Molecule
from sophron.science.host_guest.systems.data import Benchmark
from sophron.science.host_guest.task_metadata import Solvent

MOLECULES = ("host.mol2", "guest.mol2", "complex.pdb")
"""Canonical names of a task's files, beside its metadata."""
HOST_RESIDUE, GUEST_RESIDUE = "1", "2"
HOST_NAME, GUEST_NAME = "HST", "GST"
"""Of the residues in the files of a task: a published name would tell which guest it is."""


@dataclass(frozen=True)
class Guest:
    """A guest and its host, as they lie in the complex. anchors: as in task metadata, empty: none are published.

    remarks: what its files contradict, and what was done about it.
    """

    code: str
    host: Molecule
    guest: Molecule
    anchors: dict[str, list[str]]
    remarks: tuple[str, ...]


def read(found: Benchmark, index: int, folder: Path) -> Guest:
    """Read one guest of a benchmark below `folder`; UserError if a file is missing or contradicts itself."""
    reader = {"taproom": _taproom, "solvated": _solvated}[found.layout]
    return reader(found, found.guests[index], folder / found.folder)


def write(found: Benchmark, index: int, folder: Path, target: Path, solvent: Solvent) -> tuple[str, ...]:
    """Write one task into `target`; the remarks on its files."""
    one = read(found, index, folder)
    write_molecules(one.host, one.guest, target)
    task: dict[str, object] = {
        "task": f"{found.name} {index}",
        "temperature_k": found.temperature_k,
        "host_charge_e": one.host.integer_charge("host.mol2"),
        "guest_charge_e": one.guest.integer_charge("guest.mol2"),
        "symmetry": asdict(found.symmetry),
        "ph": found.ph,
        "ionic_strength_molar": found.ionic_strength_molar,
        "solvent": solvent,
    }
    if one.anchors:
        task["anchors"] = one.anchors
    write_json(target / "task_metadata.json", task)
    return one.remarks


def write_molecules(host: Molecule, guest: Molecule, target: Path) -> None:
    """Write host.mol2, guest.mol2 and complex.pdb, whose residues are called HST and GST, into `target`.

    host, guest: as they lie in the complex.
    """
    host, guest = replace(host, residue=HOST_NAME), replace(guest, residue=GUEST_NAME)
    host.write(target / "host.mol2")
    guest.write(target / "guest.mol2")
    write_text(target / "complex.pdb", _pdb(host, guest))


def in_pose(host: Molecule, guest: Molecule, pose: Path) -> tuple[Molecule, Molecule]:
    """Return both as they lie in the complex of a PDB file; UserError if it is missing or has other atoms."""
    places = pdb.placed(host, guest, pdb.read_positions(pose), pose)
    return host.moved(places[0]), guest.moved(places[1])


def renormalised(host: Molecule, guest: Molecule) -> list[str]:
    """Return a remark for each of the two whose charges do not sum to their integer."""
    remarks = []
    for what, molecule in (("host", host), ("guest", guest)):
        meant = molecule.integer_charge(f"{what}.mol2")
        if abs(molecule.charge - meant) > mol2.CHARGE_QUANTUM:
            off = f"the charges sum to {molecule.charge:.4f} e"
            remarks.append(f"{what}.mol2: {off}; they are renormalised to {meant} e")
    return remarks


def _taproom(found: Benchmark, code: str, folder: Path) -> Guest:
    host, guest = mol2.read(folder / f"{found.host}.mol2"), mol2.read(folder / code / f"{code}.mol2")
    pose = folder / code / f"{found.host}-{code}-p.pdb"  # the name in guest.yaml lacks the pose
    described, frame = _yaml(folder / code / "guest.yaml"), _yaml(folder / "host-p.yaml")
    remarks = list(_charges(host, guest, described.net_charge))
    if code in found.remarks:
        remarks.append(found.remarks[code])
    anchors = {
        "host": [f":{HOST_RESIDUE}@{frame.atom(name)}" for name in ("H1", "H2", "H3")],
        "guest": [f":{GUEST_RESIDUE}@{described.atom(name)}" for name in ("G1", "G2")],
    }
    return Guest(code, *in_pose(host, guest, pose), anchors, tuple(remarks))


def _charges(host: Molecule, guest: Molecule, said: str) -> list[str]:
    """Where charges do not sum to their integer, and where guest.yaml says another one."""
    remarks = renormalised(host, guest)
    stated, meant = round(float(said.removesuffix("e"))), guest.integer_charge("guest.mol2")
    if stated != meant:
        remarks.append(f"guest.yaml says {stated:+d} e and the charges say {meant:+d} e; the charges are believed")
    return remarks


def _solvated(found: Benchmark, code: str, folder: Path) -> Guest:
    """From the published topology and coordinates in water; only host and guest are kept.

    Molecules are read off ParmEd's atoms: a topology that ParmEd slices and saves cannot be read again.
    """
    import parmed

    paths = [folder / f"CBC-{code}" / f"CBC-{code}.{suffix}" for suffix in ("prmtop", "rst7")]
    stripped = [folder / code / name for name in ("dry.prmtop", "dry.rst7")]
    there = next((pair for pair in (paths, stripped) if all(path.is_file() for path in pair)), None)
    if there is None:
        raise UserError(f"{paths[0]} and {paths[1].name} are not there; put them there.")
    whole = parmed.load_file(str(there[0]), xyz=str(there[1]))
    parts = [residue for residue in whole.residues if len(residue.atoms) > 10]
    host, guest = (_molecule(each) for each in sorted(parts, key=lambda each: each.name != found.host))
    remarks = [*_charges(host, guest, f"{guest.integer_charge('guest')}e")]
    if code in found.remarks:
        remarks.append(found.remarks[code])
    return Guest(code, host, guest, {}, tuple(remarks))


def _molecule(residue: Any) -> Molecule:
    """One residue of ParmEd's. Its bond orders are lost in a topology; antechamber judges them from the shape."""
    places = {id(atom): place for place, atom in enumerate(residue.atoms)}
    atoms = tuple(Atom(atom.name, (atom.xx, atom.xy, atom.xz), atom.type, atom.charge) for atom in residue.atoms)
    pairs = {
        (places[id(bond.atom1)], places[id(bond.atom2)])
        for atom in residue.atoms
        for bond in atom.bonds
        if id(bond.atom1) in places and id(bond.atom2) in places
    }
    return Molecule(residue.name, atoms, tuple((first, second, "1") for first, second in sorted(pairs)))


def _pdb(host: Molecule, guest: Molecule) -> str:
    lines, number = [], 0
    for place, molecule in ((HOST_RESIDUE, host), (GUEST_RESIDUE, guest)):
        for atom in molecule.atoms:
            number += 1
            x, y, z = atom.position_a
            lines.append(
                f"ATOM  {number:5d} {atom.name:^4s} {molecule.residue:<3s}  {place:>4s}    "
                f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00          {atom.element:>2s}"
            )
    return "\n".join([*lines, "END", ""])


@dataclass(frozen=True)
class Taproom:
    """What is needed of a Taproom file. net_charge: as `+1e`; aliases: H1, G1, ... -> mask of an atom (`:CB7@C1`)."""

    net_charge: str
    aliases: Mapping[str, str]

    def atom(self, name: str) -> str:
        """Return the name of the atom behind an alias."""
        return self.aliases[name].partition("@")[2]


def _yaml(path: Path) -> Taproom:
    """Taproom's YAML; its aliases hold colons that no quotes protect, so only what is needed is read."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        raise UserError(f"{path} is not there; put it there.") from None
    aliases = dict(re.findall(r"^\s*-\s+([DGH]\d):\s*\"?(:\S+?)\"?\s*$", text, re.MULTILINE))
    charge = re.search(r"^net_charge:\s*(\S+)", text, re.MULTILINE)
    if charge is None:
        raise UserError(f"{path} has no net_charge; take the file of the benchmark.")
    return Taproom(charge[1], aliases)
