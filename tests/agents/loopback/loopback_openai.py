"""A loopback service that speaks OpenAI's chat completions, whole and streamed."""

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from loopback_peer import Handler, Peer, Script, Seen, Turn, queue, serving, tokens

_STOPS = {"overlong": "length"}


def serve_openai(
    script: Script | None = None, *, no_json_schema: int = 0, keyless: bool = False
) -> AbstractContextManager[Peer]:
    """The service; `url` + "/v1" is what a base URL variable holds.

    no_json_schema: status with which it answers `response_format` json_schema (llama.cpp's Python server: 500).
    """
    handler = type("_Told", (_Completions,), {"no_json_schema": no_json_schema, "keyless": keyless})
    return serving(handler, script or queue())


class _Completions(Handler):
    no_json_schema = 0
    keyless = False

    def refused(self, body: Mapping[str, Any]) -> tuple[int, str] | None:
        if self.path != "/v1/chat/completions":
            return 404, self.path
        if not self.keyless and self.key() in {"", "unused"}:
            return 401, "no key"
        wrong = _wrong(body)
        return (400, wrong) if wrong else None

    def beside(self, body: Mapping[str, Any]) -> bool:
        if not self.no_json_schema or body.get("response_format", {}).get("type") != "json_schema":
            return False
        self.server.seen.append(Seen(self.path, {}, body, "json_schema"))
        self.error(self.no_json_schema, "unknown response_format")
        return True

    def error(self, status: int, says: str, headers: Mapping[str, str] = {}) -> None:
        self.send_json(status, {"error": {"message": says, "type": "scripted", "code": None}}, headers)

    def answer(self, body: Mapping[str, Any], turn: Turn, seen: Seen) -> None:
        completion = _completion(body, turn)
        seen.usage = (completion["usage"]["prompt_tokens"], completion["usage"]["completion_tokens"])
        if body.get("stream"):
            self._stream(completion, turn, seen)
        else:
            self._whole(completion, turn, seen)

    def _whole(self, completion: dict[str, Any], turn: Turn, seen: Seen) -> None:
        text = json.dumps(completion).encode()
        if turn.fault == "cut":
            return self.tear(200, text)
        if turn.fault == "malformed":
            return self.send(200, text[: len(text) // 2])
        if turn.fault == "wrong_shape":
            return self.send_json(200, {"answer": turn.text})
        if turn.fault == "trickle":
            return self._trickle()
        seen.answered = True
        return self.send_json(200, completion)

    def _trickle(self) -> None:
        """Blanks for ever, as services send them to keep a connection open."""
        self.begin_chunks("application/json")
        while not self.server.ending.wait(0.02):
            self.chunk(b"\n")

    def _stream(self, completion: dict[str, Any], turn: Turn, seen: Seen) -> None:
        self.begin_chunks("text/event-stream")
        choice = completion["choices"][0]
        shown = {name: completion[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
        deltas = [{"role": "assistant", "content": ""}, {"content": choice["message"]["content"]}, {}]
        for number, delta in enumerate(deltas):
            if number == 1 and turn.fault == "cut":
                return self.hang_up()
            reason = choice["finish_reason"] if number == len(deltas) - 1 else None
            self._data(shown | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
        if _wants_usage(seen.body):
            self._data(shown | {"choices": [], "usage": completion["usage"]})
        seen.answered = True  # before the last piece is out: the client may be faster than this thread
        self.chunk(b"data: [DONE]\n\n")
        self.chunk(b"")
        return None

    def _data(self, value: Any) -> None:
        self.chunk(f"data: {json.dumps(value)}\n\n".encode())


def _wants_usage(body: Mapping[str, Any]) -> bool:
    """Streams tell their tokens only when asked to."""
    return bool((body.get("stream_options") or {}).get("include_usage"))


def _wrong(body: Mapping[str, Any]) -> str | None:
    """What the real service refuses too."""
    open_calls: set[str] = set()
    for message in body["messages"]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            open_calls.discard(message["tool_call_id"])
        elif open_calls:
            return "an assistant message with 'tool_calls' must be followed by tool messages"
        open_calls |= {call["id"] for call in message.get("tool_calls") or ()}
    return "missing tool messages" if open_calls else None


def _completion(body: Mapping[str, Any], turn: Turn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.text, "refusal": None}
    if turn.fault == "overlong":
        message["content"] = turn.text[: len(turn.text) // 2]
    if turn.fault == "refusal":
        message |= {"content": None, "refusal": turn.says}
    calls = [(name, json.dumps(arguments)) for name, arguments in turn.tools]
    if turn.fault == "bad_arguments":
        name = body["tools"][0]["function"]["name"] if body.get("tools") else "unknown"
        calls.append((name, '{"path": "a'))
    if calls:
        message["tool_calls"] = [
            {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": written}}
            for number, (name, written) in enumerate(calls)
        ]
    reason = _STOPS.get(turn.fault, "tool_calls" if calls else "stop")
    used = {"prompt_tokens": tokens(body["messages"]), "completion_tokens": tokens(turn.text)}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": used | {"total_tokens": sum(used.values()), "prompt_tokens_details": {"cached_tokens": 0}},
    }
