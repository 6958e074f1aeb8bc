"""What a model backend is: one request answered once. Retries, budgets, audit and validation belong to the gateway."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sophron.interfaces import JsonObject


@dataclass(frozen=True)
class Text:
    """Plain text."""

    text: str


@dataclass(frozen=True)
class Image:
    """A picture. media_type: e.g. `image/png`; data: base64."""

    media_type: str
    data: str


@dataclass(frozen=True)
class ToolCall:
    """A model asks for a tool. arguments: None if what it wrote, `raw`, is not a JSON object."""

    id: str
    name: str
    arguments: JsonObject | None
    raw: str = ""

    @staticmethod
    def of_text(identity: str, name: str, written: str) -> ToolCall:
        """Return the call whose arguments are the JSON text `written`, or that text if it is not an object."""
        try:
            arguments = json.loads(written)
        except json.JSONDecodeError:
            arguments = None
        if isinstance(arguments, dict):
            return ToolCall(identity, name, arguments)
        return ToolCall(identity, name, None, written)


@dataclass(frozen=True)
class ToolAnswer:
    """What a tool gave back for the call `id`."""

    id: str
    content: tuple[Text | Image, ...]
    is_error: bool = False


Part = Text | Image | ToolCall | ToolAnswer


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Tool:
    """A tool as a model sees it. schema: JSON Schema of its arguments (an object)."""

    name: str
    description: str
    schema: JsonObject


@dataclass(frozen=True)
class Model:
    """One entry of `config/models.yaml`. Prices in US dollars per million tokens; context and max_output in tokens.

    provider: name of the backend that reaches it (a key of the registry `sophron.models`); name: what the provider
    calls it; rank: 1 is the strongest; roles: what it may be used for; price_cache_write: of input that the provider
    keeps for later calls, where that costs more than price_in (what is read from there is counted at price_in);
    base_url_env and key_env: names of the environment variables that hold its address and its key, never the values.
    """

    handle: str
    provider: str
    name: str
    rank: int
    roles: tuple[str, ...] = ("control", "work")
    price_in: float = 0.0
    price_out: float = 0.0
    price_cache_write: float = 0.0
    context: int = 200_000
    max_output: int = 8_000
    base_url_env: str = ""
    key_env: str = ""
    timeout_s: float = 600.0

    def dollars(self, usage: Usage) -> float:
        """Return what a call cost at most; never below the provider's own count."""
        kept = usage.cache_written * max(self.price_cache_write - self.price_in, 0.0)
        return (usage.input_tokens * self.price_in + kept + usage.output_tokens * self.price_out) / 1e6


@dataclass(frozen=True)
class Usage:
    """Tokens of one call, as the provider counted them.

    cached: how many of the input came from a prompt cache; cache_written: how many were put there.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached: int = 0
    cache_written: int = 0


@dataclass(frozen=True)
class Request:
    """What is asked, whichever model answers.

    step: the asking step (`caveats`, `debug-produce-2`); agent: its agent; turn: number of this call in the step, from
    1. inputs: the step's inputs by role as plain data, which `messages` hold as text too (rules of thumb read these).
    schema: JSON Schema that the final answer must fit; tools: what the model may call before it answers.
    """

    step: str
    agent: str
    turn: int
    system: str
    messages: tuple[Message, ...]
    schema: JsonObject
    inputs: JsonObject = field(default_factory=dict)
    tools: Sequence[Tool] = ()
    max_tokens: int = 4_000


@dataclass(frozen=True)
class Response:
    """One answer. stop: `end` (it answered), `tool` (it wants tools), `length` (cut at max_tokens), `refusal`.

    backend and model say who answered, also in a replay; raw is the provider's own body for the audit.
    """

    parts: tuple[Text | ToolCall, ...]
    stop: Literal["end", "tool", "length", "refusal"]
    usage: Usage
    backend: str
    model: str
    raw: JsonObject = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return all text of the answer."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Return the calls of tools in the answer."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


FailureKind = Literal[
    "limited",  # 429
    "overloaded",  # 529, 503
    "server",  # other 5xx
    "timeout",  # no answer in time
    "cut",  # the stream or connection ended in the middle
    "malformed",  # the body is no JSON
    "wrong_shape",  # JSON, but not what this service answers
    "rejected",  # 400: this request is wrong, and will be again
    "unauthorized",  # 401, 403: key missing or refused
    "unreachable",  # no connection was made
    "absent",  # a replay or mailbox that has no answer
]


class ModelError(Exception):
    """A call that gave no answer.

    outcome: `none` where the provider surely did not work on it (nothing to pay), `unknown` where it may have (it is
    charged at its reservation). retry_after_s: what the service asked for. status: HTTP status where there was one.
    """

    def __init__(
        self,
        kind: FailureKind,
        reason: str,
        *,
        outcome: Literal["none", "unknown"] = "unknown",
        retry_after_s: float | None = None,
        status: int | None = None,
        raw: JsonObject | None = None,
    ) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.outcome = outcome
        self.retry_after_s = retry_after_s
        self.status = status
        self.raw = raw or {}


class ModelBackend(ABC):
    """A way to reach models. Found by name through the entry points `sophron.models`; made without arguments.

    A backend makes exactly one attempt: no retries, no fallback, no validation of the answer against the schema.
    """

    name: str

    @abstractmethod
    def missing(self, model: Model) -> str | None:
        """Return one sentence that says what `model` lacks (a package, a key), or None if a call can be tried."""

    @abstractmethod
    def count(self, request: Request, model: Model) -> int:
        """Return the input tokens of `request`: counted by the service if it can, else an upper bound."""

    @abstractmethod
    def complete(self, request: Request, model: Model) -> Response:
        """Ask once. Raises ModelError."""


class CampaignBackend(ModelBackend):
    """A backend that answers from files of the campaign. The gateway sets `root`, its folder, before it asks."""

    root: Path = Path()
