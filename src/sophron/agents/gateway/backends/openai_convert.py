"""Requests and answers in the form of OpenAI's chat completions, as many services and local servers speak it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sophron.agents.gateway.backends import structured_output
from sophron.interfaces.model import (
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

Form = Literal["json_schema", "json_object"]
_STOPS: dict[str, Literal["length", "refusal"]] = {"length": "length", "content_filter": "refusal"}


def prompt(request: Request, model: Model, form: Form) -> dict[str, Any]:
    """What is sent, without its bound on tokens. form: how the server is told of the schema.

    `json_object` is the form of llama.cpp's Python server; the schema is then said in words too, for servers that
    take the form and pass over its schema, and it is left to the words alone where tools are offered, since such a
    server would otherwise let the model write nothing but the final object.
    """
    system, schema = request.system, structured_output.plain(request.schema)
    made: dict[str, Any] = {"model": model.name}
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


def _tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)},
        }
        for tool in tools
    ]


def _messages(message: Message) -> list[dict[str, Any]]:
    """One of ours is several of theirs: each answer of a tool is a message, and its pictures follow as the user's."""
    if message.role == "assistant":
        return [_assistant(message.parts)]
    made: list[dict[str, Any]] = []
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


def _content(parts: Sequence[Part]) -> str | list[dict[str, Any]]:
    """A string where there is text only: not every local server takes a list."""
    if all(isinstance(part, Text) for part in parts):
        return "\n".join(part.text for part in parts if isinstance(part, Text))
    return [made for part in parts if (made := _block(part)) is not None]


def _block(part: Part) -> dict[str, Any] | None:
    if isinstance(part, Image):
        return {"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{part.data}"}}
    return {"type": "text", "text": part.text} if isinstance(part, Text) else None


def _assistant(parts: Sequence[Part]) -> dict[str, Any]:
    text = "".join(part.text for part in parts if isinstance(part, Text))
    calls = [_call(part) for part in parts if isinstance(part, ToolCall)]
    return {"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {})


def _call(part: ToolCall) -> dict[str, Any]:
    written = part.raw if part.arguments is None else json.dumps(dict(part.arguments))
    return {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": written}}


def response(answer: Mapping[str, Any], model: Model) -> Response:
    """The answer in a completion. Raises KeyError, TypeError, IndexError or ValueError where its shape is wrong."""
    choice = answer["choices"][0]
    message = choice["message"]
    text, refusal = message.get("content"), message.get("refusal")
    if not isinstance(text, str | None) or not isinstance(choice["finish_reason"], str):
        raise TypeError("content or finish_reason is no text")
    calls = [_tool_call(call) for call in message.get("tool_calls") or ()]
    said = refusal or text
    return Response(
        parts=(*([Text(said)] if said else []), *calls),
        stop="refusal" if refusal else _STOPS.get(choice["finish_reason"], "tool" if calls else "end"),
        usage=_usage(answer["usage"]),
        backend="openai",
        model=model.handle,
        raw=answer,
    )


def _tool_call(call: Mapping[str, Any]) -> ToolCall:
    function = call["function"]
    if not isinstance(function["arguments"], str):
        raise TypeError("arguments that are no text")
    return ToolCall.of_text(str(call["id"]), str(function["name"]), function["arguments"])


def _usage(usage: Mapping[str, Any]) -> Usage:
    details = usage.get("prompt_tokens_details") or {}
    return Usage(int(usage["prompt_tokens"]), int(usage["completion_tokens"]), int(details.get("cached_tokens") or 0))
