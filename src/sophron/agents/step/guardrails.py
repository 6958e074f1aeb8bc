"""What an answer must keep to beyond its schema: an agent explains, chooses and drafts, and decides nothing else."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sophron.records import documents

LONGEST_SUMMARY = 300
_HEADLINES = ("summary", "diagnosis", "explanation", "rationale", "reason", "text", "command", "status")


def faults(agent: str, inputs: Mapping[str, Any], answer: Mapping[str, Any]) -> list[str]:
    """Sentences against a schema-valid answer of `agent`; empty where it may stand."""
    guard = _GUARDS.get(agent)
    return guard(inputs, answer) if guard else []


def summary(answer: Mapping[str, Any]) -> str:
    """One line that says what an answer says, for progress.log."""
    text = next((str(answer[key]) for key in _HEADLINES if answer.get(key)), "an answer")
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_SUMMARY else line[: LONGEST_SUMMARY - 1] + "…"


def _verify(inputs: Mapping[str, Any], answer: Mapping[str, Any]) -> list[str]:
    wanted = {key: inputs["verdict"][key] for key in ("stage", "verdict")}
    return [
        f"{key} is {answer[key]}, the verdict says {value}; copy it"
        for key, value in wanted.items()
        if answer[key] != value
    ]


def _debug(inputs: Mapping[str, Any], answer: Mapping[str, Any]) -> list[str]:
    overlay, choices = answer.get("overlay"), inputs["spec_stage"]["mechanical"].get("choices", {})
    found = []
    if (answer["action"] == "overlay") != (overlay is not None):
        found.append("an overlay is given with the action overlay, and only with it")
    if overlay is not None and overlay["value"] not in choices.get(overlay["key"], []):
        found.append(f"{overlay['key']} = {overlay['value']} is not among the signed choices {choices}")
    if answer["class"] == "definitional" and answer["action"] != "escalate":
        found.append("a definitional fault is escalated; it changes nothing mechanical")
    return found


def _resume(inputs: Mapping[str, Any], answer: Mapping[str, Any]) -> list[str]:
    state = inputs["state"]
    status = {stage["id"]: stage["status"] for stage in state["stages"]}
    found = []
    for key, wanted in (("ran", "completed"), ("running", "in_progress")):
        true = {stage for stage, one in status.items() if one == wanted}
        if set(answer[key]) != true:
            found.append(f"{key} must be {sorted(true)}, as the state has it")
    known = {entry["step"] for holder in (state, *state["stages"]) for entry in holder["running_process"]}
    found += [f"{one['step']} is no running process" for one in answer["processes"] if one["step"] not in known]
    return found + [
        f"{one} is next but is not open" for one in answer["next"] if status.get(one) in (None, "completed")
    ]


def _restart_files(inputs: Mapping[str, Any], answer: Mapping[str, Any]) -> list[str]:
    known = {(one["step"], one["file"]): one["valid"] for one in inputs["restarts"]}
    kept, pruned = ([(one["step"], one["file"]) for one in answer[key]] for key in ("kept", "pruned"))
    found = [f"{step}/{file} is none of the restart files" for step, file in kept + pruned if (step, file) not in known]
    found += [f"{step}/{file} is both kept and pruned" for step, file in kept if (step, file) in pruned]
    for step, one in answer["chosen"].items():
        if not known.get((step, one["file"])) or (step, one["file"]) not in kept:
            found.append(f"{one['file']} is chosen for {step} but is not a whole restart file of it that stays")
    return found


def _design(_: Mapping[str, Any], answer: Mapping[str, Any]) -> list[str]:
    if answer["draft"] is None:
        return []
    from sophron.campaign.spec import scope_exclusions

    document = documents.Document(answer["draft"], Path("draft"))
    return documents.faults(document, "campaign") or [
        one.sentence for one in scope_exclusions.excluded(answer["draft"])
    ]


_GUARDS: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], list[str]]] = {
    "verify": _verify,
    "debug": _debug,
    "design": _design,
    "resume": _resume,
    "checkpoint-management": _restart_files,
}
