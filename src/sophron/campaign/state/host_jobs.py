"""The jobs of a host workflow in the state of a campaign, by rule: done, running, failed; what one event does to them.

`state["host"]` maps a rule to `{stage, planned, done, running, failed}`: how many jobs the signed plan lists (none of
a rule behind a checkpoint), names of finished ones, sorted; of running ones since when; of failed ones why.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping

from sophron.campaign.state.campaign_state import Record


def plan(state: Record, counts: Mapping[str, int]) -> None:
    """Take the rules of a newly signed plan: how many jobs each has. What is known of those that stay is kept."""
    stages = {rule: one["id"] for one in state["stages"] for rule in one["parameters"].get("rules", ())}
    known = state.get("host", {})
    if not (known or counts):
        return
    rules = {**dict.fromkeys(rule for rule in known if rule in stages), **counts}
    state["host"] = {
        rule: {**(known.get(rule) or _fresh()), "planned": count or 0, "stage": stages.get(rule)}
        for rule, count in rules.items()
    }


def _fresh() -> Record:
    return {"stage": None, "planned": 0, "done": [], "running": {}, "failed": {}}


def _rule(state: Record, event: Record) -> Record:
    found: Record = state.setdefault("host", {}).setdefault(event["rule"], _fresh())
    return found


def _stage(state: Record, rule: Record) -> Record:
    """The stage that a rule belongs to, or the campaign itself."""
    return next((stage for stage in state["stages"] if stage["id"] == rule["stage"]), state)


def begin(state: Record) -> None:
    """Forget what a driver that is gone had running."""
    for rule in state.get("host", {}).values():
        rule["running"] = {}


def planned(state: Record, event: Record) -> list[str]:
    """Take what the graph of a run says: jobs that stand finished, and finished ones that run again."""
    for name, steps in event["finished"].items():
        rule = _rule(state, {"rule": name})
        for step in steps:
            _keep(rule["done"], step)
    for name, steps in event["again"].items():
        _drop(_rule(state, {"rule": name})["done"], steps)
    again = sum(map(len, event["again"].values()))
    return [f"{again} finished jobs of the workflow run again"] if again else []


def started(state: Record, event: Record) -> list[str]:
    """Count a job as running."""
    rule = _rule(state, event)
    rule["running"][event["step"]] = event["time"]
    _drop(rule["done"], [event["step"]])
    _settle(state, rule, event["step"])
    stage = _stage(state, rule)
    if stage is not state:
        stage["started_at"] = stage["started_at"] or event["time"]
    return []


def finished(state: Record, event: Record) -> list[str]:
    """Count a job as done."""
    rule = _rule(state, event)
    rule["running"].pop(event["step"], None)
    _keep(rule["done"], event["step"])
    if state["run"] and "total" in event:
        state["run"] |= {"done": event["done"], "total": event["total"]}
    _settle(state, rule, event["step"])
    return [f"{event['step']} done"]


def failed(state: Record, event: Record) -> list[str]:
    """Count a job as failed, until it begins again."""
    rule, step = _rule(state, event), event["step"]
    rule["running"].pop(step, None)
    log = f"; its log: {event['log']}" if event["log"] else ""
    reason = f"{step} failed: {event['exit'] or 'its end is unknown'} (rule {event['rule']} of the workflow){log}"
    holder = _stage(state, rule)
    rule["failed"][step] = holder["errored_steps"][step] = holder["last_error"] = reason
    return [reason]


def _settle(state: Record, rule: Record, step: str) -> None:
    """Forget that a job failed before."""
    reason, holder = rule["failed"].pop(step, None), _stage(state, rule)
    for known in (holder["failed_steps"], holder["errored_steps"]):
        known.pop(step, None)
    if reason is not None and holder["last_error"] == reason:
        holder["last_error"] = next(iter(rule["failed"].values()), None)


def is_begun(state: Record, stage: str) -> bool:
    """Return whether a job of a stage's rules runs or is done."""
    return any(one["running"] or one["done"] for one in state.get("host", {}).values() if one["stage"] == stage)


def _keep(names: list[str], name: str) -> None:
    place = bisect_left(names, name)
    if names[place : place + 1] != [name]:
        names.insert(place, name)


def _drop(names: list[str], dropped: Iterable[str]) -> None:
    gone = set(dropped)
    if gone.intersection(names):
        names[:] = [name for name in names if name not in gone]
