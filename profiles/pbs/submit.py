#!/usr/bin/env python3
"""Speaks with PBS Pro or OpenPBS for Snakemake: `submit.py JOBSCRIPT` prints a job's id. Standard library only."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True  # the folder of a profile holds what was installed and nothing else
sys.path.insert(0, str(Path(__file__).parent))  # PYTHONSAFEPATH, which a driver sets, leaves it out

import cluster_job  # type: ignore[import-not-found]  # noqa: E402

# --- THE ONE EDIT: your queue and account ---------------------------------------------------------------------------
QUEUE = ""  # "" lets the server choose
ACCOUNT = ""  # "" where your site needs none
# ---------------------------------------------------------------------------------------------------------------------

FOLDER = Path(".snakemake") / "pbs"


def select(job: dict[str, Any]) -> str:
    """A chunk for each node: cores, MPI ranks, threads a rank, memory, GPUs."""
    wanted = job["resources"]
    nodes = int(wanted.get("nodes", 1))
    ranks = int(wanted.get("tasks", 1)) // nodes
    cores = int(job["threads"]) // nodes
    parts = [f"select={nodes}:ncpus={cores}", f"mpiprocs={ranks}", f"ompthreads={max(cores // ranks, 1)}"]
    parts += [f"mem={int(wanted['mem_mb'])}mb"] if "mem_mb" in wanted else []
    parts += [f"ngpus={int(wanted['gpu'])}"] if wanted.get("gpu") else []
    return ":".join(parts)


def walltime(minutes: float) -> str:
    """HH:MM:SS."""
    seconds = round(float(minutes) * 60)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def script(job: dict[str, Any], body: str, log: Path, marker: Path) -> str:
    """The job's script, with what it asks of PBS."""
    requests = [f"-N {cluster_job.name(job)}", f"-l {select(job)}"]
    requests += ["-l place=scatter"] if int(job["resources"].get("nodes", 1)) > 1 else []
    requests += [f"-l walltime={walltime(job['resources']['runtime'])}"] if "runtime" in job["resources"] else []
    requests += [f"-q {QUEUE}"] if QUEUE else []
    requests += [f"-A {ACCOUNT}"] if ACCOUNT else []
    passed = cluster_job.passed()
    requests += ["-j oe", f"-o {log}", "-r y"] + ([f"-v {','.join(passed)}"] if passed else [])
    return str(cluster_job.script("#PBS", requests, body, marker))


def submit(jobscript: Path) -> str:
    """The id of the job: a new one, or the one that a dead driver left in the queue."""
    return str(cluster_job.submit(jobscript, FOLDER, script, _qsub, status))


def _qsub(path: Path) -> tuple[str | None, str]:
    done = subprocess.run(["qsub", str(path)], capture_output=True, text=True, check=False)
    return (done.stdout.split()[-1] if done.returncode == 0 else None), f"qsub refuses {path}: {done.stderr.strip()}"


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
    return str(cluster_job.marked(FOLDER, job))


if __name__ == "__main__":
    print(submit(Path(sys.argv[1])))
