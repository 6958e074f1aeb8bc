"""Address and key of a model: both come from the environment, and the key is shown nowhere."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from sophron.interfaces.model_backend import Model, ModelError

_LEAST_SECRET = 8
"""Shorter keys are placeholders of servers of one's own; blotting out such a common word would spoil the audit."""


@dataclass(frozen=True)
class Endpoint:
    """An address and its key; `key` is not part of the repr."""

    service: str
    url: str
    key: str = field(repr=False)

    @property
    def host(self) -> str:
        """Host and port, without a password that the address may hold."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    def cleaned(self, value: Any) -> Any:
        """Return `value` (JSON) with the key blotted out wherever a service echoed it, names of members included."""
        if len(self.key) < _LEAST_SECRET:
            return value
        if isinstance(value, str):
            return value.replace(self.key, "[key]")
        if isinstance(value, dict):
            return {self.cleaned(name): self.cleaned(inner) for name, inner in value.items()}
        return [self.cleaned(inner) for inner in value] if isinstance(value, list) else value


@dataclass(frozen=True)
class Service:
    """A kind of service: its client package, its public address, and the variables used if a model names none.

    keyless: whether servers of one's own, at an address that the user gave, may be asked without a key.
    """

    name: str
    package: str
    url: str
    url_env: str
    key_env: str
    keyless: bool

    def missing(self, model: Model) -> str | None:
        """Return one sentence that says what `model` lacks, or None."""
        url = self._url(model)
        if not url:
            return f"{model.handle}: its address is missing; set the environment variable {model.base_url_env}"
        if not _is_address(url):
            return f"{model.handle}: {model.base_url_env or self.url_env} holds no http or https address; correct it"
        reason = self._key_missing(model, url)
        if reason is None and find_spec(self.package) is None:
            return f"{model.handle}: the package {self.package} is not installed; pip install 'sophron[agents]'"
        return reason

    def endpoint(self, model: Model) -> Endpoint:
        """Return where to call. Raises ModelError if something is missing: nothing is imported or sent before that."""
        if (reason := self.missing(model)) is not None:
            raise ModelError("unauthorized", reason, outcome="none")
        return Endpoint(self.name, self._url(model), self._key(model))

    def _url(self, model: Model) -> str:
        """Return the address. A model that names its own variable never falls back to the public service."""
        if model.base_url_env and model.base_url_env != self.url_env:
            return os.environ.get(model.base_url_env, "").strip()
        return os.environ.get(self.url_env, "").strip() or self.url

    def _key_variable(self, model: Model) -> str:
        """Return the key's variable. The default key goes to the default address only: nobody else is given it."""
        elsewhere = model.base_url_env not in {"", self.url_env}
        return model.key_env or ("" if elsewhere else self.key_env)

    def _key(self, model: Model) -> str:
        variable = self._key_variable(model)
        return os.environ.get(variable, "").strip() if variable else ""

    def _key_missing(self, model: Model, url: str) -> str | None:
        variable, key = self._key_variable(model), self._key(model)
        if key and not (key.isascii() and key.isprintable() and " " not in key):
            return f"{model.handle}: {variable} holds characters that no key has; set it again"
        if key or (self.keyless and not model.key_env and url != self.url):
            return None
        if not variable:
            return f"{model.handle}: no key is named for {model.base_url_env}; give the model a key_env"
        return f"{model.handle}: its key is missing; set the environment variable {variable}"


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
