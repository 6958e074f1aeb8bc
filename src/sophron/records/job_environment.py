"""Place of this process: its host, the scheduler's job, the pilot's worker, as the environment has them.

Standard library only. A scheduler sets its job's id in every process of the job, a pilot its worker's number.
"""

import os
from collections.abc import Mapping

from sophron.records import process_identity

JOBS = {"slurm": "SLURM_JOB_ID", "pbs": "PBS_JOBID", "lsf": "LSB_JOBID"}
"""Scheduler -> variable that holds the id of the job."""

PILOTS = {"parsl": ("PARSL_WORKER_POOL_ID", "PARSL_WORKER_RANK")}
"""Pilot -> variables that name a worker of it."""


def here(environment: Mapping[str, str] = os.environ) -> dict[str, str | None]:
    """Return `host`; `scheduler` and `job`; `pilot` and `worker`. None if there is no such thing.

    A pilot's worker stands inside the job of its block, so it may have all of them.
    """
    scheduler = next((name for name, variable in JOBS.items() if environment.get(variable)), None)
    pilot = next((name for name, variables in PILOTS.items() if all(map(environment.get, variables))), None)
    return {
        "host": process_identity.host(),
        "scheduler": scheduler,
        "job": environment[JOBS[scheduler]] if scheduler else None,
        "pilot": pilot,
        "worker": "/".join(environment[variable] for variable in PILOTS[pilot]) if pilot else None,
    }
