"""Requests and responses as plain data, and responses back: the form of audits, mailboxes and request digests."""

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from hashlib import sha256
from typing import Any

from sophron.interfaces import JsonObject
from sophron.interfaces.model_backend import Image, Part, Request, Response, Text, ToolCall, Usage
from sophron.records import digests
from sophron.records.errors import UserError


def request_data(request: Request) -> JsonObject:
    """A request as plain data."""
    return _request_data(request, _part)


def by_digest(request: Request) -> tuple[JsonObject, dict[str, bytes]]:
    """A request as plain data with every picture by its sha256, and the pictures by that.

    Each turn of a conversation repeats what was said before, pictures too; whoever keeps the turns keeps them once.
    """
    pictures: dict[str, bytes] = {}
    return _request_data(request, partial(_part, image=partial(_named, pictures))), pictures


def _request_data(request: Request, part_data: Callable[[Part], JsonObject]) -> JsonObject:
    return {
        "step": request.step,
        "agent": request.agent,
        "turn": request.turn,
        "system": request.system,
        "messages": [{"role": one.role, "parts": [part_data(part) for part in one.parts]} for one in request.messages],
        "schema": _copied(request.schema),
        "inputs": _copied(request.inputs),
        "tools": [
            {"name": tool.name, "description": tool.description, "schema": _copied(tool.schema)}
            for tool in request.tools
        ],
        "max_tokens": request.max_tokens,
    }


def request_digest(request: Request) -> str:
    """Hex sha256 of the canonical JSON of a request, whichever model answers it; before anything is redacted."""
    try:
        return digests.digest(request_data(request))
    except ValueError as error:
        raise UserError(f"the request of the step {request.step} holds what JSON cannot: {error}") from None


def response_data(response: Response) -> JsonObject:
    """A response as plain data."""
    return {
        "parts": [_part(part) for part in response.parts],
        "stop": response.stop,
        "usage": asdict(response.usage),
        "backend": response.backend,
        "model": response.model,
        "raw": _copied(response.raw),
    }


def response_of(data: JsonObject) -> Response:
    """The response that `response_data` made plain. KeyError, TypeError where it did not."""
    parts = tuple(_answered(part) for part in data["parts"])
    raw = data["raw"]
    return Response(parts, data["stop"], Usage(**data["usage"]), data["backend"], data["model"], raw)


def readable(data: JsonObject) -> Iterator[str]:
    """A plain request line by line, for people and for differences; pictures by their size alone."""
    yield f"# {data['agent']}: step {data['step']}, turn {data['turn']}"
    yield from ("", "## System", "", *data["system"].split("\n"))
    for message in data["messages"]:
        yield from ("", f"## {message['role'].capitalize()}", "")
        for part in message["parts"]:
            yield from _shown(part).split("\n")
    yield from ("", "## The answer must fit this JSON Schema", "", "```json")
    yield from json.dumps(data["schema"], indent=2, sort_keys=True).split("\n")
    yield "```"
    if data["tools"]:
        yield from ("", f"## Tools: {', '.join(tool['name'] for tool in data['tools'])}")


def _shown(part: JsonObject) -> str:
    kind = part["type"]
    if kind == "text":
        return str(part["text"])
    if kind == "image":
        size = part["bytes"] if "sha256" in part else len(_decoded(part["data"]) or b"")
        return f"({part['media_type']}, {size} bytes)"
    if kind == "tool_call":
        return f"(calls {part['name']}: {json.dumps(part['arguments'], sort_keys=True)})"
    inner = "\n".join(_shown(one) for one in part["content"])
    return f"(the tool {'failed' if part['is_error'] else 'answered'})\n{inner}"


def _whole(image: Image) -> JsonObject:
    return {"data": image.data}


def _named(pictures: dict[str, bytes], image: Image) -> JsonObject:
    """What is no base64 is no picture, and stays as it was said."""
    content = _decoded(image.data)
    if content is None:
        return _whole(image)
    name = sha256(content).hexdigest()
    pictures[name] = content
    return {"sha256": name, "bytes": len(content)}


def _decoded(data: str) -> bytes | None:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None


def _part(part: Part, image: Callable[[Image], JsonObject] = _whole) -> JsonObject:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Image):
        return {"type": "image", "media_type": part.media_type, **image(part)}
    if isinstance(part, ToolCall):
        arguments = None if part.arguments is None else _copied(part.arguments)
        return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": arguments, "raw": part.raw}
    content = [_part(one, image) for one in part.content]
    return {"type": "tool_answer", "id": part.id, "content": content, "is_error": part.is_error}


def _answered(data: JsonObject) -> Text | ToolCall:
    if data["type"] == "text":
        return Text(data["text"])
    return ToolCall(data["id"], data["name"], data["arguments"], data["raw"])


def _copied(value: Any) -> Any:
    """Plain dicts and lists, whichever mappings and sequences hold them."""
    if isinstance(value, Mapping):
        return {str(key): _copied(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(inner) for inner in value]
    return value
