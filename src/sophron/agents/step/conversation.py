"""The conversation of an agent step: tools until it answers, schema and guardrails, one repair turn, a typed failure.

Guardrails are what an answer must keep to beyond its schema: an agent explains, chooses and drafts, and decides nothing
else.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sophron.agents.documents.answers import (
    REMOVED,
    AgentError,
    AmendAnswer,
    DebugAnswer,
    RestartAnswer,
    RestartFile,
    ResumeAnswer,
    VerifyAnswer,
    parsed,
)
from sophron.agents.documents.redact import half_characters
from sophron.interfaces import JsonObject
from sophron.interfaces.model_backend import Message, Part, Request, Response, Text, Tool, ToolAnswer, ToolCall
from sophron.records import documents
from sophron.records.errors import UserError
from sophron.records.sanitize import one_line
from sophron.records.typed_json import from_json


class Tools(Protocol):
    """What carries out tool calls."""

    @property
    def tools(self) -> list[Tool]:
        """The tools as a model sees them."""
        ...

    def call(self, call: ToolCall) -> ToolAnswer:
        """Do it; a model's mistake is an answer with `is_error`."""
        ...


class Answered(NamedTuple):
    """A validated answer, and who gave it in how many calls."""

    answer: JsonObject
    backend: str
    model: str
    calls: int


def converse(
    request: Request,
    ask: Callable[[Request], Response],
    faults: Callable[[Any], list[str]],
    *,
    tools: Tools | None = None,
    most_calls: int = 1,
) -> Answered:
    """Ask until there is a valid answer.

    faults: sentences against a parsed answer, none if it is valid. most_calls: tool turns and the repair turn
    included. Raises AgentError (kinds refusal, too_long, tool, invalid_answer, and those of `ask`).
    """
    repaired = False
    while True:
        response = ask(request)
        _check_stop(response)
        if response.tool_calls:
            if request.turn >= most_calls:
                raise AgentError("tool", f"{request.agent} wanted tools beyond its limit of {most_calls} calls")
            request = _next_request(request, response, tuple(_call_tool(tools, call) for call in response.tool_calls))
            continue
        answer, against = parsed(response.text)
        against = against or faults(answer)
        if not against:
            return Answered(answer, response.backend, response.model, request.turn)
        if repaired or request.turn >= most_calls:
            raise AgentError("invalid_answer", f"{request.agent} gave no valid answer: {'; '.join(against)[:600]}")
        repaired = True
        request = _next_request(request, response, (Text(_repair(against)),))


def _check_stop(response: Response) -> None:
    if response.stop == "refusal":
        raise AgentError("refusal", f"the model refused: {response.text[:300] or 'it gave no reason'}")
    if response.stop == "length":
        raise AgentError("too_long", "the answer was cut at its token limit; raise limits.max_tokens of the agent")


def _call_tool(tools: Tools | None, call: ToolCall) -> ToolAnswer:
    if tools is None:
        return ToolAnswer(call.id, (Text("this agent has no tools; answer without"),), is_error=True)
    if halves := half_characters(call.arguments):
        return ToolAnswer(call.id, (Text(f"the arguments were not used: {halves[0]}"),), is_error=True)
    return tools.call(call)


def _next_request(request: Request, response: Response, parts: tuple[Part, ...]) -> Request:
    reply = Message("assistant", response.parts or (Text("(nothing)"),))
    return replace(request, turn=request.turn + 1, messages=(*request.messages, reply, Message("user", parts)))


REFUSED = "That answer is not valid:"
"""How a message begins that sends an answer back."""


def _repair(faults: list[str]) -> str:
    listed = "\n".join(f"- {fault}" for fault in faults[:20])
    return f"{REFUSED}\n{listed}\nGive the whole answer again as one JSON object, corrected."


LONGEST_SUMMARY = 300
LONGEST_QUOTE = 120
FILLED_IN = {"campaign": "draft", "version": 1}
"""Of a drafted spec, if the agent leaves it to the program."""
_HEADLINES = ("summary", "diagnosis", "explanation", "rationale", "reason", "text", "command", "status")


def guardrail_faults(agent: str, inputs: JsonObject, answer: JsonObject) -> list[str]:
    """Return sentences against a schema-valid answer of `agent`; empty where it may stand."""
    guard = _GUARDS.get(agent)
    return guard(inputs, answer) if guard else []


def summary(answer: JsonObject) -> str:
    """Return one line that says what an answer says, for progress.log."""
    text = next((str(answer[key]) for key in _HEADLINES if answer.get(key)), "an answer")
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_SUMMARY else line[: LONGEST_SUMMARY - 1] + "…"


def _explain(inputs: JsonObject, answer: JsonObject) -> list[str]:
    explained, judged = from_json(VerifyAnswer, answer), inputs.get("judged") or inputs["verdict"]
    copied = {
        "stage": (explained.stage, "copy it"),
        "verdict": (explained.verdict, "copy it, and let `next` follow from it"),
    }
    return [
        f"{key} is {value}, the verdict says {judged[key]}; {remedy}"
        for key, (value, remedy) in copied.items()
        if value != judged[key]
    ]


def _plan(inputs: JsonObject, answer: JsonObject) -> list[str]:
    listed, stages = sorted(stage["id"] for stage in answer["stages"]), sorted(inputs["spec"]["stages"])
    return [] if listed == stages else [f"stages has {', '.join(listed)}; list each of {', '.join(stages)} once"]


def _debug(inputs: JsonObject, answer: JsonObject) -> list[str]:
    debug, choices = from_json(DebugAnswer, answer), inputs["spec_stage"]["mechanical"].get("choices", {})
    against = []
    if (debug.action == "overlay") != (debug.overlay is not None):
        against.append("an overlay is given with the action overlay, and only with it")
    if debug.overlay is not None and debug.overlay.value not in choices.get(debug.overlay.key, []):
        signed = f"the signed choices, which are {choices}; take one that is not in force, or escalate"
        against.append(f"{debug.overlay.key} = {debug.overlay.value} is not among {signed}")
    if debug.kind == "definitional" and debug.action != "escalate":
        against.append("a definitional fault is escalated; it changes nothing mechanical")
    return against + list(_invented_evidence(inputs, debug))


def _invented_evidence(inputs: JsonObject, debug: DebugAnswer) -> Iterator[str]:
    """Yield a sentence for each quotation that stands in no input; a definition of before asks for none so exact."""
    said = one_line("\n".join(_texts(inputs))) if "failed" in inputs else None
    for line in debug.evidence:
        if said is not None and one_line(line).removesuffix("…") not in said:
            told = one_line(line, LONGEST_QUOTE)
            yield f'the evidence "{told}" stands in none of the inputs; quote a line as it is, or leave it out'


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    for inner in data.values() if isinstance(data, Mapping) else data if isinstance(data, list | tuple) else ():
        yield from _texts(inner)


def _amend(inputs: JsonObject, answer: JsonObject) -> list[str]:
    """Hold config values against the config files of the host workflow."""
    from sophron.campaign.planning import host_config

    known = inputs.get("workflow", {}).get("config", {})
    changes = [one for one in from_json(AmendAnswer, answer).changes if one.path.startswith(host_config.PREFIX)]
    against = [
        f"{one.path}: a config value is not removed; give its new value" for one in changes if one.value is REMOVED
    ]
    for one in (one for one in changes if one.value is not REMOVED):
        try:
            host_config.by_file(known, {one.path.removeprefix(host_config.PREFIX): one.value})
        except UserError as error:
            against.append(str(error))
    return against


def _resume(inputs: JsonObject, answer: JsonObject) -> list[str]:
    state, resumed = inputs.get("standing") or inputs["state"], from_json(ResumeAnswer, answer)
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

    document = documents.Document({**FILLED_IN, **answer["draft"]}, Path("draft"))
    return documents.faults(document, "campaign") or [
        one.sentence for one in scope_exclusions.excluded(answer["draft"])
    ]


def _task_worker(_: JsonObject, answer: JsonObject) -> list[str]:
    if answer["status"] == "impossible" and not answer["reason"].strip():
        return ["reason is empty; say why the task cannot be done"]
    return []


def _task_reviewer(inputs: JsonObject, answer: JsonObject) -> list[str]:
    wanted = [one["sentence"] for one in inputs["sentences"]]
    given = [one["sentence"] for one in answer["judgements"]]
    return [] if sorted(given) == wanted else [f"judgements has the sentences {given}; judge each of {wanted} once"]


def _skill_maker(inputs: JsonObject, answer: JsonObject) -> list[str]:
    """Hold a drafted skill against the format, and what it rests on against the record."""
    from sophron.campaign.skills import skill_draft
    from sophron.campaign.skills.skill_draft import SkillDraft

    if answer["status"] != "made":
        return []
    tried = {one["attempt"] for one in inputs["attempts"]}
    calls = {(one["attempt"], one["call"]) for one in inputs["calls"]}
    against = [
        f'evidence: "{one_line(one["says"], LONGEST_QUOTE)}" rests on attempt {one["attempt"]}, call {one["call"]}, '
        "which the record does not have"
        for one in answer["evidence"]
        if one["attempt"] not in tried or (one["call"] is not None and (one["attempt"], one["call"]) not in calls)
    ]
    if answer["name"] in {one["name"] for one in inputs["known"]}:
        against.append(f"name: there is a skill {answer['name']}; take another name, or `nothing` if it says the same")
    return [*against, *skill_draft.faults(from_json(SkillDraft, answer))]


_COMMAND = re.compile(r"\bsophron((?: [a-z][a-z-]*){1,2})|(?<![\w-])(--[a-z][a-z-]+)")


def _ask(inputs: JsonObject, answer: JsonObject) -> list[str]:
    """Hold each quotation against its page, and verbs and options against the passages."""
    pages: dict[str, str] = {}
    for one in inputs["passages"]:
        pages[one["page"]] = f"{pages.get(one['page'], '')} {one_line(one['text'])}"
    against = [
        f'the quote "{one_line(cited["quote"], LONGEST_QUOTE)}" does not stand in the passages of {cited["page"]}; '
        "copy its words exactly"
        for cited in answer["citations"]
        if one_line(cited["quote"]) not in pages.get(cited["page"], "")
    ]
    read = " ".join([*pages.values(), one_line(inputs["question"])])
    words = {" ".join(match.group().split()) for match in _COMMAND.finditer(answer["text"])}
    return against + [
        f"`{word}` stands in no passage; give commands and options as they stand there, or say that none is named"
        for word in sorted(words)
        if not _is_read(word, read)
    ]


def _is_read(word: str, read: str) -> bool:
    """Return whether a command or option was read; of `sophron VERB WORD` the second word may be a name."""
    verb = " ".join(word.split()[:2])
    return bool(re.search(rf"(?<![\w-]){re.escape(verb)}(?![\w-])", read))


def _evolve(inputs: JsonObject, answer: JsonObject) -> list[str]:
    from sophron.agents.step import definition_edits

    return definition_edits.faults(inputs, answer)


_GUARDS: dict[str, Callable[[JsonObject, JsonObject], list[str]]] = {
    "ask": _ask,
    "evolve": _evolve,
    "explain": _explain,
    "amend": _amend,
    "debug": _debug,
    "design": _design,
    "plan": _plan,
    "resume": _resume,
    "skill-maker": _skill_maker,
    "checkpoint-management": _restart_files,
    "task-reviewer": _task_reviewer,
    "task-worker": _task_worker,
}
