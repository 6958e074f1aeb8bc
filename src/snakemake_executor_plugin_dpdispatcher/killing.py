"""Ends scheduler jobs with all that they started, and waits until they are gone."""

import time
from typing import Any

from snakemake_executor_plugin_dpdispatcher.batches import Batch
from snakemake_executor_plugin_dpdispatcher.site import Site
from snakemake_executor_plugin_dpdispatcher.states import active_in_slurm, alive

PATIENCE_S = 30.0
# dpdispatcher kills the shell script alone: its children would go on writing. TERM first, so that they tidy up.
TREE = (
    "tree() {{ echo $1; for child in $(ps -o pid= --ppid $1); do tree $child; done; }}; pids=$(tree {pid});"
    " kill -TERM $pids 2>/dev/null; for i in $(seq 30); do kill -0 $pids 2>/dev/null || break; sleep 0.1; done;"
    " kill -KILL $pids 2>/dev/null; :"
)


def kill(site: Site, batch: Batch, job: Any) -> None:
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
