"""What the records say of a campaign's past: approvals and amendments, what went wrong."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from sophron.records import approvals, events
from sophron.records.errors import Refused
from sophron.records.files import read_bytes


@dataclass(frozen=True)
class Signed:
    """One approval of the chain that leads to the one in force. hash: hex sha256 of the signed bytes."""

    record: approvals.ApprovalRecord
    hash: str

    @property
    def amendment(self) -> approvals.Amendment | None:
        """What it changed; None for a first approval and for the same plan signed again."""
        return self.record.amendment


@dataclass(frozen=True)
class Trouble:
    """Something that did not go as planned."""

    time: str
    what: str
    reason: str


def approval_chain(in_force: approvals.Approval) -> list[Signed]:
    """Return the approvals from the first to the one in force; each names the hash of the one before, under signature.

    Raises Refused if the log lacks one of them.
    """
    records = [read_bytes(path) for path in approvals.logged(in_force.root)]
    logged = {hashlib.sha256(data).hexdigest(): data for data in records}
    chain = [Signed(in_force.record, in_force.hash)]
    while previous := chain[-1].record.previous:
        if previous not in logged:
            before = chain[-1].record.version
            raise Refused(f"{in_force.root}: the approval log lacks a record before version {before}; restore it")
        chain.append(Signed(approvals.parse(logged[previous], in_force.root), previous))
    return chain[::-1]


def troubles(root: Path) -> list[Trouble]:
    """Refused steps, failed and killed tries, failed verdicts, errors of Snakemake; in their order."""
    found = [_trouble(event) for event in events.read_typed(root)[0]]
    return [trouble for trouble in found if trouble is not None]


def _trouble(event: events.Event) -> Trouble | None:
    name, time = event.event, event.time
    if name == "refused":
        return Trouble(time, f"{event.step} was refused", event.reason or "")
    if name == "step_ended" and event.status != "done":
        return Trouble(time, f"{event.step}: {event.status}", event.reason or "")
    if name == "verdict" and event.verdict != "pass":
        return Trouble(time, f"{event.stage} failed its criteria", "; ".join(event.failed))
    if name == "run_error":
        return Trouble(time, "Snakemake stopped", event.reason or "")
    return None
