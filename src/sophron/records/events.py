"""The event record: one JSON line for everything that happened, appended by steps, verbs and the logger.

`records/events.jsonl` is what happened; workflow-state.json and progress.log are projections of it. The words and
fields are those of `schemas/event.schema.yaml`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sophron.interfaces import JsonObject
from sophron.records import clock, files
from sophron.records.files import FileLock
from sophron.records.typed_json import RecordError, from_json

FILE = Path("records", "events.jsonl")
LOCK = Path("records", "events.lock")

# The fields without which an event cannot be projected; the schema says what they hold.
REQUIRED: dict[str, frozenset[str]] = {
    "spec_loaded": frozenset(
        {"workflow_id", "version", "digest", "stages", "experiment_design", "workflow_plan"},
    ),
    "approved": frozenset({"version", "approver", "record"}),
    "amended": frozenset(
        {"version", "changes", "rationale", "invalidated_stages", "approved_by", "timestamp"},
    ),
    "drafted": frozenset({"version", "rationale", "invalidated_stages"}),
    "draft_dropped": frozenset({"version"}),
    "invalidated": frozenset({"stage", "version"}),
    "overlay": frozenset({"stage", "key", "value"}),
    "refused": frozenset({"step", "reason"}),
    "run_started": frozenset({"pid", "pid_start", "host", "snakemake_version"}),
    "run_ended": frozenset({"pid", "host", "done", "total"}),
    "run_progress": frozenset({"done", "total"}),
    "run_error": frozenset({"reason"}),
    "step_queued": frozenset({"step", "stage", "rule", "wildcards", "jobid"}),
    "step_started": frozenset(
        {"step", "stage", "rule", "wildcards", "try", "pid", "pid_start", "host", "log", "digest"},
    ),
    "step_ended": frozenset({"step", "stage", "wildcards", "status"}),
    "job_finished": frozenset({"step", "stage", "rule", "wildcards", "jobid"}),
    "job_error": frozenset({"step", "stage", "rule", "wildcards", "jobid", "exit"}),
    "host_planned": frozenset({"finished", "again"}),
    "host_job_started": frozenset({"step", "rule"}),
    "host_job_finished": frozenset({"step", "rule"}),
    "host_job_failed": frozenset({"step", "rule", "exit", "log"}),
    "verdict": frozenset({"stage", "verdict", "failed"}),
    "accepted": frozenset({"stage"}),
    "agent_asked": frozenset({"step", "agent"}),
    "agent_answered": frozenset({"step", "agent", "backend", "model", "calls", "summary"}),
    "agent_failed": frozenset({"step", "agent", "kind", "reason"}),
    "reasked": frozenset({"step", "number"}),
    "suspicious_text": frozenset({"step", "agent", "where", "reason"}),
    "cleared": frozenset({"step", "stage", "wildcards", "kept"}),
}

# Written at a human's pace and never again: worth the milliseconds that a power cut would take.
_SYNCED = frozenset({"spec_loaded", "approved", "amended", "invalidated"})


@dataclass(frozen=True)
class Event:
    """One line of the record, of any name: the fields of `schemas/event.schema.yaml` that the library reads.

    Which of them an event has is said by `REQUIRED`; the others keep their defaults.
    """

    time: str
    actor: str
    event: str
    step: str = ""
    stage: str | None = None
    rule: str = ""
    wildcards: Mapping[str, str] = field(default_factory=dict)
    log: str | None = None
    status: str | None = None
    reason: str | None = None
    exit: str | None = None
    wall_s: float | None = None
    peak_memory_mb: float | None = None
    done: int | None = None
    total: int | None = None
    verdict: str = ""
    failed: Sequence[str] = ()
    where: str = ""
    model: str = ""
    summary: str = ""
    version: int = 0
    approver: str = ""
    snakemake_version: str = ""


def append(root: Path, actor: str, event: str, **fields: Any) -> None:
    """Add one event to the campaign at `root`; `actor` is the tool that acts, e.g. "sophron" or "snakemake".

    Safe with many writers, and with a kill at any moment: a line is written in one piece, and a line that a kill
    tore is closed by the next append and skipped by readers. ValueError for an unknown event or a missing field.
    """
    missing = REQUIRED.get(event, frozenset({"a known name"})) - fields.keys()
    if missing:
        raise ValueError(f'the event "{event}" lacks {", ".join(sorted(missing))}')
    path = root / FILE
    with FileLock(root / LOCK):
        # The clock is read under the lock, so that lines are in the order of their times.
        record = {"time": clock.isoformat(), "actor": actor, "event": event, **fields}
        files.append_json_line(path, record, sync=event in _SYNCED)


def read(root: Path, offset: int = 0) -> tuple[list[dict[str, Any]], int]:
    """Return the events from byte `offset` on, and the offset to go on from; torn lines are skipped.

    A last line without an end is left for the next call: its writer may still be at it.
    """
    records, end = files.read_json_lines(root / FILE, offset)
    return [event for event in records if _is_whole(event)], end


def read_typed(root: Path, offset: int = 0) -> tuple[list[Event], int]:
    """Return events as `read` does, typed; one with a value of another type is skipped, as a torn line is."""
    found, end = read(root, offset)
    return [event for event in map(_typed, found) if event is not None], end


def _typed(event: JsonObject) -> Event | None:
    try:
        return from_json(Event, event)
    except RecordError:
        return None


def _is_whole(event: JsonObject) -> bool:
    if not isinstance(event.get("event"), str):
        return False
    required = REQUIRED.get(event["event"])
    return required is not None and {"time", "actor", *required} <= event.keys()
