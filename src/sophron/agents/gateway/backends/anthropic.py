"""The backend for Anthropic's Messages API, through its own client package."""

from __future__ import annotations

import json
from typing import Any

from sophron.agents.gateway.backends import anthropic_convert as form
from sophron.agents.gateway.backends import structured_output
from sophron.agents.gateway.backends.endpoint import Endpoint, Service
from sophron.agents.gateway.backends.token_estimate import tokens_at_most
from sophron.interfaces import JsonObject
from sophron.interfaces.model_backend import Model, ModelBackend, ModelError, Request, Response

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
        """One sentence that says what lacks (key, address, package), or None. Imports nothing heavy."""
        return _SERVICE.missing(model)

    def count(self, request: Request, model: Model) -> int:
        """Input tokens as the service counts them, or an upper bound of ours where it does not answer."""
        endpoint = _SERVICE.endpoint(model)
        import anthropic

        from sophron.agents.gateway.backends import http_errors

        try:
            with http_errors.typed(anthropic, endpoint), _client(endpoint, min(model.timeout_s, _COUNT_S)) as client:
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

        from sophron.agents.gateway.backends import http_errors

        body = {**self._prompt(request, model), "max_tokens": min(request.max_tokens, model.max_output)}
        with (
            http_errors.typed(anthropic, endpoint),
            _client(endpoint, model.timeout_s) as client,
            client.messages.with_streaming_response.create(**body, stream=True) as answer,
        ):
            message = endpoint.cleaned(_message(answer.http_response, endpoint))
        try:
            answered = form.response(message, model)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise http_errors.wrong_shape(endpoint, str(error), message) from None
        self._said.setdefault(model.name, {}).update(form.said(message, answered))
        return answered

    def _prompt(self, request: Request, model: Model) -> JsonObject:
        """Thoughts are signed for the model that had them; another one gets the rest of the conversation only."""
        return form.prompt(request, model, self._said.get(model.name, {}))


def _client(endpoint: Endpoint, timeout_s: float) -> Any:
    """The package's client for one call: no retries (the gateway's), no tracing that carries prompts elsewhere."""
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
    """The whole message of a streamed answer. Raises ModelError, JSONDecodeError."""
    from anthropic import Stream

    from sophron.agents.gateway.backends import http_errors

    if not answer.headers.get("content-type", "").startswith("text/event-stream"):
        raise http_errors.wrong_shape(endpoint, "no stream of events", json.loads(answer.read()))
    assembly = form.Assembly()
    for sent in Stream.raw_events(answer):
        event = json.loads(sent.data) if sent.data else {"type": "ping"}
        try:
            assembly.add(event)
            said = event["error"] if event["type"] == "error" else None
        except (KeyError, TypeError, AttributeError, ValueError):
            raise http_errors.wrong_shape(endpoint, "an event", event) from None
        if said is not None:
            raise http_errors.of_event(said, endpoint)
    if not assembly.complete:
        reason = f"{endpoint.service} at {endpoint.host} ended its answer in the middle"
        raise ModelError("cut", reason, raw={"body": endpoint.cleaned(assembly.message)})
    return assembly.message
