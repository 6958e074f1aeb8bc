"""What an answer must keep to beyond its schema: an agent explains, chooses and drafts, and decides nothing else."""

from collections.abc import Callable
from pathlib import Path

from sophron.agents.documents.answers import DebugAnswer, RestartAnswer, RestartFile, ResumeAnswer, VerifyAnswer
from sophron.interfaces import JsonObject
from sophron.records import documents
from sophron.records.typed_json import from_json

LONGEST_SUMMARY = 300
_HEADLINES = ("summary", "diagnosis", "explanation", "rationale", "reason", "text", "command", "status")


def faults(agent: str, inputs: JsonObject, answer: JsonObject) -> list[str]:
    """Sentences against a schema-valid answer of `agent`; empty where it may stand."""
    guard = _GUARDS.get(agent)
    return guard(inputs, answer) if guard else []


def summary(answer: JsonObject) -> str:
    """One line that says what an answer says, for progress.log."""
    text = next((str(answer[key]) for key in _HEADLINES if answer.get(key)), "an answer")
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_SUMMARY else line[: LONGEST_SUMMARY - 1] + "…"


def _explain(inputs: JsonObject, answer: JsonObject) -> list[str]:
    explained = from_json(VerifyAnswer, answer)
    given = {"stage": explained.stage, "verdict": explained.verdict}
    return [
        f"{key} is {value}, the verdict says {inputs['verdict'][key]}; copy it"
        for key, value in given.items()
        if value != inputs["verdict"][key]
    ]


def _debug(inputs: JsonObject, answer: JsonObject) -> list[str]:
    debug, choices = from_json(DebugAnswer, answer), inputs["spec_stage"]["mechanical"].get("choices", {})
    against = []
    if (debug.action == "overlay") != (debug.overlay is not None):
        against.append("an overlay is given with the action overlay, and only with it")
    if debug.overlay is not None and debug.overlay.value not in choices.get(debug.overlay.key, []):
        against.append(f"{debug.overlay.key} = {debug.overlay.value} is not among the signed choices {choices}")
    if debug.kind == "definitional" and debug.action != "escalate":
        against.append("a definitional fault is escalated; it changes nothing mechanical")
    return against


def _resume(inputs: JsonObject, answer: JsonObject) -> list[str]:
    state, resumed = inputs["state"], from_json(ResumeAnswer, answer)
    status = {stage["id"]: stage["status"] for stage in state["stages"]}
    against = []
    for key, stages, wanted in (("ran", resumed.ran, "completed"), ("running", resumed.running, "in_progress")):
        true = {stage for stage, known in status.items() if known == wanted}
        if set(stages) != true:
            against.append(f"{key} must be {sorted(true)}, as the state has it")
    known = {entry["step"] for holder in (state, *state["stages"]) for entry in holder["running_process"]}
    against += [f"{named.step} is no running process" for named in resumed.processes if named.step not in known]
    return against + [
        f"{stage} is next but is not open" for stage in resumed.next if status.get(stage) in (None, "completed")
    ]


def _restart_files(inputs: JsonObject, answer: JsonObject) -> list[str]:
    valid = {RestartFile(entry["step"], entry["file"]): entry["valid"] for entry in inputs["restarts"]}
    sorted_out = from_json(RestartAnswer, answer)
    kept, pruned = sorted_out.kept, sorted_out.pruned
    against = [f"{one.step}/{one.file} is none of the restart files" for one in kept + pruned if one not in valid]
    against += [f"{one.step}/{one.file} is both kept and pruned" for one in kept if one in pruned]
    for step, choice in sorted_out.chosen.items():
        file = RestartFile(step, choice.file)
        if not valid.get(file) or file not in kept:
            against.append(f"{choice.file} is chosen for {step} but is not a whole restart file of it that stays")
    return against


def _design(_: JsonObject, answer: JsonObject) -> list[str]:
    if answer["draft"] is None:
        return []
    from sophron.campaign.spec import scope_exclusions

    document = documents.Document(answer["draft"], Path("draft"))
    return documents.faults(document, "campaign") or [
        one.sentence for one in scope_exclusions.excluded(answer["draft"])
    ]


_GUARDS: dict[str, Callable[[JsonObject, JsonObject], list[str]]] = {
    "explain": _explain,
    "debug": _debug,
    "design": _design,
    "resume": _resume,
    "checkpoint-management": _restart_files,
}
