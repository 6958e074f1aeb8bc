"""Requests and answers in the form of the Anthropic Messages API."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
)
from sophron.interfaces.model_backend import Usage as Tokens

_CACHED = {"cache_control": {"type": "ephemeral"}}
_STOPS: dict[str, Literal["end", "length", "refusal"]] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


_MEMBERS = {
    "text_delta": "text",
    "input_json_delta": "partial_json",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
}
Block = dict[str, object]
"""Part of a message as the service has it."""
Said = Mapping[str, list[Block]]
"""Id of a tool call -> the blocks of the answer that it was in, as the service wrote them."""


def prompt(request: Request, model: Model, said: Said) -> JsonObject:
    """What is both counted and sent. Tools and system prompt are cached; so are the messages where tools can follow."""
    system = request.system
    made: Block = {"model": model.name, "messages": _messages(request, said)}
    schema = structured_output.plain(request.schema)
    held = structured_output.closed(schema)
    if held:
        made["output_config"] = {"format": {"type": "json_schema", "schema": _transformed(schema)}}
    if not held or structured_output.conditional(request.schema):
        system = f"{system}\n\n{structured_output.in_words(request.schema)}".strip()
    if system:
        made["system"] = [{"type": "text", "text": system} | _CACHED]
    if request.tools:
        made["tools"] = _tools(request.tools)
    return made


def _transformed(schema: JsonObject) -> object:
    """Ranges and patterns move into descriptions, as the service wants it; they are checked where answers arrive."""
    from anthropic import transform_schema

    transformed: object = transform_schema(dict(schema))
    return transformed


def _tools(tools: Sequence[Tool]) -> list[Block]:
    made: list[Block] = [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)} for tool in tools
    ]
    made[-1] |= _CACHED
    return made


def _messages(request: Request, said: Said) -> list[Block]:
    contents = [_resent(each, said) or _content(each.parts) for each in request.messages]
    if request.tools and contents and contents[-1]:
        contents[-1][-1] |= _CACHED
    return [{"role": each.role, "content": content} for each, content in zip(request.messages, contents, strict=True)]


def _resent(message: Message, said: Said) -> list[Block]:
    """The model's own blocks, where it asked for tools: the thoughts between them are signed and wanted back whole."""
    calls = [part.id for part in message.parts if isinstance(part, ToolCall)]
    return [dict(block) for block in said.get(calls[0], ())] if calls else []


def _content(parts: Sequence[Part]) -> list[Block]:
    """Answers of tools come first and no text is empty: the service refuses both."""
    ordered = sorted(parts, key=lambda part: not isinstance(part, ToolAnswer))
    return [_block(part) for part in ordered if not (isinstance(part, Text) and not part.text)]


def _block(part: Part) -> Block:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Image):
        source = {"type": "base64", "media_type": part.media_type, "data": part.data}
        return {"type": "image", "source": source}
    if isinstance(part, ToolCall):
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": _input(part)}
    answer: Block = {"type": "tool_result", "tool_use_id": part.id, "content": _content(part.content)}
    return answer | ({"is_error": True} if part.is_error else {})


def _input(call: ToolCall) -> JsonObject:
    """The service takes objects only; what was none is shown to the model under a name that says so."""
    return {"INVALID_JSON": call.raw} if call.arguments is None else dict(call.arguments)


def said(message: JsonObject, answer: Response) -> Said:
    """What is to be sent again beside the answers to the tools that `answer`, made of `message`, asks for."""
    inputs = {call.id: _input(call) for call in answer.tool_calls}
    blocks = [
        {**{name: value for name, value in block.items() if name != "partial_json"}, "input": inputs[block["id"]]}
        if block.get("id") in inputs
        else dict(block)
        for block in message["content"]
        if block["type"] != "text" or block["text"]
    ]
    return dict.fromkeys(inputs, blocks)


class Assembly:
    """A streamed message, put together as events come. Members that are not there raise KeyError or TypeError.

    The service's own assembly parses a tool's arguments as they trickle in and fails on broken ones; here they stay
    text (`partial_json`) until the end.
    """

    def __init__(self) -> None:
        self.message: Block = {}
        self.complete = False
        self._blocks: dict[int, Block] = {}

    def add(self, event: JsonObject) -> None:
        """Take one event; unknown kinds are passed over, as the service asks of its clients."""
        kind = event["type"]
        if kind == "message_start":
            self.message = dict(event["message"])
        elif kind == "content_block_start":
            self._blocks[event["index"]] = dict(event["content_block"])
        elif kind == "content_block_delta":
            self._extend(self._blocks[event["index"]], event["delta"])
        elif kind == "message_delta":
            usage = self.message["usage"] | event.get("usage", {})
            self.message |= {**event["delta"], "usage": usage}
        elif kind == "message_stop":
            self.complete = True
            self.message["content"] = [self._blocks[index] for index in sorted(self._blocks)]

    @staticmethod
    def _extend(block: Block, delta: JsonObject) -> None:
        member = _MEMBERS.get(delta["type"])
        if member is not None:
            block[member] = block.get(member, "") + delta[member]


def response(message: JsonObject, model: Model) -> Response:
    """The answer in a whole message. Raises KeyError, TypeError or ValueError where it is in a wrong shape."""
    parts = tuple(_part(block) for block in message["content"] if block["type"] in {"text", "tool_use"})
    stop = message["stop_reason"]
    if not isinstance(stop, str):
        raise TypeError("no stop_reason")
    wants = any(isinstance(part, ToolCall) for part in parts)
    if stop == "tool_use" and not wants:
        raise ValueError("tool_use without a tool")
    return Response(
        parts=parts,
        stop=_STOPS.get(stop, "tool" if wants else "end"),
        usage=_usage(message["usage"]),
        backend="anthropic",
        model=model.handle,
        raw=message,
    )


def _part(block: JsonObject) -> Text | ToolCall:
    if block["type"] == "text":
        if not isinstance(block["text"], str):
            raise TypeError("text that is none")
        return Text(block["text"])
    written = block.get("partial_json") or json.dumps(block["input"])
    return ToolCall.of_text(str(block["id"]), str(block["name"]), written)


def _usage(usage: JsonObject) -> Tokens:
    """The service counts what was cached apart from `input_tokens`; here the input is all of it."""
    cached = int(usage.get("cache_read_input_tokens") or 0)
    written = int(usage.get("cache_creation_input_tokens") or 0)
    return Tokens(int(usage["input_tokens"]) + cached + written, int(usage["output_tokens"]), cached, written)
