"""Votes: what one expert says in one round (MDForge, appendix B.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Self

from sophron.records.documents import Document, validate
from sophron.records.typed_json import from_json

SCHEMA = "agents/vote"


class Label(StrEnum):
    """What an expert, or a panel, thinks of a pipeline."""

    PASS = "pass"  # noqa: S105 - a label
    UNCERTAIN = "uncertain"
    FAIL = "fail"


class Severity(StrEnum):
    """How much a concern matters, the gravest first."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Focus(StrEnum):
    """The stage that a concern asks to change; the pipeline if no single stage is to blame."""

    PREPARATION = "preparation"
    EQUILIBRATION = "equilibration"
    PRODUCTION = "production"
    ANALYSIS = "analysis"
    PIPELINE = "pipeline"


@dataclass(frozen=True)
class Concern:
    """What may be wrong with one stage, and what to do about it."""

    severity: Severity
    focus: Focus
    text: str


@dataclass(frozen=True)
class Proposal:
    """The one surgical edit that an expert proposes: in `file`, where it reads `region`, to read `change`."""

    file: str
    region: str
    change: str


@dataclass(frozen=True)
class Vote:
    """An expert's vote. confidence: from 0 (weighs nothing) to 1; the rest as `agents/vote.schema.yaml` has it."""

    label: Label
    confidence: float
    strategic_insight: str
    concerns: tuple[Concern, ...]
    reasoning: str
    edit: Proposal | None = None

    @classmethod
    def read(cls, answer: object, source: Path) -> Self:
        """Return the vote in an expert's `answer`; UserError with `source` and key if it does not fit the schema."""
        validate(Document(answer, source), SCHEMA)
        vote = from_json(cls, answer)
        return replace(vote, confidence=float(vote.confidence))
