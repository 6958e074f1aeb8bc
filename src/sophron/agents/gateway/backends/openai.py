"""The backend for chat completions in OpenAI's form: its own service, others that speak it, local servers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
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
    Usage,
)
from sophron.records.typed_json import from_json

Form = Literal["json_schema", "json_object"]
FORKED = ("openai", "sophron.agents.gateway.backends.http_client", "httpcore2", "h11", "truststore")
"""What the fork server of a local run imports for this backend, if it is there."""
_STOPS: dict[str, Literal["length", "refusal"]] = {"length": "length", "content_filter": "refusal"}


def request_body(request: Request, model: Model, form: Form) -> JsonObject:
    """Return what is sent, without its bound on tokens. form: how the server is told of the schema.

    `json_object` is the form of llama.cpp's Python server; the schema is then said in words too, for servers that
    take the form and pass over its schema, and it is left to the words alone where tools are offered, since such a
    server would otherwise let the model write nothing but the final object.
    """
    system, schema = request.system, structured_output.plain(request.schema)
    body: dict[str, object] = {"model": model.name}
    if form == "json_schema":
        body["response_format"] = {"type": form, "json_schema": {"name": "answer", "schema": schema}}
    elif not request.tools:
        body["response_format"] = {"type": form, "schema": schema}
    if form == "json_object" or structured_output.conditional(request.schema):
        system = f"{system}\n\n{structured_output.in_words(request.schema)}".strip()
    if request.tools:
        body["tools"] = _tools(request.tools)
    system_messages = [{"role": "system", "content": system}] if system else []
    return body | {"messages": system_messages + [each for message in request.messages for each in _messages(message)]}


def _tools(tools: Sequence[Tool]) -> list[JsonObject]:
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)},
        }
        for tool in tools
    ]


def _messages(message: Message) -> list[JsonObject]:
    """Convert one message to several: each answer of a tool is one, and its pictures follow as the user's."""
    if message.role == "assistant":
        return [_assistant(message.parts)]
    messages: list[JsonObject] = []
    rest: list[Part] = [part for part in message.parts if not isinstance(part, ToolAnswer)]
    pictures: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolAnswer):
            messages.append({"role": "tool", "tool_call_id": part.id, "content": _tool_result(part)})
            pictures += [each for each in part.content if isinstance(each, Image)]
    content = _content(pictures + rest)
    return [*messages, {"role": "user", "content": content}] if content else messages


def _tool_result(part: ToolAnswer) -> str:
    text = "\n".join(each.text for each in part.content if isinstance(each, Text))
    return f"Error: {text}" if part.is_error else text


def _content(parts: Sequence[Part]) -> str | list[JsonObject]:
    """Return a string if there is text only: not every local server takes a list."""
    if all(isinstance(part, Text) for part in parts):
        return "\n".join(part.text for part in parts if isinstance(part, Text))
    return [block for part in parts if (block := _block(part)) is not None]


def _block(part: Part) -> JsonObject | None:
    if isinstance(part, Image):
        return {"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{part.data}"}}
    return {"type": "text", "text": part.text} if isinstance(part, Text) else None


def _assistant(parts: Sequence[Part]) -> JsonObject:
    text = "".join(part.text for part in parts if isinstance(part, Text))
    calls = [_call(part) for part in parts if isinstance(part, ToolCall)]
    return {"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {})


def _call(part: ToolCall) -> JsonObject:
    arguments = part.raw if part.arguments is None else json.dumps(dict(part.arguments))
    return {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": arguments}}


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


def parsed_response(answer: JsonObject, model: Model) -> Response:
    """Return the answer in a completion. Raises IndexError or ValueError if its shape is wrong."""
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


_SERVICE = Service(
    name="OpenAI",
    package="openai",
    url="https://api.openai.com/v1",
    url_env="OPENAI_BASE_URL",
    key_env="OPENAI_API_KEY",
    keyless=True,
)
_OWN_HOST = "api.openai.com"
_FORM_REFUSED = {400, 422}
_FORM_BROKEN = 500
_forms: dict[tuple[str, str], Form] = {}
"""By address and model: the form of schema that an answer has come in, or that is tried next, in this process."""
_proven: set[tuple[str, str]] = set()


class OpenAI(ModelBackend):
    """One attempt a call, not streamed: a streamed answer tells its tokens only where a server knows an extension.

    Servers that do not know `json_schema` are told of the schema as `json_object`. One that refuses the first form
    (400, 422) has worked on nothing and is asked in the second at once. One that breaks on it (500, as llama.cpp's
    Python server does) may have: that is a failure with nothing to wait for, and the next call takes the other form.
    What a server has once answered to is kept for the process.
    """

    name = "openai"

    def missing(self, model: Model) -> str | None:
        """Return one sentence that says what lacks (key, address, package), or None. Imports nothing heavy."""
        return _SERVICE.missing(model)

    def count(self, request: Request, model: Model) -> int:
        """Return an upper bound on input tokens: chat completions have nothing that counts them."""
        del model
        return tokens_at_most(request, structured_output.in_words(request.schema))

    def complete(self, request: Request, model: Model) -> Response:
        """Ask once. Raises ModelError; `raw` of answer and failure are free of the key."""
        endpoint = _SERVICE.endpoint(model)
        place = (endpoint.url, model.name)
        first = _forms.get(place, "json_schema")
        try:
            return self._ask_once(request, model, endpoint, first)
        except ModelError as failure:
            if place in _proven:
                raise
            if failure.status == _FORM_BROKEN:
                _forms[place] = _other(first)
                failure.retry_after_s = 0.0
            if failure.status not in _FORM_REFUSED:
                raise
            refused = failure
        try:
            return self._ask_once(request, model, endpoint, _other(first))
        except ModelError as failure:
            raise refused if failure.status in _FORM_REFUSED else failure from None

    @staticmethod
    def _ask_once(request: Request, model: Model, endpoint: Endpoint, form: Form) -> Response:
        import openai

        from sophron.agents.gateway.backends import http_client

        body = {**request_body(request, model, form), **_token_bound(request, model, endpoint)}
        with http_client.typed_errors(openai, endpoint), _client(endpoint, model.timeout_s) as client:
            sent = client.chat.completions.with_raw_response.create(**body)
            answer = endpoint.cleaned(json.loads(sent.http_response.text))
        try:
            response = parsed_response(answer, model)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise http_client.wrong_shape(endpoint, str(error), answer) from None
        place = (endpoint.url, model.name)
        _forms[place] = form
        _proven.add(place)
        return response


def _other(form: Form) -> Form:
    return "json_object" if form == "json_schema" else "json_schema"


def _token_bound(request: Request, model: Model, endpoint: Endpoint) -> dict[str, int]:
    """Bound the answer. OpenAI's own reasoning models refuse `max_tokens`; older local servers know nothing else."""
    name = "max_completion_tokens" if endpoint.host == _OWN_HOST else "max_tokens"
    return {name: min(request.max_tokens, model.max_output)}


def _client(endpoint: Endpoint, timeout_s: float) -> Any:
    """Make the package's client for one call: no retries (the gateway's). It wants a key, though a server may not."""
    import openai

    from sophron.agents.gateway.backends import http_client

    return openai.OpenAI(
        api_key=endpoint.key or "unused",
        base_url=endpoint.url,
        max_retries=0,
        timeout=http_client.timeout(timeout_s),
        http_client=http_client.client(openai, timeout_s),
    )
