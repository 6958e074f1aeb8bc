"""Answers of agents as types, each with the fields that code reads, and the error in place of an answer."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sophron.agents.documents.redact import half_characters
from sophron.campaign.execution.outcome_store import AnswerFailure, OutputFile
from sophron.interfaces import JsonObject
from sophron.records.files import parse_json
from sophron.records.typed_json import left_out

Kind = Literal[
    "budget",  # no model was left whose reservation fits every cap
    "unavailable",  # no model of the rank gave an answer
    "invalid_answer",  # there was an answer, and it does not fit its schema
    "refusal",  # the model declined
    "too_long",  # the request does not fit a model, or the answer was cut
    "tool",  # the model kept asking for tools
    "absent",  # a replay or a mailbox has no answer
]


OWN: frozenset[Kind] = frozenset({"invalid_answer", "refusal", "too_long", "tool"})
"""Kinds that say something about the agent; the others say that it was not asked, and another time it may be."""


class AgentError(Exception):
    """An agent gave no usable answer. kind: for programs; reason: one sentence for people."""

    def __init__(self, kind: Kind, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


LONGEST_ANSWER = 400_000
FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n```\s*\Z", flags=re.DOTALL)
CITED_ROLE = "found_works"
"""Input by which an agent is told of works that others found; name of the file beside an answer, too."""
REMOVED = object()
"""In place of a value: the key is removed."""


@dataclass(frozen=True)
class AnswerRecord:
    """The file that an agent step leaves: `schemas/agent-answer.schema.yaml`. It has an answer, or a failure.

    inputs: role -> digest of what the agent was told; files: what its tools left, by name.
    """

    step: str
    agent: str
    agent_digest: str
    backend: str
    model: str
    inputs: Mapping[str, str]
    answer: JsonObject | None = left_out()  # noqa: RUF009
    failure: AnswerFailure | None = left_out()  # noqa: RUF009
    files: Mapping[str, OutputFile] | None = left_out()


@dataclass(frozen=True)
class Overlay:
    """The one mechanical change that the debug agent may choose."""

    key: str
    value: object


@dataclass(frozen=True, kw_only=True)
class DebugAnswer:
    """Why a step or a stage failed, and what is done about it. kind: its class; action: overlay, retry or escalate."""

    diagnosis: str
    evidence: Sequence[str] = ()
    kind: str = left_out(default="", key="class")
    action: str = "escalate"
    overlay: Overlay | None = None
    reason: str = ""
    confidence: str = ""
    remember: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """A key of the spec, dotted, and its new value."""

    path: str
    value: object = left_out(default=REMOVED)


@dataclass(frozen=True)
class AmendAnswer:
    """A drafted amendment; without changes a person must decide."""

    changes: tuple[Change, ...]
    rationale: str


@dataclass(frozen=True)
class VerifyAnswer:
    """The verdict of a stage, in words."""

    stage: str
    verdict: str
    explanation: str


@dataclass(frozen=True)
class NamedProcess:
    """A running process, by its step."""

    step: str


@dataclass(frozen=True)
class ResumeAnswer:
    """Where a campaign stands: names of stages, and its running processes."""

    ran: tuple[str, ...]
    running: tuple[str, ...]
    processes: tuple[NamedProcess, ...]
    next: tuple[str, ...]


@dataclass(frozen=True, order=True)
class RestartFile:
    """A restart file, by the folder of its step and its name."""

    step: str
    file: str


@dataclass(frozen=True)
class ChosenFile:
    """The restart file that a step goes on from."""

    file: str


@dataclass(frozen=True)
class RestartAnswer:
    """Which restart files stay and go. chosen: step -> what it goes on from."""

    kept: tuple[RestartFile, ...]
    pruned: tuple[RestartFile, ...]
    chosen: Mapping[str, ChosenFile]


def parsed(text: str) -> tuple[Any, list[str]]:
    """Return the JSON object in an answer, and what speaks against it. A code fence around it is taken off."""
    if len(text) > LONGEST_ANSWER:
        return None, [f"it is longer than {LONGEST_ANSWER} characters"]
    fenced = FENCE.match(text)
    try:
        answer = parse_json(fenced[1] if fenced else text, object_pairs_hook=_no_repeats)
    except (ValueError, RecursionError) as error:
        return None, [f"it is not valid JSON ({error})"]
    return answer, half_characters(answer) if isinstance(answer, dict) else ["it is not a JSON object"]


def _no_repeats(pairs: list[tuple[str, Any]]) -> JsonObject:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key stands there twice")
    return content
