"""The fields of a campaign's state and of its stages, and the statuses, gate and next command that follow from them.

The fields are those of Superscientist, appendix B.1; what the projector needs beyond them is beside them.
"""

from collections.abc import Mapping
from typing import Any

from sophron.records import sanitize

Record = dict[str, Any]  # a JSON object: the state, one of its stages, or an event
LONGEST_REASON = 400


def plain(text: str) -> str:
    """`text` on one line, without hidden characters: no reason that a program gives can forge a log line."""
    return sanitize.one_line(text, LONGEST_REASON)


def fresh() -> Record:
    """Return the state before the first event."""
    return {
        "workflow_id": None,
        "workflow_status": "pending",
        "version": 0,
        "experiment_design": None,
        "workflow_plan": None,
        "spec_digest": None,
        "approval": None,
        "draft": None,
        "waiting_gate": "specify",
        "next_command": "sophron review",
        "last_refusal": None,
        "last_error": None,
        "run": None,
        "updated_at": None,
        "amendments": [],
        "overlays": [],
        "stages": [],
        "running_process": [],
        "queued": {},
        "asked": {},
        "durations": {},
        "failed_steps": {},
        "errored_steps": {},
        "projected_bytes": 0,
        "log_bytes": 0,
    }


def fresh_stage(name: str) -> Record:
    """Return a stage of which nothing has run."""
    return {
        "id": name,
        "depends_on": [],
        "status": "pending",
        "success_criteria": [],
        "parameters": {},
        "steps": 0,
        "outputs": [],
        "started_at": None,
        "completed_at": None,
        "retry_count": 0,
        "last_error": None,
        "running_process": [],
        "verdict": None,
        "accepted": False,
        "invalidated_by": None,
        "failed_steps": {},
        "errored_steps": {},
    }


def own(stage: Record, step: str) -> bool:
    """Return whether `step` computes a part of `stage` (`verify-<stage>` and `accept-<stage>` do not)."""
    return step == stage["id"] or step.startswith(f"{stage['id']}-")


def unit_of(step: str, wildcards: Mapping[str, str]) -> str:
    """Return the stage, or the part of one, that `step` is an instance of: its name without its wildcards' values."""
    return step.removesuffix("".join(f"-{value}" for value in wildcards.values()))


def stage_status(stage: Record) -> str:
    """pending, in_progress, completed, failed or invalidated."""
    if any(own(stage, entry["step"]) for entry in stage["running_process"]):
        return "in_progress"
    if stage["verdict"] and stage["verdict"]["verdict"] == "fail":
        return "failed"
    if stage["accepted"]:
        return "completed"
    if stage["failed_steps"] and not stage["running_process"]:
        return "failed"
    if stage["outputs"] or stage["errored_steps"] or stage["running_process"]:
        return "in_progress"
    return "invalidated" if stage["invalidated_by"] else "pending"


def workflow_status(state: Record) -> str:
    """pending, in_progress, completed or failed."""
    statuses = {stage["status"] for stage in state["stages"]}
    if statuses == {"completed"}:
        return "completed"
    if "failed" in statuses and not any(stage["running_process"] for stage in state["stages"]):
        return "failed"
    return "pending" if statuses <= {"pending"} else "in_progress"


def waiting_gate(state: Record) -> str | None:
    """Return the gate at which a human is awaited: "specify", "amend", or None."""
    approval = state["approval"]
    if approval is None:
        return "specify"
    signed = approval["version"] == state["version"] and approval["digest"] in {None, state["spec_digest"]}
    return None if signed and not state["draft"] else "amend"


def next_command(state: Record) -> str | None:
    """Return what to type next; None if all is done."""
    if state["waiting_gate"] == "specify":
        return "sophron review"
    if state["waiting_gate"] == "amend":
        # Without a draft, the spec was edited and nobody said why.
        return "sophron approve" if state["draft"] else "sophron amend"
    if state["last_refusal"]:
        return "sophron review"
    if state["workflow_status"] == "completed":
        return "snakemake" if state["failed_steps"] or cut_short(state["run"]) else None  # the report, say
    if any(stage["verdict"] and stage["verdict"]["verdict"] == "fail" for stage in state["stages"]):
        return "sophron amend"
    return "snakemake"


def cut_short(run: Record | None) -> bool:
    """Return whether the last run did not come to its end: it was killed, or left jobs undone."""
    return run is not None and (run["ended_at"] is None or run["done"] < run["total"])


def find_stage(state: Record, name: str | None) -> Record | None:
    """Return the stage called `name`, if the campaign has it."""
    return next((stage for stage in state["stages"] if stage["id"] == name), None)


def holder_of(state: Record, event: Record) -> Record:
    """Return the stage that a step belongs to, or the campaign itself for gate, report and the like."""
    return find_stage(state, event["stage"]) or state
