"""What the submit scripts of the profiles pbs and lsf share. Standard library only; one file, beside each of them.

A job of a driver that died is found again by what it makes: while it waits or runs, `submit` gives its id instead of
submitting it twice.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# A job gets these variables of yours and no others: keys and agents' sockets stay where you are.
PASSED = (
    "PATH",
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
    "MODULEPATH",
    "OMP_NUM_THREADS",
    "SOPHRON_LMP",
    "LANG",
    "PYTHONSAFEPATH",
)
ATTEMPTS = 4  # calls of the submit command before a submission counts as failed
PAUSE_S = 5

Script = Callable[[dict[str, Any], str, Path, Path], str]
"""job, text of Snakemake's script, log, marker -> the job's script."""


def properties(jobscript: Path) -> dict[str, Any]:
    """What Snakemake says of the job, in the second line of its script."""
    for line in jobscript.read_text(encoding="utf-8").splitlines():
        if line.startswith("# properties = "):
            found: dict[str, Any] = json.loads(line.removeprefix("# properties = "))
            return found
    raise SystemExit(f"{jobscript}: has no line of properties; submit it with snakemake")


def name(job: dict[str, Any]) -> str:
    """Name of the job: rule and wildcards, with what PBS and LSF allow."""
    words = [job.get("rule") or "group", *map(str, job.get("wildcards", {}).values())]
    return re.sub(r"[^A-Za-z0-9_.-]", "_", "-".join(words))[:64]


def passed() -> list[str]:
    """Those of `PASSED` that are set."""
    return [variable for variable in PASSED if variable in os.environ]


def script(directive: str, requests: list[str], body: str, marker: Path) -> str:
    """The job's script: requests first, then what Snakemake wants run; its exit code is kept in `marker`."""
    head = "".join(f"{directive} {request}\n" for request in requests)
    commands = "".join(line for line in body.splitlines(keepends=True) if not line.startswith("#"))
    return f"#!/bin/sh\n{head}(\n{commands.strip()}\n)\ncode=$?\necho $code > '{marker}'\nexit $code\n"


def submit(
    jobscript: Path,
    folder: Path,
    write: Script,
    call: Callable[[Path], tuple[str | None, str]],
    status: Callable[[str], str],
) -> str:
    """The id of the job: a new one, or the one that a dead driver left in the queue.

    call: submits a script; the job's id or None, and a sentence on what went wrong.
    """
    job = properties(jobscript)
    key = hashlib.sha256(json.dumps([job.get("rule"), job["output"], str(Path.cwd())]).encode()).hexdigest()[:16]
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / f"{key}.id"
    if note.exists() and status(known := note.read_text().strip()) == "running":
        return known
    path, marker = folder / f"{key}.sh", folder / f"{key}.exit"
    marker.unlink(missing_ok=True)
    path.write_text(write(job, jobscript.read_text(encoding="utf-8"), folder / f"{key}.log", marker), encoding="utf-8")
    found = _tried(call, path)
    note.write_text(found, encoding="utf-8")
    (folder / f"{found}.key").write_text(key, encoding="utf-8")
    return found


def _tried(call: Callable[[Path], tuple[str | None, str]], path: Path) -> str:
    for attempt in range(ATTEMPTS):
        found, fault = call(path)
        if found is not None:
            return found
        time.sleep(PAUSE_S * (attempt + 1))
    raise SystemExit(fault)


def marked(folder: Path, job: str) -> str:
    """How a job ended of which the scheduler keeps no history: by the exit code that its script left."""
    pointer = folder / f"{job}.key"
    marker = folder / f"{pointer.read_text()}.exit" if pointer.exists() else pointer
    return "success" if marker.exists() and marker.read_text().strip() == "0" else "failed"
