"""AmberTools as programs: antechamber, parmchk2 and tleap, their logs and what they warn of."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from sophron.interfaces.kind import EngineFailure
from sophron.records.errors import UserError

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
