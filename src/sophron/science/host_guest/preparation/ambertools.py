"""Parametrise a molecule with GAFF2 by the programs of AmberTools: their logs, and what they warn of.

antechamber types, checked; charges as shipped or AM1-BCC; parmchk2; and tleap, which builds complexes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from sophron.interfaces.kind import EngineFailure
from sophron.records.errors import UserError
from sophron.science.host_guest.preparation import mol2
from sophron.science.host_guest.preparation.mol2 import Molecule

WARNING = re.compile(r"warning|could not find|ATTN|no torsion terms|does not have a type", re.IGNORECASE)
HARMLESS = re.compile(
    # What they say of every input: sections that are not read, the sum of charges before ions, and summaries.
    r"Exiting LEaP|Unit Checking|Ignoring Mol2 record|unperturbed charge|total warnings|Warnings = 0|not perturbed",
    re.IGNORECASE,
)
LONGEST_S = 1800.0
"""Of one call; AM1-BCC charges of the largest host take minutes."""


def find(name: str) -> Path:
    """Return where a program of AmberTools is: beside this Python, or on PATH. UserError if it is not installed."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.is_file() else shutil.which(name)
    if not found:
        raise UserError(f"{name} of AmberTools is not installed; pip install 'sophron[chem]'")
    return Path(found)


def call(folder: Path, name: str, *arguments: str) -> list[str]:
    """Run a program in `folder`, keep its output in `<name>.log` there, and return the warnings in it.

    EngineFailure, with the last line it said, where it ends badly.
    """
    command = [str(find(name)), *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            timeout=LONGEST_S,
        )
    except subprocess.TimeoutExpired:
        raise EngineFailure(f"{name} did not end within {LONGEST_S:g} s", curable_by="time") from None
    with (folder / f"{name}.log").open("a") as log:
        log.write(ended.stdout)
    if ended.returncode:
        said = [line.strip() for line in ended.stdout.splitlines() if line.strip()]
        raise EngineFailure(
            f"{name} ended with exit code {ended.returncode}: {said[-1] if said else 'it said nothing'}"
        )
    return warnings(ended.stdout)


def warnings(text: str) -> list[str]:
    """Return the lines that warn of types or parameters, each once, in their order."""
    whole = re.sub(r"^.*teLeap: Warning!\s*\n", "Warning: ", text, flags=re.MULTILINE)
    lines = [line.strip() for line in whole.splitlines()]
    return list(dict.fromkeys(line for line in lines if WARNING.search(line) and not HARMLESS.search(line)))


Charges = Literal["shipped", "am1bcc"]
AMMONIUM = ("n4", "nx", "ny", "nz", "n+")
"""Types of a nitrogen with four neighbours, by how many of them are hydrogens; each has its own parameters in GAFF2.

antechamber has given them to nitrogens with fewer neighbours, too.
"""


@dataclass(frozen=True)
class Parametrised:
    """A molecule with GAFF2 types and charges that sum to an integer.

    frcmod: parameters that GAFF2 lacks; charge_e: the integer; renormalised_by_e: what the charges missed it by;
    type_changes: such as `N1 nz to n4`; warnings: of the programs, quoted.
    """

    molecule: Molecule
    mol2: Path
    frcmod: Path
    charge_e: int
    renormalised_by_e: float
    type_changes: tuple[str, ...]
    warnings: tuple[str, ...]


def parametrise(molecule: Molecule, name: str, charge_e: int, folder: Path, charges: Charges) -> Parametrised:
    """Write `<name>.mol2` and `<name>.frcmod` in `folder`; EngineFailure if a program fails.

    charge_e: what the metadata say; UserError if the shipped charges contradict it, for one of them is wrong.
    """
    shipped = molecule.integer_charge(f"{name}.mol2")
    if shipped != charge_e:
        raise UserError(
            f"task_metadata.json says {charge_e:+d} e for the {name}, and the charges of {name}.mol2 sum to "
            f"{shipped:+d} e; correct {name}_charge_e."
        )
    molecule.write(folder / f"{name}_shipped.mol2")
    typing = ["-i", f"{name}_shipped.mol2", "-fi", "mol2", "-o", f"{name}_typed.mol2", "-fo", "mol2"]
    typing += ["-at", "gaff2", "-dr", "n", "-pf", "y"]
    if charges == "am1bcc":
        typing += ["-c", "bcc", "-nc", str(charge_e)]
    said = call(folder, "antechamber", *typing)
    typed = mol2.read(folder / f"{name}_typed.mol2")
    if typed.names != molecule.names:
        raise UserError(f"antechamber has renamed or reordered the atoms of {name}.mol2; give them names of their own.")
    checked, changes = ammonium_checked(typed, name)
    final = replace(checked, residue=molecule.residue).renormalised(charge_e)
    paths = folder / f"{name}_gaff2.mol2", folder / f"{name}.frcmod"
    final.write(paths[0])
    # After every change of types, or the new ones would lack their parameters.
    said += call(folder, "parmchk2", "-i", paths[0].name, "-f", "mol2", "-o", paths[1].name, "-p", str(gaff2_file()))
    said += warnings(paths[1].read_text())
    missed = charge_e - checked.charge
    return Parametrised(final, paths[0], paths[1], charge_e, missed, tuple(changes), tuple(dict.fromkeys(said)))


def gaff2_file() -> Path:
    """Return the parameters of GAFF2 that AmberTools has; UserError if they are not where its programs look for them.

    parmchk2 is given the file, not the name: in AmberTools 26.0.0 `-s gaff2` reads GAFF instead in one call of four, at
    random, fills in for types that GAFF lacks, and says nothing. Energies of CB7 then differ by 75 kcal/mol.
    """
    data = find("parmchk2").parent.parent / "dat" / "leap"
    path = next(data.glob("*/gaff2.dat"), None)
    if path is None:
        raise UserError(f"{data} of AmberTools has no gaff2.dat; install it again: pip install 'sophron[chem]'")
    return path


def ammonium_checked(molecule: Molecule, name: str) -> tuple[Molecule, list[str]]:
    """Give nitrogens with four neighbours the type of their hydrogens, and list each change.

    Raise UserError if a nitrogen with fewer neighbours has the type of an ammonium: no correction is evident.
    """
    atoms, changes = list(molecule.atoms), []
    for place, atom in enumerate(molecule.atoms):
        if atom.element != "N":
            continue
        beside = [molecule.atoms[each].element for each in molecule.neighbours(place)]
        meant = AMMONIUM[beside.count("H")]
        if len(beside) == 4 and atom.type != meant:
            atoms[place] = replace(atom, type=meant)
            changes.append(f"{atom.name} {atom.type} to {meant}")
        elif len(beside) < 4 and atom.type in AMMONIUM:
            raise UserError(
                f"{name}.mol2: {atom.name} has {len(beside)} neighbours and was typed {atom.type}, an ammonium; "
                "check the protonation state and the bond orders."
            )
    return replace(molecule, atoms=tuple(atoms)), changes
