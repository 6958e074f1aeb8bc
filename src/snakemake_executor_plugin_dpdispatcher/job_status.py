"""Status of tasks and jobs: markers tell of an end, the scheduler of a death without one; and cancelling a job."""

import re
import time
from collections.abc import Collection, Iterable
from typing import Any

from snakemake_executor_plugin_dpdispatcher.site import Site, load
from snakemake_executor_plugin_dpdispatcher.submission_record import MARKER, Batch, Task

LINE = re.compile(rf"^(?:\./)?(?P<ident>[0-9a-f]+)\.{MARKER}:(?P<code>\d+)\s*$", re.MULTILINE)


def ended(site: Site) -> dict[str, int]:
    """Ident of each ended task of the bound batch -> its exit code."""
    # One command whatever the number of tasks; grep finds nothing (1) or no file (2) at first.
    _, out, _ = site.call(f"grep -Hs '' -- *.{MARKER}")
    return {found["ident"]: int(found["code"]) for found in LINE.finditer(out)}


def active_in_slurm(site: Site) -> set[tuple[str, int | None]]:
    """(job id, array index or None) of every task that this user's Slurm still queues or runs.

    One call, however many jobs: dpdispatcher asks once a job, and tells of an array as a whole.
    RuntimeError if Slurm does not answer.
    """
    code, out, err = site.call("squeue --me -h -r -o '%F %K'")
    if code != 0:
        raise RuntimeError(" ".join(err.split()) or f"squeue ended with {code}")
    pairs = [line.split() for line in out.splitlines() if line.strip()]
    return {(pair[0], int(pair[1]) if pair[1].isdigit() else None) for pair in pairs}


def alive(site: Site, batch: Batch, job: Any, in_slurm: Collection[tuple[str, int | None]] | None) -> list[Task]:
    """Return the tasks of `job` that its scheduler still queues or runs. The site is bound to the batch."""
    tasks = batch.tasks_of(job)
    if in_slurm is not None:
        array = site.batch_type == "SlurmJobArray"
        return [task for index, task in enumerate(tasks) if (str(job.job_id), index if array else None) in in_slurm]
    status = load("utils.job_status").JobStatus
    state = site.machine.check_status(job)
    job.job_state = state
    return [] if state in (status.terminated, status.finished, status.failed) else tasks


def dead(tasks: Iterable[Task], living: Collection[str], patience_s: float) -> list[Task]:
    """Return those unended `tasks` that have been gone for `patience_s`: a marker may reach this machine later."""
    result, now = [], time.monotonic()
    for task in tasks:
        if task.ident in living:
            task.gone_since = None
        elif task.gone_since is None:
            task.gone_since = now
        elif now - task.gone_since >= patience_s:
            result.append(task)
    return result


PATIENCE_S = 30.0
# dpdispatcher kills the shell script alone: its children would go on writing. TERM first, so that they tidy up.
TREE = (
    "tree() {{ echo $1; for child in $(ps -o pid= --ppid $1); do tree $child; done; }}; pids=$(tree {pid});"
    " kill -TERM $pids 2>/dev/null; for i in $(seq 30); do kill -0 $pids 2>/dev/null || break; sleep 0.1; done;"
    " kill -KILL $pids 2>/dev/null; :"
)


def cancel(site: Site, batch: Batch, job: Any) -> None:
    """End `job` of the bound `batch`, and wait for it to be gone, at most PATIENCE_S."""
    if not job.job_id or not is_alive(site, batch, job):
        return
    if site.batch_type == "Shell":
        site.call(TREE.format(pid=int(job.job_id)))
    else:
        site.machine.kill(job)
    deadline = time.monotonic() + PATIENCE_S
    while is_alive(site, batch, job) and time.monotonic() < deadline:
        time.sleep(0.5)


def is_alive(site: Site, batch: Batch, job: Any) -> bool:
    """Return whether the scheduler still queues or runs anything of `job`. The site is bound to the batch."""
    in_slurm = active_in_slurm(site) if site.batch_type.startswith("Slurm") else None
    return bool(alive(site, batch, job, in_slurm))
