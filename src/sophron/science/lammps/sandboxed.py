"""Run a LAMMPS input that holds free text: in the sandbox, which shows it the program and its work folder only."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from sophron.interfaces.kind import EngineFailure, EnvironmentFailure
from sophron.interfaces.sandbox import Ended, Grant
from sophron.sandbox.choose import DEFAULT

if TYPE_CHECKING:
    from sophron.interfaces.sandbox import SandboxBackend
    from sophron.science.lammps.executable import Lammps

LOADED = re.compile(r"=> (/\S+) \(")
SHOWN = {"lib", "lib32", "lib64", "usr"}
"""Top folders of the system's own libraries, which every sandbox shows; /usr/local it does not."""

CURES = {"wall_s": "time", "cpu_s": "time", "memory_mb": "memory"}


def run(lammps: Lammps, command: Sequence[str], grant: Grant, output: Path) -> int:
    """Return the exit code of `command` inside.

    EnvironmentFailure if no sandbox works here, EngineFailure if a limit ended it.
    """
    backend = _backend()
    errors = output.with_suffix(".err")
    ended: Ended = backend.run(command, _with_program(lammps, grant), stdout=output, stderr=errors)
    if ended.limit is not None:
        raise EngineFailure(f"LAMMPS passed the sandbox's limit {ended.limit}", curable_by=CURES.get(ended.limit))
    with output.open("ab") as stream:
        stream.write(errors.read_bytes())
    errors.unlink()
    return ended.returncode


def _backend() -> SandboxBackend:
    """The default backend, or the first other installed one that works on this machine."""
    reasons = []
    for entry in sorted(entry_points(group="sophron.sandboxes"), key=lambda entry: (entry.name != DEFAULT, entry.name)):
        backend: SandboxBackend = entry.load()()
        missing = backend.missing()
        if missing is None:
            return backend
        reasons.append(missing)
    said = "; ".join(reasons) or "no sandbox backend is installed"
    raise EnvironmentFailure(
        f"the input has fragments, which run in a sandbox or not at all: {said}; or remove them from the definition"
    )


def _with_program(lammps: Lammps, grant: Grant) -> Grant:
    """The grant with the program and the libraries that it loads from places that a sandbox does not show."""
    listed = subprocess.run(
        ["ldd", lammps.program], env={**os.environ, **lammps.environment}, capture_output=True, text=True, check=False
    )
    loaded = [Path(os.path.normpath(found)) for found in LOADED.findall(listed.stdout)]
    hidden = [path for path in loaded if path.parts[1] not in SHOWN or path.parts[2] == "local"]
    return replace(grant, read_only=(*grant.read_only, lammps.program, *hidden))
