"""The gateway: the only way to a model. Picks one by rank, reserves, asks, retries, falls back, audits, settles.

The catalogue of models is `config/models.yaml` as shipped, changed entry by entry by a campaign's own file.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from sophron.agents.documents.answers import AgentError, Kind
from sophron.agents.documents.model_request import request_digest
from sophron.agents.documents.redact import whole
from sophron.agents.gateway.audit import Audit
from sophron.agents.gateway.ledger import BudgetError, Ledger, Reservation
from sophron.interfaces.model_backend import (
    CampaignBackend,
    Model,
    ModelBackend,
    ModelError,
    Request,
    Response,
    Text,
    ToolCall,
    Usage,
)
from sophron.records import entry_points, retry
from sophron.records.documents import Document, load_yaml, validate
from sophron.records.errors import UserError, did_you_mean, shown
from sophron.records.files import resource
from sophron.records.retry import Pauses
from sophron.records.typed_json import from_json

FILE = Path("config", "models.yaml")
STAND_INS = frozenset({"heuristic", "replay"})
"""Providers that ask nobody: their answers are no model calls, and the ledger does not count them."""
NAMED_ONLY = STAND_INS | {"mailbox"}
"""Providers that answer only where they are named: none of them replaces a language model behind anyone's back."""


@dataclass(frozen=True)
class Catalogue:
    """All models, in the order in which they are tried."""

    models: tuple[Model, ...]

    def get(self, handle: str) -> Model:
        """Return the model called `handle`; UserError if there is none."""
        for model in self.models:
            if model.handle == handle:
                return model
        hint = did_you_mean(handle, (model.handle for model in self.models))
        raise UserError(f'{FILE}: there is no model "{shown(handle)}"; {hint}')

    def candidates(self, rank: int, role: str, provider: str | None = None) -> list[Model]:
        """Return models that may answer for a role, in order: those of `rank` and no others.

        provider: its models alone. One that has none of this rank gives those of its next stronger rank, so that
        rules of thumb and a mailbox stand in for every rank; a weaker model never does.
        """
        fit = [model for model in self.models if role in model.roles]
        if provider is None:
            return [model for model in fit if model.rank == rank and model.provider not in NAMED_ONLY]
        own = [model for model in fit if model.provider == provider and model.rank <= rank]
        nearest = max((model.rank for model in own), default=rank)
        return [model for model in own if model.rank == nearest]


def load_catalogue(root: Path) -> Catalogue:
    """Return the catalogue of the campaign at `root`; UserError names file, key and remedy of a faulty entry."""
    shipped = load_yaml(resource(*FILE.parts))
    own = root / FILE
    document = _merged_catalogue(shipped, load_yaml(own)) if own.is_file() else shipped
    validate(document, "models")
    return Catalogue(
        tuple(from_json(Model, {**entry, "handle": handle}) for handle, entry in document.data["models"].items())
    )


def _merged_catalogue(shipped: Document, own: Document) -> Document:
    """Put the campaign's entries first, as it prefers them; each keeps the shipped keys that it does not state."""
    validate(own, "models", "changes")
    entries, changes = shipped.data["models"], own.data["models"]
    merged = {handle: {**entries.get(handle, {}), **change} for handle, change in changes.items()}
    return Document(
        {"models": merged | {key: entries[key] for key in entries if key not in merged}}, own.path, own.lines
    )


REGISTRY = "sophron.models"
# If one call in five fails, three in a million requests run out of attempts.
PAUSES = Pauses(attempts=8, first_s=1.0, longest_s=60.0)
PASSING = frozenset({"limited", "overloaded", "server", "timeout", "cut", "malformed", "wrong_shape", "unreachable"})


class Gateway:
    """Asks models for the steps of one campaign.

    backend: ask this provider's models and no others; without it the rank decides, and rules of thumb, replays and
    mailboxes are left out. model: handle of the model to ask first. sleep: how to wait, in seconds.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        ledger: Ledger,
        audit: Audit,
        *,
        backend: str | None = None,
        model: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.catalogue = catalogue
        self.ledger = ledger
        self.audit = audit
        self.backend = backend
        self.model = model
        self._sleep = sleep
        self._backends: dict[str, ModelBackend] = {}

    def ask(self, request: Request, *, rank: int, role: str, until: float = math.inf) -> Response:
        """Return the answer of the first model that gives one; without secrets, as the audit has it.

        until: on the monotonic clock in seconds, when the step's time is over, whatever attempts and waits it took.
        Raises AgentError (kinds budget, unavailable, too_long, absent).
        """
        faults: list[tuple[Kind, str]] = []
        for model in self._candidates(rank, role):
            try:
                return self._one(request, model, until)
            except AgentError as failure:
                faults.append((failure.kind, f"{model.handle}: {failure.reason}"))
        raise self._failure(faults, rank, role)

    def _candidates(self, rank: int, role: str) -> list[Model]:
        if self.model is None:
            return self.catalogue.candidates(rank, role, self.backend)
        first = self.catalogue.get(self.model)
        others = self.catalogue.candidates(first.rank, role, self.backend)
        return [first, *(model for model in others if model != first)]

    def _failure(self, faults: list[tuple[Kind, str]], rank: int, role: str) -> AgentError:
        """Return one failure of all candidates: its kind is theirs where they agree."""
        if not faults:
            of = f" of the backend {self.backend}" if self.backend else ""
            return AgentError("unavailable", f"config/models.yaml has no model{of} of rank {rank} for {role}; add one")
        kinds = {kind for kind, _ in faults}
        reason = self.audit.redactor.text("; ".join(reason for _, reason in faults))
        return AgentError(kinds.pop() if len(kinds) == 1 else "unavailable", reason)

    def _one(self, request: Request, model: Model, until: float) -> Response:
        """Ask one model, again if the failure may pass. AgentError if it gives no answer."""
        backend = self._backend(model)
        if missing := backend.missing(model):
            raise AgentError("unavailable", missing)

        def attempt() -> Response:
            seconds_left = until - time.monotonic()
            if seconds_left <= 0:
                raise AgentError("unavailable", "the agent's limits.seconds are over; raise them")
            return self._attempt(request, replace(model, timeout_s=min(model.timeout_s, seconds_left)), backend)

        def pause(failure: ModelError, number: int) -> float:
            wait = _wait_s(failure, number, request, model)
            if wait is None or wait >= until - time.monotonic():
                kind: Kind = "absent" if failure.kind == "absent" else "unavailable"
                raise AgentError(kind, f"{failure.reason} ({failure.kind}, attempt {number})") from None
            return wait

        return retry.call(attempt, ModelError, pause, self._sleep)

    def _attempt(self, request: Request, model: Model, backend: ModelBackend) -> Response:
        """Reserve, ask once, audit, settle. Every attempt that was reserved is audited before it is settled."""
        reservation = self._reserve(request, model, backend)
        begun = time.monotonic()
        try:
            response = backend.complete(request, model)
        except ModelError as failure:
            self.audit.failed(request, model, failure, time.monotonic() - begun)
            if reservation is not None:
                close = self.ledger.release if failure.outcome == "none" else self.ledger.charge
                close(reservation)
            raise
        response = response if model.provider == "replay" else self._redact(response)
        dollars = 0.0 if reservation is None else model.dollars(response.usage)
        self.audit.answered(request, model, response, time.monotonic() - begun, dollars)
        if reservation is not None:
            self._settle(reservation, response.usage, dollars)
        return response

    def _reserve(self, request: Request, model: Model, backend: ModelBackend) -> Reservation | None:
        """Return None for rules of thumb and replays, which ask nobody."""
        if model.provider in STAND_INS:
            return None
        input_tokens = backend.count(request, model)
        answer = min(request.max_tokens, model.max_output)
        if input_tokens + answer > model.context:
            raise AgentError(
                "too_long",
                f"{input_tokens} tokens of request and {answer} of answer do not fit its context of {model.context}; "
                "shorten the inputs",
            )
        dollars = model.dollars(Usage(input_tokens, answer, cache_written=input_tokens))
        try:
            return self.ledger.reserve(request.step, model.handle, input_tokens + answer, dollars)
        except BudgetError as over:
            raise AgentError("budget", over.reason) from None

    def _settle(self, reservation: Reservation, usage: Usage, dollars: float) -> None:
        """Settle what was used; a service that does not say it is charged as reserved."""
        if usage.input_tokens + usage.output_tokens > 0:
            self.ledger.settle(reservation, usage, dollars)
        else:
            self.ledger.charge(reservation)

    def _redact(self, response: Response) -> Response:
        """Redact: a step uses what the audit keeps, so that a replay gives the same bytes and no key leaves here."""
        clean = self.audit.redactor
        parts = tuple(
            Text(whole(clean.text(part.text)))
            if isinstance(part, Text)
            else ToolCall(
                part.id,
                part.name,
                None if part.arguments is None else clean.plain(part.arguments),
                clean.text(part.raw),
            )
            for part in response.parts
        )
        return replace(response, parts=parts, raw=clean.plain(response.raw))

    def _backend(self, model: Model) -> ModelBackend:
        if model.provider not in self._backends:
            backend: ModelBackend = entry_points.load(REGISTRY, model.provider)()
            if isinstance(backend, CampaignBackend):
                backend.root = self.ledger.root
            self._backends[model.provider] = backend
        return self._backends[model.provider]


def _wait_s(failure: ModelError, attempt: int, request: Request, model: Model) -> float | None:
    """Return the seconds to wait before asking again; None if asking again would not help. The jitter is seeded."""
    # In a time-out with the outcome `none` nobody took the request up in all that time: a mailbox.
    unread = failure.kind == "timeout" and failure.outcome == "none"
    if failure.kind not in PASSING or unread:
        return None
    jitter = Random(f"{request_digest(request)} {model.handle} {attempt}").uniform(0.5, 1.0)  # noqa: S311
    return PAUSES.after(attempt, failure.retry_after_s, jitter)
