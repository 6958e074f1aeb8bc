"""The judge: a screening pass, then scores by dimension with their evidence, computed where they can be (II-C, III-B).

A computed score is a ceiling: what a model says of a run may lower it and never raise it, so that nothing that a report
says to its judge can make up for what the tools wrote down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sophron.agentbuild.rubric import CaseRun, Checked, Dimension, Fault, Rubric, score
from sophron.records import documents
from sophron.records.errors import UserError
from sophron.records.typed_json import from_json


@dataclass(frozen=True)
class Screening:
    """Whether a run can be scored. reasons: sentences if not; by: who found them, `program` or `judge`."""

    passed: bool
    reasons: tuple[str, ...] = ()
    by: str = "judge"


@dataclass(frozen=True)
class Evidence:
    """The score of one repeat of the scoring judge, and what it rests on."""

    score: int
    evidence: str


@dataclass(frozen=True)
class Opinion(Evidence):
    """What one answer of the scoring judge says of a dimension."""

    code: str


@dataclass(frozen=True)
class Scoring:
    """An answer of the scoring judge, `agents/judge-score`."""

    scores: tuple[Opinion, ...]


@dataclass(frozen=True)
class Computed:
    """What programs found of a dimension. looked_at: what was compared; numbers: of the case."""

    score: int
    faults: tuple[Fault, ...]
    looked_at: tuple[str, ...]
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Score:
    """The score of a dimension: the lowest of what was computed and of all answers.

    disagreement: largest less smallest score among the repeats of the judge.
    """

    code: str
    threshold: int
    computed: Computed | None
    asked: tuple[Evidence, ...]
    score: int
    passed: bool
    disagreement: int


@dataclass(frozen=True)
class Scorecard:
    """What the judge says of one run on one case, `build/scorecard`."""

    case: str
    screening: Screening
    dimensions: tuple[Score, ...]
    passed: bool

    @property
    def scores(self) -> dict[str, int]:
        """Dimension -> score."""
        return {dimension.code: dimension.score for dimension in self.dimensions}


def read_card(path: Path) -> Scorecard:
    """Return the scorecard in a file."""
    return from_json(Scorecard, documents.load_json(path))


Screen = Callable[[CaseRun], Screening]
"""Asks the screening judge."""
AskScore = Callable[[int], Scoring]
"""Asks the scoring judge; its argument is the number of the repeat."""


def screen(run: CaseRun, rubric: Rubric) -> Screening:
    """The computed half of the screening pass: a crash, a missing report, a document that is not one."""
    if run.failure:
        return Screening(passed=False, reasons=(f"the run ended without a report: {run.failure}",), by="program")
    if run.report is None or run.trajectory is None:
        lacking = "report" if run.report is None else "trajectory"
        return Screening(passed=False, reasons=(f"there is no {lacking}",), by="program")
    named = (("report", run.report, rubric.report_schema), ("trajectory", run.trajectory, rubric.trajectory_schema))
    for name, value, schema in named:
        if schema and (found := documents.faults(documents.Document(value, Path(name)), schema)):
            return Screening(passed=False, reasons=tuple(found[:5]), by="program")
    return Screening(passed=True, reasons=(), by="program")


def computed(run: CaseRun, rubric: Rubric) -> dict[str, Computed]:
    """Dimension -> what programs find of it; only dimensions that have checks."""
    return {one.code: _computed(run, one, rubric) for one in rubric.dimensions if one.checks}


def _computed(run: CaseRun, dimension: Dimension, rubric: Rubric) -> Computed:
    checked: list[Checked] = []
    for name in dimension.checks:
        check = rubric.check(name)
        try:
            checked.append(check(run, dimension.parameters))
        except KeyError as error:
            raise UserError(
                f"rubric.yaml: {dimension.code}: the check {name} lacks the parameter or part {error}; its docstring "
                "says what it needs of the rubric and the reference"
            ) from None
    return Computed(
        score=score(checked, rubric.lowest, rubric.highest),
        faults=tuple(fault for one in checked for fault in one.faults),
        looked_at=tuple(one.looked_at for one in checked),
        numbers={name: value for one in checked for name, value in one.numbers.items()},
    )


def judge(run: CaseRun, rubric: Rubric, ask_screen: Screen, ask_score: AskScore) -> Scorecard:
    """The scorecard of one run.

    A run that fails the screening has the lowest score in every dimension, and the scoring judge is not asked.
    """
    screening = screen(run, rubric)
    if screening.passed:
        screening = ask_screen(run)
    if not screening.passed:
        return _card(run, screening, [_score(one, rubric.lowest, None, ()) for one in rubric.dimensions])
    found = computed(run, rubric)
    answers = [ask_score(number) for number in range(1, rubric.repeats + 1)] if rubric.asked else []
    return _card(run, screening, [_scored(one, rubric, found.get(one.code), answers) for one in rubric.dimensions])


def _scored(dimension: Dimension, rubric: Rubric, found: Computed | None, answers: Sequence[Scoring]) -> Score:
    said = [one for answer in answers for one in answer.scores if dimension.asks and one.code == dimension.code]
    lowest = min([*(one.score for one in said), *([found.score] if found else [])], default=rubric.lowest)
    return _score(dimension, lowest, found, tuple(Evidence(one.score, one.evidence) for one in said))


def _score(dimension: Dimension, lowest: int, found: Computed | None, asked: tuple[Evidence, ...]) -> Score:
    scores = [one.score for one in asked]
    return Score(
        code=dimension.code,
        threshold=dimension.threshold,
        computed=found,
        asked=asked,
        score=lowest,
        passed=lowest >= dimension.threshold,
        disagreement=max(scores) - min(scores) if scores else 0,
    )


def _card(run: CaseRun, screening: Screening, dimensions: list[Score]) -> Scorecard:
    return Scorecard(run.case, screening, tuple(dimensions), all(one.passed for one in dimensions))


def faults(answer: Scoring, rubric: Rubric) -> list[str]:
    """What speaks against an answer of the scoring judge beyond its schema: each asked dimension once, on the scale."""
    wanted, given = [one.code for one in rubric.asked], [one.code for one in answer.scores]
    if sorted(given) != sorted(wanted):
        return [f"scores must be those of {', '.join(wanted)}, each once"]
    beyond = [one for one in answer.scores if not rubric.lowest <= one.score <= rubric.highest]
    return [f"{one.code} has {one.score}; the scale is {rubric.lowest} to {rubric.highest}" for one in beyond]
