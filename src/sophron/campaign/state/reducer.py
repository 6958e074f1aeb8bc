"""What one event does to the state of a campaign, and the sentences that it leaves in progress.log.

Everything here is a function of the events alone: no clock, no files, no processes. So the state can be made again from
the first event, and a line that a kill kept out of the log is written the same way later.
"""

from bisect import bisect_left
from collections.abc import Callable

from sophron.campaign.state import host_jobs
from sophron.campaign.state.campaign_state import (
    Record,
    find_stage,
    fresh_stage,
    holder_of,
    next_command,
    own,
    plain,
    stage_status,
    unit_of,
    waiting_gate,
    workflow_status,
)

BRIEF = {"gate", "verify", "accept", "report"}
"""What runs at once beside Snakemake and does not say when it begins: none of these waits in a queue."""


def apply(state: Record, event: Record) -> list[str]:
    """Bring `state` up to date with one event; the lines for progress.log, without their ends."""
    before = {stage["id"]: stage["status"] for stage in state["stages"]}
    sentences = _HANDLERS[event["event"]](state, event)
    for stage in state["stages"]:
        stage["status"] = stage_status(stage)
        if stage["status"] == "pending" and host_jobs.is_begun(state, stage["id"]):
            stage["status"] = "in_progress"
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
    host_jobs.plan(state, event.get("host_rules", {}))
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


def _suspicious_text(state: Record, event: Record) -> list[str]:
    found = {"step": event["step"], "where": plain(event["where"]), "text": plain(event["reason"])}
    known = state.setdefault("suspicious_text", [])
    if found in known:  # a replay repeats its answers
        return []
    known.append(found)
    return [suspicious_sentence(found)]


def suspicious_sentence(found: Record) -> str:
    """Return one line about text that tried to instruct an agent."""
    return f'{found["step"]}: text in {found["where"]} tries to instruct an agent: "{found["text"]}"'


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


# Snakemake's view of its jobs. A failure is told once: by the step that could still speak, otherwise by Snakemake,
# which saw its job die.


def _run_started(state: Record, event: Record) -> list[str]:
    run = state["run"]
    told = run is not None and all(run[key] == event[key] for key in ("pid", "pid_start", "host"))
    if told:
        return []
    keys = ("pid", "pid_start", "host", "snakemake_version")
    state["run"] = {key: event[key] for key in keys} | {"started_at": event["time"], "ended_at": None}
    state["run"] |= {"done": 0, "total": 0, "widest": 0}
    state["failed_steps"].pop("gate", None)  # once somebody has signed, it never runs again
    # What a dead driver had queued, no one will start.
    state |= {"queued": {}, "asked": {}, "last_refusal": None, "last_error": None}
    host_jobs.begin(state)
    return [f"snakemake {event['snakemake_version']} started (pid {event['pid']} on {event['host']})"]


def _run_ended(state: Record, event: Record) -> list[str]:
    run = state["run"]
    if run is None or (run["pid"], run["host"]) != (event["pid"], event["host"]) or run["ended_at"]:
        return []
    host_jobs.begin(state)
    run |= {"ended_at": event["time"], "done": event["done"], "total": event["total"]}
    state["queued"] = {}
    for holder in (state, *state["stages"]):
        # Snakemake has given up on what it did not start again.
        holder["failed_steps"] |= holder["errored_steps"]
        holder["errored_steps"] = {}
    return [f"snakemake ended (pid {run['pid']}): {run['done']} of {run['total']} jobs done"]


def _run_progress(state: Record, event: Record) -> list[str]:
    if state["run"]:
        state["run"] |= {"done": event["done"], "total": event["total"]}
    return []


def _run_error(state: Record, event: Record) -> list[str]:
    refusal, state["last_error"] = state["last_refusal"], plain(event["reason"])
    if refusal and refusal["reason"] in state["last_error"]:
        return []
    return [f"snakemake stopped: {event['reason']}"]


def _step_queued(state: Record, event: Record) -> list[str]:
    if event["step"].partition("-")[0] not in BRIEF:
        state["queued"][event["step"]] = event["jobid"]
    return []


def _job_finished(state: Record, event: Record) -> list[str]:
    state["queued"].pop(event["step"], None)
    holder = holder_of(state, event)
    if holder is state or not own(holder, event["step"]):  # a failed outcome of a compute step is one still
        holder["failed_steps"].pop(event["step"], None)
        holder["errored_steps"].pop(event["step"], None)
    # A step that was killed between its outcome and its last word, or whose finished scratch was used again,
    # says nothing itself; Snakemake found its outputs in place.
    was = _forget(holder, event["step"])
    return [f"{event['step']} done"] if _keep(state, holder, event) or was else []


def _job_error(state: Record, event: Record) -> list[str]:
    step, holder = event["step"], holder_of(state, event)
    state["queued"].pop(step, None)
    state["asked"].pop(step, None)
    if _told(state, holder, step):
        return []
    how = "died without a word" if _forget(holder, step) else "failed"
    end = event["exit"] or "its end is unknown"
    reason = f"{step} {how}: {end} (job {event['jobid']} of rule {event['rule']})"
    holder["errored_steps"][step] = reason
    holder["last_error"] = reason
    return [reason]


def _told(state: Record, holder: Record, step: str) -> bool:
    """Whether the failure of a job was told by the step itself, by its refusal, or by the verdict behind it."""
    refusal, verdict = state["last_refusal"], holder.get("verdict")
    return (
        step in holder["errored_steps"]
        or step in holder["failed_steps"]
        or (refusal is not None and refusal["step"] == step)
        or (verdict is not None and verdict["verdict"] == "fail" and step == f"accept-{holder['id']}")
    )


# The steps' own view

MOST_TIMED = 15  # steps of a unit that its median is made of
_PROCESS = ("step", "pid", "pid_start", "host", "log", "try", "marker")


def _forget(holder: Record, step: str) -> bool:
    """Take `step` off the running ones; whether it was among them."""
    left = [entry for entry in holder["running_process"] if entry["step"] != step]
    was = len(left) < len(holder["running_process"])
    holder["running_process"] = left
    return was


def _output(event: Record) -> str:
    """Folder of a finished step, relative to the campaign."""
    return "/".join(["results", event["stage"], *event["wildcards"].values()])


def _find(stage: Record, event: Record) -> tuple[int, bool]:
    """Where the step's output stands or belongs among the sorted outputs of `stage`; whether it is there."""
    outputs, wanted = stage["outputs"], _output(event)
    place = bisect_left(outputs, wanted)
    return place, place < len(outputs) and outputs[place] == wanted


def _keep(state: Record, holder: Record, event: Record) -> bool:
    """Count a finished step among its stage's outputs; whether it was not there yet."""
    if holder is state or not own(holder, event["step"]):
        return False
    place, there = _find(holder, event)
    if there:
        return False
    holder["outputs"].insert(place, _output(event))
    holder["errored_steps"].pop(event["step"], None)
    return True


def _step_started(state: Record, event: Record) -> list[str]:
    step, holder = event["step"], holder_of(state, event)
    state["queued"].pop(step, None)
    if state["last_refusal"] and state["last_refusal"]["step"] == step:
        state["last_refusal"] = None
    killed = _forget(holder, step)
    again = killed or step in holder["errored_steps"] or step in holder["failed_steps"]
    holder["errored_steps"].pop(step, None)
    holder["failed_steps"].pop(step, None)
    process = {key: event[key] for key in _PROCESS if key in event} | {"started_at": event["time"]}
    holder["running_process"].append(process)
    if state["run"]:
        running = sum(len(one["running_process"]) for one in (state, *state["stages"]))
        state["run"]["widest"] = max(state["run"]["widest"], running)
    if holder is not state:
        if own(holder, step):
            place, there = _find(holder, event)
            if there:
                del holder["outputs"][place]
            holder["started_at"] = holder["started_at"] or event["time"]
        holder["retry_count"] += int(again)
    how = "was cut off and started again" if killed else "started again" if again else "started"
    return [f"{step} {how} (try {event['try']}, pid {event['pid']} on {event['host']})"]


def _time(state: Record, event: Record) -> None:
    """Remember how long the last steps of a unit took: what the next ones will take."""
    if "wall_s" in event:
        unit = unit_of(event["step"], event["wildcards"])
        state["durations"][unit] = [*state["durations"].get(unit, []), event["wall_s"]][-MOST_TIMED:]


def _step_ended(state: Record, event: Record) -> list[str]:
    step, holder = event["step"], holder_of(state, event)
    status, reason = event["status"], plain(event.get("reason") or "no reason given")
    _forget(holder, step)
    state["queued"].pop(step, None)
    if status == "done":
        _keep(state, holder, event)
        _time(state, event)
        return [f"{step} done"]
    if status == "killed" and step in holder["errored_steps"]:
        return []
    # A failed outcome stays; what a retry may cure is Snakemake's to give up on.
    holder["failed_steps" if status == "failed" else "errored_steps"][step] = reason
    remedy = "; repair the machine, then: snakemake" if status == "environment" else ""
    holder["last_error"] = f"{step}: {reason}{remedy}"
    words = {
        "failed": "failed",
        "retry": "asks for a retry",
        "short": "had too little",
        "environment": "misses something of the machine",
        "killed": "was killed",
    }
    return [f"{step} {words[status]}: {reason}"]


def _cleared(state: Record, event: Record) -> list[str]:
    step, holder = event["step"], holder_of(state, event)
    for known in (holder["failed_steps"], holder["errored_steps"]):
        known.pop(step, None)
    if holder is not state:
        place, there = _find(holder, event)
        if there:
            del holder["outputs"][place]
        holder |= {"verdict": None, "accepted": False, "completed_at": None, "last_error": None}
    return [f"{step}: its failed outcome was cleared, to be tried again (kept in {event['kept']})"]


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
    "suspicious_text": _suspicious_text,
    "run_started": _run_started,
    "run_ended": _run_ended,
    "run_progress": _run_progress,
    "run_error": _run_error,
    "step_queued": _step_queued,
    "job_finished": _job_finished,
    "job_error": _job_error,
    "host_planned": host_jobs.planned,
    "host_job_started": host_jobs.started,
    "host_job_finished": host_jobs.finished,
    "host_job_failed": host_jobs.failed,
    "step_started": _step_started,
    "step_ended": _step_ended,
    "cleared": _cleared,
}
