"""The backend for Anthropic's Messages API, through its own client package: requests and answers in its form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sophron.agents.gateway.backends import structured_output
from sophron.agents.gateway.backends.endpoint import Endpoint, Service
from sophron.agents.gateway.backends.token_estimate import tokens_at_most
from sophron.interfaces import JsonObject
from sophron.interfaces.model_backend import (
    Image,
    Message,
    Model,
    ModelBackend,
    ModelError,
    Part,
    Request,
    Response,
    Text,
    Tool,
    ToolAnswer,
    ToolCall,
)
from sophron.interfaces.model_backend import Usage as Tokens

FORKED = ("anthropic", "sophron.agents.gateway.backends.http_client", "httpcore2", "h11", "truststore")
"""What the fork server of a local run imports for this backend, if it is there."""
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
SentBlocks = Mapping[str, list[Block]]
"""Id of a tool call -> the blocks of the answer that it was in, as the service wrote them."""


def request_body(request: Request, model: Model, sent: SentBlocks) -> JsonObject:
    """Return what is counted and sent. Tools and system prompt are cached, and messages if tools can follow."""
    system = request.system
    body: Block = {"model": model.name, "messages": _message_blocks(request, sent)}
    schema = structured_output.plain(request.schema)
    held = structured_output.closed(schema)
    if held:
        body["output_config"] = {"format": {"type": "json_schema", "schema": _transform(schema)}}
    if not held or structured_output.conditional(request.schema):
        system = f"{system}\n\n{structured_output.in_words(request.schema)}".strip()
    if system:
        body["system"] = [{"type": "text", "text": system} | _CACHED]
    if request.tools:
        body["tools"] = _tools(request.tools)
    return body


def _transform(schema: JsonObject) -> object:
    """Move ranges and patterns into descriptions, as the service wants it; they are checked when answers arrive."""
    from anthropic import transform_schema

    transformed: object = transform_schema(dict(schema))
    return transformed


def _tools(tools: Sequence[Tool]) -> list[Block]:
    converted: list[Block] = [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)} for tool in tools
    ]
    converted[-1] |= _CACHED
    return converted


def _message_blocks(request: Request, sent: SentBlocks) -> list[Block]:
    contents = [_own_blocks(each, sent) or _content(each.parts) for each in request.messages]
    if request.tools and contents and contents[-1]:
        contents[-1][-1] |= _CACHED
    return [{"role": each.role, "content": content} for each, content in zip(request.messages, contents, strict=True)]


def _own_blocks(message: Message, sent: SentBlocks) -> list[Block]:
    """Return the model's own blocks if it asked for tools: thoughts between them are signed and wanted back whole."""
    calls = [part.id for part in message.parts if isinstance(part, ToolCall)]
    return [dict(block) for block in sent.get(calls[0], ())] if calls else []


def _content(parts: Sequence[Part]) -> list[Block]:
    """Put answers of tools first and leave empty texts out: the service refuses what does not."""
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
    """Return the arguments; what is not an object, which the service wants, stands under a name that says so."""
    return {"INVALID_JSON": call.raw} if call.arguments is None else dict(call.arguments)


def blocks_to_resend(message: JsonObject, answer: Response) -> SentBlocks:
    """Return what is to be sent again beside the answers to the tools that `answer`, made of `message`, asks for."""
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


def parsed_response(message: JsonObject, model: Model) -> Response:
    """Return the answer in a whole message. Raises KeyError, TypeError or ValueError if it is in a wrong shape."""
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
    arguments = block.get("partial_json") or json.dumps(block["input"])
    return ToolCall.of_text(str(block["id"]), str(block["name"]), arguments)


def _usage(usage: JsonObject) -> Tokens:
    """Return the tokens. The service counts cached ones apart from `input_tokens`; here the input is all of them."""
    cached = int(usage.get("cache_read_input_tokens") or 0)
    cache_writes = int(usage.get("cache_creation_input_tokens") or 0)
    return Tokens(int(usage["input_tokens"]) + cached + cache_writes, int(usage["output_tokens"]), cached, cache_writes)


_SERVICE = Service(
    name="Anthropic",
    package="anthropic",
    url="https://api.anthropic.com",
    url_env="ANTHROPIC_BASE_URL",
    key_env="ANTHROPIC_API_KEY",
    keyless=False,
)
_COUNT_S = 30.0


class Anthropic(ModelBackend):
    """One attempt a call, always streamed.

    Streamed, because the client refuses long answers that are not, because proxies end connections on which nothing
    moves for a minute, and because the arguments of a tool then arrive as the text that the model wrote. How much a
    model thinks is left to its own default. Its thoughts are no part of an answer; they are kept here for the calls
    that follow tools, where the service wants them back.
    """

    name = "anthropic"

    def __init__(self) -> None:
        self._said: dict[str, dict[str, list[dict[str, object]]]] = {}

    def missing(self, model: Model) -> str | None:
        """Return one sentence that says what lacks (key, address, package), or None. Imports nothing heavy."""
        return _SERVICE.missing(model)

    def count(self, request: Request, model: Model) -> int:
        """Return input tokens as the service counts them, or an upper bound of ours where it does not answer."""
        endpoint = _SERVICE.endpoint(model)
        import anthropic

        from sophron.agents.gateway.backends import http_client

        try:
            with (
                http_client.typed_errors(anthropic, endpoint),
                _client(endpoint, min(model.timeout_s, _COUNT_S)) as client,
            ):
                answer = client.messages.with_raw_response.count_tokens(**self._prompt(request, model))
                tokens = json.loads(answer.http_response.text)["input_tokens"]
        except (ModelError, KeyError, TypeError):
            tokens = None
        if isinstance(tokens, int) and tokens > 0:
            return tokens
        return tokens_at_most(request, structured_output.in_words(request.schema))

    def complete(self, request: Request, model: Model) -> Response:
        """Ask once. Raises ModelError; `raw` of answer and failure are free of the key."""
        endpoint = _SERVICE.endpoint(model)
        import anthropic

        from sophron.agents.gateway.backends import http_client

        body = {**self._prompt(request, model), "max_tokens": min(request.max_tokens, model.max_output)}
        with (
            http_client.typed_errors(anthropic, endpoint),
            _client(endpoint, model.timeout_s) as client,
            client.messages.with_streaming_response.create(**body, stream=True) as answer,
        ):
            message = endpoint.cleaned(_message(answer.http_response, endpoint))
        try:
            answered = parsed_response(message, model)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise http_client.wrong_shape(endpoint, str(error), message) from None
        self._said.setdefault(model.name, {}).update(blocks_to_resend(message, answered))
        return answered

    def _prompt(self, request: Request, model: Model) -> JsonObject:
        """Return the body. Thoughts are signed for the model that had them; another gets the rest only."""
        return request_body(request, model, self._said.get(model.name, {}))


def _client(endpoint: Endpoint, timeout_s: float) -> Any:
    """Make the package's client for one call: no retries (the gateway's), no tracing that carries prompts away."""
    import anthropic

    from sophron.agents.gateway.backends import http_client

    return anthropic.Anthropic(
        api_key=endpoint.key,
        base_url=endpoint.url,
        max_retries=0,
        timeout=http_client.timeout(timeout_s),
        http_client=http_client.client(anthropic, timeout_s),
        open_telemetry=False,
    )


def _message(answer: Any, endpoint: Endpoint) -> JsonObject:
    """Return the whole message of a streamed answer. Raises ModelError, JSONDecodeError."""
    from anthropic import Stream

    from sophron.agents.gateway.backends import http_client

    if not answer.headers.get("content-type", "").startswith("text/event-stream"):
        raise http_client.wrong_shape(endpoint, "no stream of events", json.loads(answer.read()))
    assembly = Assembly()
    for sent in Stream.raw_events(answer):
        event = json.loads(sent.data) if sent.data else {"type": "ping"}
        try:
            assembly.add(event)
            fault = event["error"] if event["type"] == "error" else None
        except (KeyError, TypeError, AttributeError, ValueError):
            raise http_client.wrong_shape(endpoint, "an event", event) from None
        if fault is not None:
            raise http_client.of_event(fault, endpoint)
    if not assembly.complete:
        reason = f"{endpoint.service} at {endpoint.host} ended its answer in the middle"
        raise ModelError("cut", reason, raw={"body": endpoint.cleaned(assembly.message)})
    return assembly.message
