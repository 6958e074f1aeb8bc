#!/usr/bin/env python3
"""Speaks with IBM Spectrum LSF for Snakemake: `submit.py JOBSCRIPT` prints the id of the job. Standard library only.

A job of a driver that died is found again by what it makes: while it waits or runs, `submit` gives its id instead of
submitting it twice.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

# --- THE ONE EDIT: your queue and project ---------------------------------------------------------------------------
QUEUE = ""  # "" lets LSF choose
PROJECT = ""  # "" where your site needs none
# ---------------------------------------------------------------------------------------------------------------------

FOLDER = Path(".snakemake") / "lsf"
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
ATTEMPTS = 4  # calls of bsub before a submission counts as failed
PAUSE_S = 5


def properties(jobscript: Path) -> dict[str, Any]:
    """What Snakemake says of the job, in the second line of its script."""
    for line in jobscript.read_text(encoding="utf-8").splitlines():
        if line.startswith("# properties = "):
            found: dict[str, Any] = json.loads(line.removeprefix("# properties = "))
            return found
    raise SystemExit(f"{jobscript}: has no line of properties; submit it with snakemake")


def name(job: dict[str, Any]) -> str:
    """Name of the job: rule and wildcards."""
    words = [job.get("rule") or "group", *map(str, job.get("wildcards", {}).values())]
    return re.sub(r"[^A-Za-z0-9_.-]", "_", "-".join(words))[:64]


def resources(job: dict[str, Any]) -> list[str]:
    """Slots for MPI ranks, cores a rank, memory of the whole job, wall time, GPUs; on one host, as a step runs."""
    wanted = job["resources"]
    ranks = int(wanted.get("tasks", 1))
    each = max(int(job["threads"]) // ranks, 1)
    slots, memory = ranks * each, int(wanted.get("mem_mb", 0))
    found = [f"-n {slots}", '-R "span[hosts=1]"']
    if memory:
        found += [f'-R "rusage[mem={memory}MB/job]"', f"-M {memory}MB"]
    if "runtime" in wanted:
        minutes = -(-int(wanted["runtime"]) // 1)
        found += [f"-W {minutes // 60:02d}:{minutes % 60:02d}"]
    if wanted.get("gpu"):
        found += [f'-gpu "num={int(wanted["gpu"])}/host"']
    return found


def script(job: dict[str, Any], body: str, log: Path, marker: Path) -> str:
    """The job's script: requests first, then what Snakemake wants run; its exit code is kept in `marker`."""
    requests = [f"-J {name(job)}", *resources(job)]
    requests += [f"-q {QUEUE}"] if QUEUE else []
    requests += [f"-P {PROJECT}"] if PROJECT else []
    passed = [variable for variable in PASSED if variable in os.environ]
    requests += [f"-o {log}", "-r", f'-env "{", ".join(passed) or "none"}"']
    head = "".join(f"#BSUB {request}\n" for request in requests)
    commands = "".join(line for line in body.splitlines(keepends=True) if not line.startswith("#"))
    return f"#!/bin/sh\n{head}(\n{commands.strip()}\n)\ncode=$?\necho $code > '{marker}'\nexit $code\n"


def submit(jobscript: Path) -> str:
    """The id of the job: a new one, or the one that a dead driver left in the queue."""
    job = properties(jobscript)
    key = hashlib.sha256(json.dumps([job.get("rule"), job["output"], str(Path.cwd())]).encode()).hexdigest()[:16]
    folder = FOLDER.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / f"{key}.id"
    if note.exists() and status(known := note.read_text().strip()) == "running":
        return known
    path, marker = folder / f"{key}.sh", folder / f"{key}.exit"
    marker.unlink(missing_ok=True)
    path.write_text(script(job, jobscript.read_text(encoding="utf-8"), folder / f"{key}.log", marker), encoding="utf-8")
    found = _bsub(path)
    note.write_text(found, encoding="utf-8")
    (folder / f"{found}.key").write_text(key, encoding="utf-8")
    return found


def _bsub(path: Path) -> str:
    for attempt in range(ATTEMPTS):
        with path.open(encoding="utf-8") as stream:
            done = subprocess.run(["bsub"], stdin=stream, capture_output=True, text=True, check=False)
        told = re.search(r"Job <(\d+)> is submitted", done.stdout)
        if done.returncode == 0 and told:
            return told[1]
        time.sleep(PAUSE_S * (attempt + 1))
    raise SystemExit(f"bsub refuses {path}: {done.stderr.strip()}")


def status(job: str) -> str:
    """`success`, `failed` or `running`, which stands for everything before the end."""
    done = subprocess.run(["bjobs", "-noheader", "-o", "stat", job], capture_output=True, text=True, check=False)
    if "is not found" in done.stderr:
        return _marked(job)
    return {"DONE": "success", "EXIT": "failed"}.get(done.stdout.strip(), "running")


def _marked(job: str) -> str:
    """How a job ended that LSF has forgotten: by the exit code that its script left."""
    pointer = FOLDER / f"{job}.key"
    marker = FOLDER / f"{pointer.read_text()}.exit" if pointer.exists() else pointer
    return "success" if marker.exists() and marker.read_text().strip() == "0" else "failed"


if __name__ == "__main__":
    print(submit(Path(sys.argv[1])))
