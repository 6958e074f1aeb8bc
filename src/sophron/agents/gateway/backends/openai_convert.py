"""Requests and answers in the form of OpenAI's chat completions, as many services and local servers speak it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sophron.agents.gateway.backends import structured_output
from sophron.interfaces import JsonObject
from sophron.interfaces.model_backend import (
    Image,
    Message,
    Model,
    Part,
    Request,
    Response,
    Text,
    Tool,
    ToolAnswer,
    ToolCall,
    Usage,
)
from sophron.records.typed_json import from_json

Form = Literal["json_schema", "json_object"]
_STOPS: dict[str, Literal["length", "refusal"]] = {"length": "length", "content_filter": "refusal"}


def prompt(request: Request, model: Model, form: Form) -> JsonObject:
    """What is sent, without its bound on tokens. form: how the server is told of the schema.

    `json_object` is the form of llama.cpp's Python server; the schema is then said in words too, for servers that
    take the form and pass over its schema, and it is left to the words alone where tools are offered, since such a
    server would otherwise let the model write nothing but the final object.
    """
    system, schema = request.system, structured_output.plain(request.schema)
    made: dict[str, object] = {"model": model.name}
    if form == "json_schema":
        made["response_format"] = {"type": form, "json_schema": {"name": "answer", "schema": schema}}
    elif not request.tools:
        made["response_format"] = {"type": form, "schema": schema}
    if form == "json_object" or structured_output.conditional(request.schema):
        system = f"{system}\n\n{structured_output.in_words(request.schema)}".strip()
    if request.tools:
        made["tools"] = _tools(request.tools)
    said = [{"role": "system", "content": system}] if system else []
    return made | {"messages": said + [each for message in request.messages for each in _messages(message)]}


def _tools(tools: Sequence[Tool]) -> list[JsonObject]:
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)},
        }
        for tool in tools
    ]


def _messages(message: Message) -> list[JsonObject]:
    """One of ours is several of theirs: each answer of a tool is a message, and its pictures follow as the user's."""
    if message.role == "assistant":
        return [_assistant(message.parts)]
    made: list[JsonObject] = []
    rest: list[Part] = [part for part in message.parts if not isinstance(part, ToolAnswer)]
    pictures: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolAnswer):
            made.append({"role": "tool", "tool_call_id": part.id, "content": _answer(part)})
            pictures += [each for each in part.content if isinstance(each, Image)]
    shown = _content(pictures + rest)
    return [*made, {"role": "user", "content": shown}] if shown else made


def _answer(part: ToolAnswer) -> str:
    text = "\n".join(each.text for each in part.content if isinstance(each, Text))
    return f"Error: {text}" if part.is_error else text


def _content(parts: Sequence[Part]) -> str | list[JsonObject]:
    """A string where there is text only: not every local server takes a list."""
    if all(isinstance(part, Text) for part in parts):
        return "\n".join(part.text for part in parts if isinstance(part, Text))
    return [made for part in parts if (made := _block(part)) is not None]


def _block(part: Part) -> JsonObject | None:
    if isinstance(part, Image):
        return {"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{part.data}"}}
    return {"type": "text", "text": part.text} if isinstance(part, Text) else None


def _assistant(parts: Sequence[Part]) -> JsonObject:
    text = "".join(part.text for part in parts if isinstance(part, Text))
    calls = [_call(part) for part in parts if isinstance(part, ToolCall)]
    return {"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {})


def _call(part: ToolCall) -> JsonObject:
    written = part.raw if part.arguments is None else json.dumps(dict(part.arguments))
    return {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": written}}


@dataclass(frozen=True)
class FunctionCall:
    """What is called, with which arguments as text."""

    name: str
    arguments: str


@dataclass(frozen=True)
class MessageCall:
    """A call of a tool."""

    id: str
    function: FunctionCall


@dataclass(frozen=True)
class ChoiceMessage:
    """What the model wrote: text or a refusal, and calls of tools."""

    content: str | None = None
    refusal: str | None = None
    tool_calls: tuple[MessageCall, ...] | None = None


@dataclass(frozen=True)
class Choice:
    """One answer, and why it ends."""

    message: ChoiceMessage
    finish_reason: str


@dataclass(frozen=True)
class PromptDetails:
    """cached_tokens: of the prompt, those that came from a cache."""

    cached_tokens: int | None = None


@dataclass(frozen=True)
class CompletionUsage:
    """Tokens, as the service counts them."""

    prompt_tokens: int
    completion_tokens: int
    prompt_tokens_details: PromptDetails | None = None


@dataclass(frozen=True)
class Completion:
    """A chat completion."""

    choices: tuple[Choice, ...]
    usage: CompletionUsage


def response(answer: JsonObject, model: Model) -> Response:
    """The answer in a completion. Raises IndexError or ValueError where its shape is wrong."""
    completion = from_json(Completion, answer)
    choice = completion.choices[0]
    message, usage = choice.message, completion.usage
    calls = [
        ToolCall.of_text(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or ()
    ]
    text = message.refusal or message.content
    details = usage.prompt_tokens_details or PromptDetails()
    return Response(
        parts=(*([Text(text)] if text else []), *calls),
        stop="refusal" if message.refusal else _STOPS.get(choice.finish_reason, "tool" if calls else "end"),
        usage=Usage(usage.prompt_tokens, usage.completion_tokens, details.cached_tokens or 0),
        backend="openai",
        model=model.handle,
        raw=answer,
    )
