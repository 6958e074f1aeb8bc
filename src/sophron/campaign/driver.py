"""The moment a workflow starts: the driver takes the campaign, and the approval is looked at once before any step."""

import os
from pathlib import Path

from sophron.campaign import locks, trust
from sophron.campaign.plan import Plan, make
from sophron.campaign.spec import SPEC_NAME, load
from sophron.campaign.spec_record import record_spec
from sophron.campaign.state import project
from sophron.records import approvals, events, process
from sophron.records.locks import FileLock

_held: list[FileLock] = []


def begin(root: Path) -> None:
    """Called by `onstart:`. Raises UserError where another driver runs, Refused where nothing valid is signed.

    The lock is held until this process ends, however it ends.
    """
    _held.append(locks.driver_lock(root))
    approval = approvals.valid_approval(root)
    trust.check(approval)
    tell(root)
    events.append(root, "snakemake", "run_started", pid=os.getpid(), host=process.host())
    project(root)


def tell(root: Path, plan: Plan | None = None) -> None:
    """Record the spec in force, if the records do not know it yet (a kill came between), and project the state."""
    if not approvals.gate_path(root).is_file():
        return
    spec = load(root / SPEC_NAME)
    if project(root)["spec_digest"] != spec.digest:
        record_spec(root, spec, plan or make(root, spec))
    project(root)
