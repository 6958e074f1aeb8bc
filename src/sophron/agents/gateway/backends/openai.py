"""The backend for chat completions in OpenAI's form: its own service, others that speak it, local servers."""

from __future__ import annotations

import json
from typing import Any

from sophron.agents.gateway.backends import openai_convert as form
from sophron.agents.gateway.backends import structured_output
from sophron.agents.gateway.backends.endpoint import Endpoint, Service
from sophron.agents.gateway.backends.token_estimate import tokens_at_most
from sophron.interfaces.model_backend import Model, ModelBackend, ModelError, Request, Response

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
_forms: dict[tuple[str, str], form.Form] = {}
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
        """One sentence that says what lacks (key, address, package), or None. Imports nothing heavy."""
        return _SERVICE.missing(model)

    def count(self, request: Request, model: Model) -> int:
        """An upper bound on input tokens (backends/bound.py): chat completions have nothing that counts."""
        del model
        return tokens_at_most(request, structured_output.in_words(request.schema))

    def complete(self, request: Request, model: Model) -> Response:
        """Ask once. Raises ModelError; `raw` of answer and failure are free of the key."""
        endpoint = _SERVICE.endpoint(model)
        place = (endpoint.url, model.name)
        first = _forms.get(place, "json_schema")
        try:
            return self._answered(request, model, endpoint, first)
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
            return self._answered(request, model, endpoint, _other(first))
        except ModelError as failure:
            raise refused if failure.status in _FORM_REFUSED else failure from None

    @staticmethod
    def _answered(request: Request, model: Model, endpoint: Endpoint, told: form.Form) -> Response:
        import openai

        from sophron.agents.gateway.backends import http_errors

        body = {**form.prompt(request, model, told), **_bounded(request, model, endpoint)}
        with http_errors.typed(openai, endpoint), _client(endpoint, model.timeout_s) as client:
            sent = client.chat.completions.with_raw_response.create(**body)
            answer = endpoint.cleaned(json.loads(sent.http_response.text))
        try:
            made = form.response(answer, model)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise http_errors.wrong_shape(endpoint, str(error), answer) from None
        place = (endpoint.url, model.name)
        _forms[place] = told
        _proven.add(place)
        return made


def _other(told: form.Form) -> form.Form:
    return "json_object" if told == "json_schema" else "json_schema"


def _bounded(request: Request, model: Model, endpoint: Endpoint) -> dict[str, int]:
    """OpenAI's own reasoning models refuse `max_tokens`; older local servers know nothing else."""
    name = "max_completion_tokens" if endpoint.host == _OWN_HOST else "max_tokens"
    return {name: min(request.max_tokens, model.max_output)}


def _client(endpoint: Endpoint, timeout_s: float) -> Any:
    """The package's client for one call: no retries (the gateway's). It wants some key, though a server may not."""
    import openai

    from sophron.agents.gateway.backends import http_client

    return openai.OpenAI(
        api_key=endpoint.key or "unused",
        base_url=endpoint.url,
        max_retries=0,
        timeout=http_client.timeout(timeout_s),
        http_client=http_client.client(openai, timeout_s),
    )
