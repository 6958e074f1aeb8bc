"""A loopback service that speaks the Anthropic Messages API: streamed, whole, and the counting of tokens."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from loopback_peer import Handler, Peer, Script, Seen, Turn, queue, serving, tokens

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_STOPS = {"refusal": "refusal", "overlong": "max_tokens"}


def serve_anthropic(script: Script | None = None) -> AbstractContextManager[Peer]:
    """The service; `url` is what a base URL variable holds."""
    return serving(_Messages, script or queue())


class _Messages(Handler):
    def refused(self, body: Mapping[str, Any]) -> tuple[int, str] | None:
        if not self.key():
            return 401, "no key"
        if self.path not in {"/v1/messages", "/v1/messages/count_tokens"}:
            return 404, self.path
        wrong = _wrong(body, counting=self.path.endswith("/count_tokens"))
        return (400, wrong) if wrong else None

    def beside(self, body: Mapping[str, Any]) -> bool:
        if self.path != "/v1/messages/count_tokens":
            return False
        self.server.seen.append(Seen(self.path, {}, body, "", answered=True))
        self.send_json(200, {"input_tokens": tokens(_counted(body))})
        return True

    def error(self, status: int, says: str, headers: Mapping[str, str] = {}) -> None:
        kind = _KINDS.get(status, "api_error")
        self.send_json(status, {"type": "error", "error": {"type": kind, "message": says}}, headers)

    def answer(self, body: Mapping[str, Any], turn: Turn, seen: Seen) -> None:
        message = _message(body, turn, self.server)
        seen.usage = (tokens(_counted(body)), message["usage"]["output_tokens"])
        if body.get("stream"):
            self._stream(message, turn, seen)
        else:
            self._whole(message, turn, seen)

    def _whole(self, message: dict[str, Any], turn: Turn, seen: Seen) -> None:
        text = json.dumps(message).encode()
        if turn.fault == "cut":
            return self.tear(200, text)
        if turn.fault == "malformed":
            return self.send(200, text[: len(text) // 2])
        if turn.fault == "wrong_shape":
            return self.send_json(200, {"answer": turn.text})
        for block in message["content"]:
            if block.get("input") is None and "partial_json" in block:
                block["input"] = block.pop("partial_json")
        seen.answered = True
        return self.send_json(200, message)

    def _stream(self, message: dict[str, Any], turn: Turn, seen: Seen) -> None:
        if turn.fault == "wrong_shape":
            return self.send_json(200, {"answer": turn.text})
        self.begin_chunks("text/event-stream")
        events = list(_events(message))
        if turn.fault == "trickle":
            while not self.server.ending.wait(0.02):
                self._event({"type": "ping"})
        half = len(events) // 2
        for number, event in enumerate(events):
            if number == half and turn.fault in {"cut", "early_end", "malformed", "event_error", "wrong_event"}:
                return self._break(turn)
            # Before the last piece is out: the client may have looked at it before this thread goes on.
            seen.answered = number == len(events) - 1
            self._event(event)
        self.chunk(b"")
        return None

    def _break(self, turn: Turn) -> None:
        if turn.fault == "cut":
            return self.hang_up()
        if turn.fault == "malformed":
            self.chunk(b'event: content_block_delta\ndata: {"type": "content_blo\n\n')
        if turn.fault == "wrong_event":
            self._event({"type": "content_block_delta", "index": 77, "delta": None})
        if turn.fault == "event_error":
            self._event({"type": "error", "error": {"type": "overloaded_error", "message": turn.says}})
        self.chunk(b"")
        return None

    def _event(self, event: Mapping[str, Any]) -> None:
        self.chunk(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())


def _counted(body: Mapping[str, Any]) -> list[Any]:
    return [body["messages"], body.get("system"), body.get("tools")]


def _wrong(body: Mapping[str, Any], *, counting: bool) -> str | None:
    """What the real service refuses too."""
    if not counting and not isinstance(body.get("max_tokens"), int):
        return "max_tokens: Field required"
    asked: set[str] = set()
    for message in body["messages"]:
        for number, block in enumerate(message["content"]):
            wrong = _wrong_block(block, message["content"][:number], asked)
            if wrong is not None:
                return wrong
    return _wrong_schema(body.get("output_config", {}).get("format", {}).get("schema"))


def _wrong_block(block: Mapping[str, Any], before: Sequence[Mapping[str, Any]], asked: set[str]) -> str | None:
    """`asked`: ids of the tool calls so far."""
    faults = {
        "text content blocks must be non-empty": block["type"] == "text" and not block["text"],
        "Invalid `signature` in `thinking` block": block["type"] == "thinking"
        and block["signature"] != _signature(block["thinking"]),
        "tool_use.input: Input should be a valid dictionary": block["type"] == "tool_use"
        and not isinstance(block["input"], dict),
        "unexpected tool_use_id": block["type"] == "tool_result" and block["tool_use_id"] not in asked,
        "tool_result blocks must come first": block["type"] == "tool_result"
        and any(each["type"] != "tool_result" for each in before),
    }
    asked |= {block["id"]} if block["type"] == "tool_use" else set()
    return next((says for says, wrong in faults.items() if wrong), None)


def _signature(thinking: str) -> str:
    return hashlib.sha256(thinking.encode()).hexdigest()


def _wrong_schema(schema: Any) -> str | None:
    if isinstance(schema, list):
        return next((wrong for each in schema if (wrong := _wrong_schema(each)) is not None), None)
    if not isinstance(schema, dict):
        return None
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return "output_config.format.schema: 'additionalProperties' must be explicitly set to false"
    if isinstance(schema.get("minimum"), int | float):
        return "output_config.format.schema: 'minimum' is not supported"
    return _wrong_schema(list(schema.values()))


def _message(body: Mapping[str, Any], turn: Turn, peer: Peer) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
    if turn.fault == "overlong":
        content[0]["text"] = turn.text[: len(turn.text) // 2]
    if turn.fault == "refusal":
        content = []
    if turn.thinking:
        content.insert(0, {"type": "thinking", "thinking": turn.thinking, "signature": _signature(turn.thinking)})
    asked = len(peer.seen)
    for number, (name, arguments) in enumerate(turn.tools):
        content.append({"type": "tool_use", "id": f"toolu_{asked}_{number}", "name": name, "input": dict(arguments)})
    if turn.fault == "bad_arguments":
        name = body["tools"][0]["name"] if body.get("tools") else "unknown"
        bad = {
            "type": "tool_use",
            "id": f"toolu_{asked}_bad",
            "name": name,
            "input": None,
            "partial_json": '{"path": "a',
        }
        content.append(bad)
    wants = any(block["type"] == "tool_use" for block in content)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": _STOPS.get(turn.fault, "tool_use" if wants else "end_turn"),
        "stop_sequence": None,
        "usage": _usage(body, turn, peer),
    }


def _usage(body: Mapping[str, Any], turn: Turn, peer: Peer) -> dict[str, int]:
    """Tools and system prompt are cached from the second time on, where the request asks for it."""
    prefix = [body.get("tools"), body.get("system")]
    cached = tokens(prefix) if "cache_control" in json.dumps(prefix) else 0
    known = json.dumps(prefix) in peer.prefixes
    peer.prefixes.add(json.dumps(prefix))
    return {
        "input_tokens": tokens(_counted(body)) - cached,
        "cache_creation_input_tokens": 0 if known else cached,
        "cache_read_input_tokens": cached if known else 0,
        "output_tokens": tokens(turn.text),
    }


def _events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A whole message as the events of its stream."""
    start = message | {"content": [], "stop_reason": None, "usage": message["usage"] | {"output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    yield {"type": "ping"}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, written, kind, member = block | {"text": ""}, block["text"], "text_delta", "text"
        elif block["type"] == "thinking":
            empty, written, kind, member = (
                block | {"thinking": "", "signature": ""},
                block["thinking"],
                "thinking_delta",
                "thinking",
            )
        else:
            written = block["partial_json"] if block["input"] is None else json.dumps(block["input"])
            empty = {"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}
            kind, member = "input_json_delta", "partial_json"
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for at in range(0, len(written), 7):
            yield {"type": "content_block_delta", "index": index, "delta": {"type": kind, member: written[at : at + 7]}}
        if "signature" in block:
            signed = {"type": "signature_delta", "signature": block["signature"]}
            yield {"type": "content_block_delta", "index": index, "delta": signed}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": message["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}
