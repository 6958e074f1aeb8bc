#!/usr/bin/env python3
"""Speaks with PBS Pro or OpenPBS for Snakemake: `submit.py JOBSCRIPT` prints the id of the job. Standard library only.

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

# --- THE ONE EDIT: your queue and account ---------------------------------------------------------------------------
QUEUE = ""  # "" lets the server choose
ACCOUNT = ""  # "" where your site needs none
# ---------------------------------------------------------------------------------------------------------------------

FOLDER = Path(".snakemake") / "pbs"
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
ATTEMPTS = 4  # calls of qsub before a submission counts as failed
PAUSE_S = 5


def properties(jobscript: Path) -> dict[str, Any]:
    """What Snakemake says of the job, in the second line of its script."""
    for line in jobscript.read_text(encoding="utf-8").splitlines():
        if line.startswith("# properties = "):
            found: dict[str, Any] = json.loads(line.removeprefix("# properties = "))
            return found
    raise SystemExit(f"{jobscript}: has no line of properties; submit it with snakemake")


def name(job: dict[str, Any]) -> str:
    """Name of the job: rule and wildcards, with what PBS allows."""
    words = [job.get("rule") or "group", *map(str, job.get("wildcards", {}).values())]
    return re.sub(r"[^A-Za-z0-9_.-]", "_", "-".join(words))[:64]


def select(job: dict[str, Any]) -> str:
    """One chunk, because a step runs on one node: cores, MPI ranks, threads a rank, memory, GPUs."""
    wanted = job["resources"]
    ranks = int(wanted.get("tasks", 1))
    cores = int(job["threads"])
    parts = [f"select=1:ncpus={cores}", f"mpiprocs={ranks}", f"ompthreads={max(cores // ranks, 1)}"]
    parts += [f"mem={int(wanted['mem_mb'])}mb"] if "mem_mb" in wanted else []
    parts += [f"ngpus={int(wanted['gpu'])}"] if wanted.get("gpu") else []
    return ":".join(parts)


def walltime(minutes: float) -> str:
    """HH:MM:SS."""
    seconds = round(float(minutes) * 60)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def script(job: dict[str, Any], body: str, log: Path, marker: Path) -> str:
    """The job's script: requests first, then what Snakemake wants run; its exit code is kept in `marker`."""
    requests = [f"-N {name(job)}", f"-l {select(job)}"]
    requests += [f"-l walltime={walltime(job['resources']['runtime'])}"] if "runtime" in job["resources"] else []
    requests += [f"-q {QUEUE}"] if QUEUE else []
    requests += [f"-A {ACCOUNT}"] if ACCOUNT else []
    passed = [variable for variable in PASSED if variable in os.environ]
    requests += ["-j oe", f"-o {log}", "-r y"] + ([f"-v {','.join(passed)}"] if passed else [])
    head = "".join(f"#PBS {request}\n" for request in requests)
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
    found = _qsub(path)
    note.write_text(found, encoding="utf-8")
    (folder / f"{found}.key").write_text(key, encoding="utf-8")
    return found


def _qsub(path: Path) -> str:
    for attempt in range(ATTEMPTS):
        done = subprocess.run(["qsub", str(path)], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.split()[-1]
        time.sleep(PAUSE_S * (attempt + 1))
    raise SystemExit(f"qsub refuses {path}: {done.stderr.strip()}")


def status(job: str) -> str:
    """`success`, `failed` or `running`, which stands for everything before the end."""
    done = subprocess.run(["qstat", "-x", "-f", job], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        fields = dict(re.findall(r"^\s+(job_state|Exit_status) = (\S+)", done.stdout, re.MULTILINE))
        if fields.get("job_state") not in ("F", "X"):
            return "running"
        if "Exit_status" in fields:
            return "success" if fields["Exit_status"] == "0" else "failed"
    elif "Unknown Job" not in done.stderr and "has finished" not in done.stderr:
        return "running"  # the server did not answer: the next look will
    return _marked(job)


def _marked(job: str) -> str:
    """How a job ended of which the server keeps no history: by the exit code that its script left."""
    pointer = FOLDER / f"{job}.key"
    marker = FOLDER / f"{pointer.read_text()}.exit" if pointer.exists() else pointer
    return "success" if marker.exists() and marker.read_text().strip() == "0" else "failed"


if __name__ == "__main__":
    print(submit(Path(sys.argv[1])))
