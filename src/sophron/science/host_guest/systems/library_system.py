"""A library of guests of one host, from a folder of a user's own, for a screen or for trials.

FOLDER/host.mol2                partial charges are believed
FOLDER/library.yaml             conditions, for `sophron screen --library FOLDER`
FOLDER/references.csv           `guest,delta_g_kcal_per_mol`, where values were measured; a screen reads it never
FOLDER/<guest>/guest.mol2
FOLDER/<guest>/complex.pdb      host and guest in the bound pose, atoms named as in the mol2 files
FOLDER/<guest>/guest.yaml       conditions, symmetry, protonation and anchors of this guest, if they differ
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sophron.records import SPEC_NAME, documents
from sophron.records.digests import digest, file_digest
from sophron.records.documents import Document
from sophron.records.errors import UserError
from sophron.records.typed_json import from_json
from sophron.science import local_data
from sophron.science.host_guest.preparation import geometry, mol2
from sophron.science.host_guest.preparation.mol2 import Molecule
from sophron.science.host_guest.systems import tasks
from sophron.science.host_guest.systems.systems import Settings, Task
from sophron.science.host_guest.task_metadata import NamedAnchors

NAME = "library"
CONDITIONS_FILE, ABOUT_FILE, REFERENCES_FILE = "library.yaml", "guest.yaml", "references.csv"
MOLECULE_FILES = ("guest.mol2", "complex.pdb")
GUEST_NAME = re.compile(r"[a-z0-9][a-z0-9_]*")
"""As `host_guest/tasks.schema.yaml` has it: results lie in folders of these names."""
COLUMNS = ["guest", "delta_g_kcal_per_mol"]
REQUIRED = ("temperature_k", "ph", "solvent")
CONDITIONS = (*REQUIRED, "ionic_strength_molar", "symmetry")
"""Of all guests; guest.yaml may give others."""
OF_A_GUEST = (*CONDITIONS, "protonation", "anchors")
ONE_SITE = {"equivalent_sites": 1, "locked_by_restraint": False}
SCHEMA = "debate/task_metadata"


@dataclass(frozen=True)
class Files:
    """Of the settings of a library, what says where its files lie. sha256: guest -> digest of its files."""

    folder: str
    sha256: Mapping[str, str] = field(default_factory=dict)


class Library:
    """Settings: `folder` (absolute, or below the campaign's), `temperature_k`, `ph`, `solvent`.

    May be given: `ionic_strength_molar`, `symmetry` (one site without it), `sha256`: guest -> digest of its files.
    """

    form = "molecules"

    def guests(self, settings: Settings) -> Sequence[str]:
        """Return the names of the sub-folders that hold a guest, sorted; UserError if there is none."""
        folder = _folder(settings, Path.cwd())
        found = sorted(path.parent.name for path in folder.glob("*/guest.mol2"))
        if not found:
            raise UserError(f"{folder}: holds no guest; put guest.mol2 and complex.pdb into a sub-folder for each")
        odd = next((name for name in found if not GUEST_NAME.fullmatch(name)), None)
        if odd is not None:
            raise UserError(f"{folder / odd}: guests have names of a-z, 0-9 and _; rename this folder")
        return found

    def names(self, settings: Settings) -> Sequence[str]:
        """None: guests have names of the user's own, which no file of a task holds."""
        del settings
        return []

    def task(self, settings: Settings, guest: str, folder: Path) -> Task:
        """Return the task of one guest, its files below `folder`.

        Raise UserError if a file is missing, unfit, or not pinned.
        """
        own = _folder(settings, local_data.folder(folder).parent)
        found = pin(own, guest)
        wanted = from_json(Files, settings).sha256.get(guest)
        if wanted not in (None, found):
            raise UserError(
                f"{own / guest}: its files or {own / 'host.mol2'} are not those that settings.sha256.{guest} pins; put "
                "those back, or amend: sophron amend"
            )
        host, one, metadata = _read(own, guest, settings)
        target = folder / "made"
        target.mkdir(parents=True, exist_ok=True)
        tasks.write_molecules(host, one, target)
        remarks = tasks.renormalised(host, one)
        if wanted is None:
            remarks.append("no digest in settings.sha256 pins the files of this guest")
        # No name of the guest: it would tell a pipeline, or a model that wrote it, what to look for.
        return Task(
            {"task": f"{NAME} {found[:8]}", **metadata},
            {name: target / name for name in tasks.MOLECULES},
            tuple(remarks),
        )

    def references(self, settings: Settings, folder: Path) -> Mapping[str, float]:
        """Return the measured values of references.csv in kcal/mol; UserError if there is none: a screen needs none."""
        path = _folder(settings, local_data.folder(folder).parent) / REFERENCES_FILE
        if not path.is_file():
            raise UserError(
                f"{path}: there is no such file; a screen needs none, and trials need one with the columns "
                f"{','.join(COLUMNS)}"
            )
        return _measured(path)

    def pinned(self, settings: Settings, guests: Sequence[str], folder: Path) -> Settings:
        """Return the settings with an absolute folder and the digest of each guest's files, all of which are read here.

        folder: where a path begins. UserError for the first guest that no task can be made of.
        """
        own = _folder(settings, folder).resolve()
        for guest in guests:
            pin(own, guest)
            _read(own, guest, settings)
        return {**settings, "folder": str(own), "sha256": {guest: pin(own, guest) for guest in guests}}


LIBRARY = Library()


def definition(folder: Path) -> dict[str, object]:
    """Return the definition of stage `tasks` for all guests of a folder, whose conditions are in its library.yaml."""
    document = documents.load_yaml(folder / CONDITIONS_FILE)
    if not isinstance(document.data, dict):
        raise UserError(f"{document.path}: holds no keys; give {', '.join(REQUIRED)}")
    settings = {**document.data, "folder": str(folder.resolve())}
    return {"system": NAME, "guests": list(LIBRARY.guests(settings)), "settings": settings}


def pin(folder: Path, guest: str) -> str:
    """Return the digest of the files of a guest and of its host; UserError if one is missing."""
    needed = [folder / "host.mol2", *(folder / guest / name for name in MOLECULE_FILES)]
    for path in needed:
        if not path.is_file():
            raise UserError(f"{path}: there is no such file; put it there, or leave {guest} out of the guests")
    about = folder / guest / ABOUT_FILE
    return digest([file_digest(path) for path in (*needed, *([about] if about.is_file() else []))])


def _read(folder: Path, guest: str, settings: Settings) -> tuple[Molecule, Molecule, dict[str, object]]:
    """Host and guest in their pose, and the metadata but for the task's name; UserError if they do not fit."""
    own = folder / guest
    host, one = read_molecules(folder / "host.mol2", *(own / name for name in MOLECULE_FILES))
    metadata = {
        "host_charge_e": host.integer_charge(str(folder / "host.mol2")),
        "guest_charge_e": one.integer_charge(str(own / "guest.mol2")),
        **_conditions(settings),
        **_about(own),
    }
    try:
        if "anchors" in metadata:
            geometry.named(host, one, from_json(NamedAnchors, metadata["anchors"]))
        else:
            geometry.chosen(host, one)
    except UserError as error:
        raise UserError(f"{own / ABOUT_FILE}: {str(error).removeprefix('task_metadata.json: ')}") from None
    return host, one, metadata


def _folder(settings: Settings, begins: Path) -> Path:
    for key in ("folder", *REQUIRED):
        if key not in settings:
            raise UserError(f'the settings of a library lack "{key}"; add it')
    unknown = next((key for key in settings if key not in ("folder", "sha256", *CONDITIONS)), None)
    if unknown is not None:
        raise UserError(f'the settings of a library have no "{unknown}"; known are folder, {", ".join(CONDITIONS)}')
    return begins / Path(from_json(Files, settings).folder).expanduser()


def _conditions(settings: Settings) -> dict[str, object]:
    """Those of all guests, valid; UserError with the key."""
    found = {"symmetry": ONE_SITE, **{key: settings[key] for key in CONDITIONS if key in settings}}
    _check(Document({"settings": found}, Path(SPEC_NAME)), found, at=("settings",))
    return found


def _about(folder: Path) -> dict[str, object]:
    """What guest.yaml says; nothing without one. UserError with file, line and key."""
    path = folder / ABOUT_FILE
    if not path.is_file():
        return {}
    document = documents.load_yaml(path)
    found = document.data
    if not isinstance(found, dict):
        raise UserError(f"{path}: holds no keys; give some of {', '.join(OF_A_GUEST)}, or remove it")
    unknown = next((key for key in found if key not in OF_A_GUEST), None)
    if unknown is not None:
        raise UserError(f"{document.where((unknown,))}: unknown key; known are {', '.join(OF_A_GUEST)}")
    _check(document, found)
    return dict(found)


def _check(document: Document, found: Mapping[str, object], at: tuple[str, ...] = ()) -> None:
    """Each value against the schema of task metadata, which the whole has to fit."""
    whole = {
        "task": NAME,
        "temperature_k": 1.0,
        "host_charge_e": 0,
        "guest_charge_e": 0,
        "symmetry": ONE_SITE,
        "ph": 7.0,
    }
    data: Any = {**whole, **found}
    documents.validate(Document({at[0]: data} if at else data, document.path, document.lines), SCHEMA, at=at)


def _measured(path: Path) -> dict[str, float]:
    with path.open(newline="", encoding="utf-8") as lines:
        rows = csv.DictReader(lines)
        if rows.fieldnames is None or not set(COLUMNS) <= set(rows.fieldnames):
            raise UserError(f"{path}: its first line does not name the columns {','.join(COLUMNS)}; write it there")
        found: dict[str, float] = {}
        for row in rows:
            try:
                value = float(row[COLUMNS[1]])
            except (TypeError, ValueError):
                value = math.nan
            if not math.isfinite(value):
                raise UserError(f"{path}:{rows.line_num}: {COLUMNS[1]} is no number; correct it")
            found[row[COLUMNS[0]]] = value
    return found


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
