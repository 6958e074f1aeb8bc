#!/usr/bin/env python3
"""Speaks with IBM Spectrum LSF for Snakemake: `submit.py JOBSCRIPT` prints a job's id. Standard library only."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True  # the folder of a profile holds what was installed and nothing else
sys.path.insert(0, str(Path(__file__).parent))  # PYTHONSAFEPATH, which a driver sets, leaves it out

import cluster_job  # type: ignore[import-not-found]  # noqa: E402

# --- THE ONE EDIT: your queue and project ---------------------------------------------------------------------------
QUEUE = ""  # "" lets LSF choose
PROJECT = ""  # "" where your site needs none
# ---------------------------------------------------------------------------------------------------------------------

FOLDER = Path(".snakemake") / "lsf"


def resources(job: dict[str, Any]) -> list[str]:
    """Slots for MPI ranks, cores a rank, memory of the whole job, wall time, GPUs; on one host, or as many on each."""
    wanted = job["resources"]
    ranks, nodes = int(wanted.get("tasks", 1)), int(wanted.get("nodes", 1))
    each = max(int(job["threads"]) // ranks, 1)
    slots, memory = ranks * each, nodes * int(wanted.get("mem_mb", 0))
    found = [f"-n {slots}", '-R "span[hosts=1]"' if nodes == 1 else f'-R "span[ptile={slots // nodes}]"']
    if memory:
        found += [f'-R "rusage[mem={memory}MB/job]"', f"-M {memory}MB"]
    if "runtime" in wanted:
        minutes = -(-int(wanted["runtime"]) // 1)
        found += [f"-W {minutes // 60:02d}:{minutes % 60:02d}"]
    if wanted.get("gpu"):
        found += [f'-gpu "num={int(wanted["gpu"])}/host"']
    return found


def script(job: dict[str, Any], body: str, log: Path, marker: Path) -> str:
    """The job's script, with what it asks of LSF."""
    requests = [f"-J {cluster_job.name(job)}", *resources(job)]
    requests += [f"-q {QUEUE}"] if QUEUE else []
    requests += [f"-P {PROJECT}"] if PROJECT else []
    requests += [f"-o {log}", "-r", f'-env "{", ".join(cluster_job.passed()) or "none"}"']
    return str(cluster_job.script("#BSUB", requests, body, marker))


def submit(jobscript: Path) -> str:
    """The id of the job: a new one, or the one that a dead driver left in the queue."""
    return str(cluster_job.submit(jobscript, FOLDER, script, _bsub, status))


def _bsub(path: Path) -> tuple[str | None, str]:
    with path.open(encoding="utf-8") as stream:
        done = subprocess.run(["bsub"], stdin=stream, capture_output=True, text=True, check=False)
    told = re.search(r"Job <(\d+)> is submitted", done.stdout)
    return (told[1] if done.returncode == 0 and told else None), f"bsub refuses {path}: {done.stderr.strip()}"


def status(job: str) -> str:
    """`success`, `failed` or `running`, which stands for everything before the end."""
    done = subprocess.run(["bjobs", "-noheader", "-o", "stat", job], capture_output=True, text=True, check=False)
    if "is not found" in done.stderr:
        return str(cluster_job.marked(FOLDER, job))
    return {"DONE": "success", "EXIT": "failed"}.get(done.stdout.strip(), "running")


if __name__ == "__main__":
    print(submit(Path(sys.argv[1])))
