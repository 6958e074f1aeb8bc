"""What runs and steps do to the campaign's state: Snakemake's view of its jobs, and the steps' own view.

A failure is told once: by the step that could still speak, otherwise by Snakemake, which saw its job die.
"""

from bisect import bisect_left
from collections.abc import Callable

from sophron.campaign.state.model import Record, holder_of, own, unit_of
from sophron.campaign.state.progress_log import plain

BRIEF = {"gate", "verify", "accept", "report"}
"""What runs at once beside Snakemake and does not say when it begins: none of these waits in a queue."""

# Snakemake's view


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
    return [f"snakemake {event['snakemake_version']} started (pid {event['pid']} on {event['host']})"]


def _run_ended(state: Record, event: Record) -> list[str]:
    run = state["run"]
    if run is None or (run["pid"], run["host"]) != (event["pid"], event["host"]) or run["ended_at"]:
        return []
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


STEP_HANDLERS: dict[str, Callable[[Record, Record], list[str]]] = {
    "run_started": _run_started,
    "run_ended": _run_ended,
    "run_progress": _run_progress,
    "run_error": _run_error,
    "step_queued": _step_queued,
    "job_finished": _job_finished,
    "job_error": _job_error,
    "step_started": _step_started,
    "step_ended": _step_ended,
    "cleared": _cleared,
}
