"""One agent step as a conversation: tools until it answers, validation, one repair turn, then a typed failure."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from sophron.agents.documents.errors import AgentError
from sophron.agents.documents.redact import half_characters
from sophron.interfaces import JsonObject
from sophron.interfaces.model_backend import Message, Part, Request, Response, Text, Tool, ToolAnswer, ToolCall

LONGEST_ANSWER = 400_000
FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n```\s*\Z", flags=re.DOTALL)


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

    faults: sentences against a parsed answer, none where it is valid. most_calls: tool turns and the repair turn
    included. Raises AgentError (kinds refusal, too_long, tool, invalid_answer, and those of `ask`).
    """
    repaired = False
    while True:
        response = ask(request)
        _check_stop(response)
        if response.tool_calls:
            if request.turn >= most_calls:
                raise AgentError("tool", f"{request.agent} wanted tools beyond its limit of {most_calls} calls")
            request = _further(request, response, tuple(_called(tools, call) for call in response.tool_calls))
            continue
        answer, found = parsed(response.text)
        found = found or faults(answer)
        if not found:
            return Answered(answer, response.backend, response.model, request.turn)
        if repaired or request.turn >= most_calls:
            raise AgentError("invalid_answer", f"{request.agent} gave no valid answer: {'; '.join(found)[:600]}")
        repaired = True
        request = _further(request, response, (Text(_repair(found)),))


def _check_stop(response: Response) -> None:
    if response.stop == "refusal":
        raise AgentError("refusal", f"the model refused: {response.text[:300] or 'it gave no reason'}")
    if response.stop == "length":
        raise AgentError("too_long", "the answer was cut at its token limit; raise limits.max_tokens of the agent")


def _called(tools: Tools | None, call: ToolCall) -> ToolAnswer:
    if tools is None:
        return ToolAnswer(call.id, (Text("this agent has no tools; answer without"),), is_error=True)
    if halves := half_characters(call.arguments):
        return ToolAnswer(call.id, (Text(f"the arguments were not used: {halves[0]}"),), is_error=True)
    return tools.call(call)


def _further(request: Request, response: Response, parts: tuple[Part, ...]) -> Request:
    said = Message("assistant", response.parts or (Text("(nothing)"),))
    return replace(request, turn=request.turn + 1, messages=(*request.messages, said, Message("user", parts)))


def _repair(found: list[str]) -> str:
    listed = "\n".join(f"- {fault}" for fault in found[:20])
    return f"That answer is not valid:\n{listed}\nGive the whole answer again as one JSON object, corrected."


def parsed(text: str) -> tuple[Any, list[str]]:
    """The JSON object in an answer, and what speaks against it. A code fence around it is taken off."""
    if len(text) > LONGEST_ANSWER:
        return None, [f"it is longer than {LONGEST_ANSWER} characters"]
    fenced = FENCE.match(text)
    try:
        answer = json.loads(fenced[1] if fenced else text, parse_constant=_no_constant, object_pairs_hook=_no_repeats)
    except (ValueError, RecursionError) as error:
        return None, [f"it is not valid JSON ({error})"]
    return answer, half_characters(answer) if isinstance(answer, dict) else ["it is not a JSON object"]


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _no_repeats(pairs: list[tuple[str, Any]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found
