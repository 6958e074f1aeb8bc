"""Votes of experts, and how they are weighted into one critique (MDForge, appendix B.2 and equation 6).

Weights are exact fractions of the decimal numbers that experts wrote: which side of a threshold a score lies on
depends neither on rounding nor on the order of the experts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
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


PASS_FROM = Fraction(7, 10)
FAIL_TO = Fraction(3, 10)
SCORES = {Label.PASS: Fraction(1), Label.UNCERTAIN: Fraction(1, 2), Label.FAIL: Fraction(0)}
GRAVITY = {Severity.HIGH: 3, Severity.MEDIUM: 2, Severity.LOW: 1}
NO_CONFIDENCE = "No expert was confident of anything: the panel counts as uncertain."

Votes = Mapping[str, Vote]
"""Expert -> its vote in one round."""


class Mode(StrEnum):
    """What a panel was asked about."""

    DESIGN = "design"
    PRE = "pre"
    POST_SINGLE = "post_single"
    POST_BENCHMARK = "post_benchmark"


STEMS = {Mode.DESIGN: "design", Mode.PRE: "pre", Mode.POST_SINGLE: "single", Mode.POST_BENCHMARK: "post"}
"""What the names of the rules begin with in which a panel votes."""


@dataclass(frozen=True)
class Critique:
    """What a panel said; advice, never a gate.

    score: equation 6, from 0 to 1; weight: sum of reputation x confidence, 0 if the score is a convention (see
    `aggregate`); focus: where most of the weighted severity of concerns falls, None without any; text: insights and
    concerns of the last round in the order of reputation; rounds: all votes. Experts stand by name,
    so that equal panels give equal bytes.
    """

    mode: Mode
    label: Label
    score: float
    weight: float
    focus: Focus | None
    text: str
    reputations: Mapping[str, float]
    rounds: tuple[Votes, ...]


def aggregate(mode: Mode, rounds: Sequence[Votes], reputations: Mapping[str, float]) -> Critique:
    """Weigh the last of `rounds` by `reputations`; the earlier ones are kept in the critique and weigh nothing.

    A panel whose confidences are all 0 has no mean: it counts as uncertain, with the score 0.5 of that label and the
    weight 0. ValueError if no expert voted in the last round, or one that did has no reputation above 0.
    """
    last = rounds[-1] if rounds else {}
    _check(last, reputations)
    weights = {expert: _exact(reputations[expert]) * _exact(vote.confidence) for expert, vote in last.items()}
    weight = sum(weights.values(), Fraction(0))
    total = sum((weights[expert] * SCORES[vote.label] for expert, vote in last.items()), Fraction(0))
    score = total / weight if weight else SCORES[Label.UNCERTAIN]
    return Critique(
        mode=mode,
        label=panel_label(score),
        score=float(score),
        weight=float(weight),
        focus=_focus(last, weights),
        text=_text(last, reputations, silent=not weight),
        reputations=dict(sorted(reputations.items())),
        rounds=tuple(dict(sorted(each.items())) for each in rounds),
    )


def panel_label(score: Fraction) -> Label:
    """Return pass from 0.7 on, fail up to 0.3, both included; else uncertain."""
    if score >= PASS_FROM:
        return Label.PASS
    return Label.FAIL if score <= FAIL_TO else Label.UNCERTAIN


def _check(votes: Votes, reputations: Mapping[str, float]) -> None:
    if not votes:
        raise ValueError("a panel needs at least one vote in its last round")
    for expert, vote in votes.items():
        if not 0 < reputations.get(expert, 0) <= 1:
            raise ValueError(f"{expert} needs a reputation above 0 and up to 1")
        if not 0 <= vote.confidence <= 1:
            raise ValueError(f"the confidence of {expert} is {vote.confidence:g}, not from 0 to 1")


def _exact(number: float) -> Fraction:
    """The decimal number that is printed for `number`: 0.7 is seven tenths."""
    return Fraction(repr(float(number)))


def _focus(votes: Votes, weights: Mapping[str, Fraction]) -> Focus | None:
    """Each expert's gravest concern about a stage counts once, by its severity and the expert's weight."""
    sums = dict.fromkeys(Focus, Fraction(0))
    for expert, vote in votes.items():
        for focus in Focus:
            grave = max((GRAVITY[each.severity] for each in vote.concerns if each.focus is focus), default=0)
            sums[focus] += weights[expert] * grave
    gravest = max(Focus, key=lambda focus: sums[focus])  # the earliest stage of equal ones: later ones inherit faults
    return gravest if sums[gravest] else None


def _text(votes: Votes, reputations: Mapping[str, float], *, silent: bool) -> str:
    """Experts by reputation, then confidence, then name; the concerns of each with the gravest first."""
    order = sorted(votes, key=lambda expert: (-reputations[expert], -votes[expert].confidence, expert))
    parts = [NO_CONFIDENCE] if silent else []
    for expert in order:
        vote = votes[expert]
        lines = [f"{expert} ({vote.label.value}, confidence {vote.confidence:g}): {vote.strategic_insight}"]
        concerns = sorted(vote.concerns, key=lambda each: -GRAVITY[each.severity])
        lines += [f"- {each.severity.value}, {each.focus.value}: {each.text}" for each in concerns]
        if vote.edit:
            lines.append(f"- edit of {vote.edit.file}: {vote.edit.region!r} to {vote.edit.change!r}")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
