"""What one event does to the campaign's state, and the sentences it leaves in progress.log.

Everything here is a function of the events alone: no clock, no files, no processes. So the state can be
made again from the first event, and a line that a kill kept out of the log is written the same way later.
"""

from collections.abc import Callable

from sophron.campaign.state.model import (
    Record,
    find_stage,
    fresh_stage,
    next_command,
    stage_status,
    waiting_gate,
    workflow_status,
)
from sophron.campaign.state.progress_log import plain
from sophron.campaign.state.step_reducer import STEP_HANDLERS


def apply(state: Record, event: Record) -> list[str]:
    """Bring `state` up to date with one event; the lines for progress.log, without their ends."""
    before = {stage["id"]: stage["status"] for stage in state["stages"]}
    sentences = _HANDLERS[event["event"]](state, event)
    for stage in state["stages"]:
        stage["status"] = stage_status(stage)
        was = before.get(stage["id"], "pending")
        if stage["status"] != was:
            sentences.append(f"stage {stage['id']}: {was} -> {stage['status']}")
    status = workflow_status(state)
    if status != state["workflow_status"]:
        sentences.append(f"campaign: {state['workflow_status']} -> {status}")
        state["workflow_status"] = status
    state["waiting_gate"] = waiting_gate(state)
    state["next_command"] = next_command(state)
    state["updated_at"] = event["time"]
    stamp = event["time"].replace("T", " ", 1)
    return [f"[{stamp}] {event['actor']}: {plain(sentence)}" for sentence in sentences]


# The spec and its gates


def _spec_loaded(state: Record, event: Record) -> list[str]:
    known = {stage["id"]: stage for stage in state["stages"]}
    stages = []
    for given in event["stages"]:
        stage = known.get(given["id"]) or fresh_stage(given["id"])
        if stage["success_criteria"] != given["success_criteria"]:
            stage |= {"verdict": None, "accepted": False, "completed_at": None}
        stages.append(stage | given)
    for field in ("workflow_id", "version", "experiment_design", "workflow_plan"):
        state[field] = event[field]
    state["stages"] = stages
    state["spec_digest"] = event["digest"]
    approval = state["approval"]
    if approval and approval["digest"] is None and approval["version"] == event["version"]:
        approval["digest"] = event["digest"]
    steps = sum(stage["steps"] for stage in stages)
    return [f"spec of {event['workflow_id']}, version {event['version']}: {len(stages)} stages, {steps} steps"]


def _approved(state: Record, event: Record) -> list[str]:
    approval = state["approval"]
    if approval and (approval["version"], approval["record"]) == (event["version"], event["record"]):
        return []  # a journal that was cut off tells its last step again
    # If a version is signed before its spec was recorded, the next spec of that version is the signed one.
    digest = state["spec_digest"] if state["version"] == event["version"] else None
    state["approval"] = {key: event[key] for key in ("version", "approver", "record")} | {"digest": digest}
    state |= {"draft": None, "last_refusal": None}
    return [f"version {event['version']} approved by {event['approver']} ({event['record']})"]


def _drafted(state: Record, event: Record) -> list[str]:
    state["draft"] = {key: event[key] for key in ("version", "rationale", "invalidated_stages")}
    return [f"amendment to version {event['version']} drafted: {event['rationale']}"]


def _draft_dropped(state: Record, event: Record) -> list[str]:
    state["draft"] = None
    return [f"draft of version {event['version']} dropped"]


_AMENDMENT = ("version", "changes", "rationale", "invalidated_stages", "approved_by", "timestamp")


def _amended(state: Record, event: Record) -> list[str]:
    amendment = {key: event[key] for key in _AMENDMENT}
    if amendment in state["amendments"]:
        return []  # told again by a journal that was cut off
    state["amendments"].append(amendment)
    if state["version"] != event["version"]:
        state["version"] = event["version"]
        state["spec_digest"] = None
    # The amendment is itself signed; `approved`, where it follows, names the record.
    approval = {"version": event["version"], "approver": event["approved_by"], "record": None}
    state |= {"approval": approval | {"digest": state["spec_digest"]}, "draft": None, "last_refusal": None}
    for name in event["invalidated_stages"]:
        _invalidate(find_stage(state, name), event["version"] - 1)
        state["durations"].pop(name, None)  # of the superseded definition
    return [f"amendment to version {event['version']}, approved by {event['approved_by']}: {event['rationale']}"]


def _invalidate(stage: Record | None, version: int) -> None:
    """Empty `stage`; `version` is the superseded one, which names the folder that keeps what there was."""
    if stage is None or stage["invalidated_by"] == version:
        return
    empty = fresh_stage(stage["id"])
    kept = ("id", "depends_on", "success_criteria", "parameters", "steps")
    stage |= empty | {key: stage[key] for key in kept} | {"invalidated_by": version}


def _invalidated(state: Record, event: Record) -> list[str]:
    _invalidate(find_stage(state, event["stage"]), event["version"])
    return []


def _overlay(state: Record, event: Record) -> list[str]:
    state["overlays"].append({key: event[key] for key in ("stage", "key", "value")} | {"time": event["time"]})
    return [f"stage {event['stage']}: mechanical choice {event['key']} = {event['value']}"]


def _refused(state: Record, event: Record) -> list[str]:
    state["last_refusal"] = {"step": event["step"], "reason": plain(event["reason"]), "time": event["time"]}
    return [f"{event['step']} refused: {event['reason']}"]


# Agents. What they say is in progress.log and in their records; it changes no status.


def _agent_asked(state: Record, event: Record) -> list[str]:
    state["queued"].pop(event["step"], None)
    state["asked"][event["step"]] = {"agent": event["agent"], "since": event["time"]}
    return []


def _agent_answered(state: Record, event: Record) -> list[str]:
    state["asked"].pop(event["step"], None)
    who = f"{event['agent']} ({event['backend']}, {event['model']}, {event['calls']} calls)"
    return [f"{event['step']}: {who} answered: {event['summary']}"]


def _agent_failed(state: Record, event: Record) -> list[str]:
    state["asked"].pop(event["step"], None)
    return [f"{event['step']}: {event['agent']} gave no answer ({event['kind']}): {event['reason']}"]


def _reasked(_: Record, event: Record) -> list[str]:
    return [f"{event['step']}: its answer was set aside as number {event['number']}, to be asked again"]


# Judgement


def _verdict(state: Record, event: Record) -> list[str]:
    stage = find_stage(state, event["stage"])
    if stage is None:
        return []
    verdict = {key: event[key] for key in ("verdict", "failed", "numbers") if key in event}
    stage["verdict"] = verdict | {"time": event["time"]}
    if event["verdict"] == "pass":
        return [f"verdict on {event['stage']}: pass"]
    stage |= {"accepted": False, "completed_at": None}
    told = f"verdict on {event['stage']}: fail ({'; '.join(event['failed'])})"
    stage["last_error"] = plain(told)
    return [told]


def _accepted(state: Record, event: Record) -> list[str]:
    stage = find_stage(state, event["stage"])
    if stage is None:
        return []
    stage |= {"accepted": True, "completed_at": event["time"], "last_error": None, "invalidated_by": None}
    stage["failed_steps"], stage["errored_steps"] = {}, {}
    return []


_HANDLERS: dict[str, Callable[[Record, Record], list[str]]] = {
    "spec_loaded": _spec_loaded,
    "approved": _approved,
    "drafted": _drafted,
    "draft_dropped": _draft_dropped,
    "amended": _amended,
    "invalidated": _invalidated,
    "overlay": _overlay,
    "refused": _refused,
    "verdict": _verdict,
    "accepted": _accepted,
    "agent_asked": _agent_asked,
    "agent_answered": _agent_answered,
    "agent_failed": _agent_failed,
    "reasked": _reasked,
    **STEP_HANDLERS,
}
