"""The judge: a screening pass, then scores by dimension with their evidence, computed where they can be (II-C, III-B).

A computed score is a ceiling: what a model says of a run may lower it and never raise it, so that nothing that a report
says to its judge can make up for what the tools wrote down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sophron.agentbuild.case_run import CaseRun, Checked, RubricCheck, score
from sophron.agentbuild.rubric import CHECKS, Dimension, Rubric
from sophron.records import documents, entry_points
from sophron.records.errors import UserError

Answer = Mapping[str, Any]
Screen = Callable[[CaseRun], Answer]
"""Asks the screening judge: an answer that fits `agents/screening`."""
Score = Callable[[CaseRun, Mapping[str, Any], int], Answer]
"""Asks the scoring judge about (run, what was computed, number of the repeat): an answer that fits `agents/scoring`."""


@dataclass(frozen=True)
class Screened:
    """Whether a run can be scored. reasons: sentences where not; by: who found them, `program` or `judge`."""

    passed: bool
    reasons: tuple[str, ...]
    by: str


def screen(run: CaseRun, rubric: Rubric) -> Screened:
    """The computed half of the screening pass: a crash, a missing report, a document that is not one."""
    if run.failure:
        return Screened(passed=False, reasons=(f"the run ended without a report: {run.failure}",), by="program")
    if run.report is None or run.trajectory is None:
        lacking = "report" if run.report is None else "trajectory"
        return Screened(passed=False, reasons=(f"there is no {lacking}",), by="program")
    named = (("report", run.report, rubric.report_schema), ("trajectory", run.trajectory, rubric.trajectory_schema))
    for name, value, schema in named:
        if schema and (found := documents.faults(documents.Document(value, Path(name)), schema)):
            return Screened(passed=False, reasons=tuple(found[:5]), by="program")
    return Screened(passed=True, reasons=(), by="program")


def computed(run: CaseRun, rubric: Rubric) -> dict[str, dict[str, Any]]:
    """Dimension -> its computed score, faults and what was looked at; only dimensions that have checks."""
    return {one.code: _computed(run, one, rubric) for one in rubric.dimensions if one.checks}


def _computed(run: CaseRun, dimension: Dimension, rubric: Rubric) -> dict[str, Any]:
    checked: list[Checked] = []
    for name in dimension.checks:
        check: RubricCheck = entry_points.load(CHECKS, name)
        try:
            checked.append(check(run, dimension.parameters))
        except KeyError as error:
            raise UserError(
                f"rubric.yaml: {dimension.code}: the check {name} lacks the parameter or part {error}; its docstring "
                "says what it needs of the rubric and the reference"
            ) from None
    return {
        "score": score(checked, rubric.lowest, rubric.highest),
        "faults": [asdict(fault) | {"about": dict(fault.about)} for one in checked for fault in one.faults],
        "looked_at": [one.looked_at for one in checked],
        "numbers": {name: value for one in checked for name, value in one.numbers.items()},
    }


def judge(run: CaseRun, rubric: Rubric, ask_screen: Screen, ask_score: Score) -> dict[str, Any]:
    """The scorecard of one run, a document that fits `build/scorecard`.

    A run that fails the screening has the lowest score in every dimension, and the scoring judge is not asked.
    """
    screened = screen(run, rubric)
    if screened.passed:
        said = ask_screen(run)
        screened = Screened(passed=bool(said["passed"]), reasons=tuple(said["reasons"]), by="judge")
    if not screened.passed:
        dimensions = [_unscored(one, rubric) for one in rubric.dimensions]
        return _card(run, screened, dimensions)
    found = computed(run, rubric)
    answers = [ask_score(run, found, number) for number in range(1, rubric.repeats + 1)] if rubric.asked else []
    return _card(run, screened, [_scored(one, rubric, found, answers) for one in rubric.dimensions])


def _unscored(dimension: Dimension, rubric: Rubric) -> dict[str, Any]:
    about = {"code": dimension.code, "threshold": dimension.threshold, "computed": None, "asked": []}
    return about | {"score": rubric.lowest, "passed": rubric.lowest >= dimension.threshold, "disagreement": 0}


def _scored(
    dimension: Dimension, rubric: Rubric, found: Mapping[str, Mapping[str, Any]], answers: Sequence[Answer]
) -> dict[str, Any]:
    asked = [_entry(dimension.code, answer) for answer in answers] if dimension.asks else []
    calculated = found.get(dimension.code)
    said = [one["score"] for one in asked]
    final = min([*said, *([calculated["score"]] if calculated else [])], default=rubric.lowest)
    return {
        "code": dimension.code,
        "threshold": dimension.threshold,
        "computed": dict(calculated) if calculated else None,
        "asked": asked,
        "score": final,
        "passed": final >= dimension.threshold,
        "disagreement": max(said) - min(said) if said else 0,
    }


def _entry(code: str, answer: Answer) -> dict[str, Any]:
    """What one answer says of a dimension; a dimension that it leaves out cannot be: its step refuses such answers."""
    one: Mapping[str, Any] = next(each for each in answer["scores"] if each["code"] == code)
    return {"score": one["score"], "evidence": one["evidence"]}


def _card(run: CaseRun, screened: Screened, dimensions: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "case": run.case,
        "screening": {"passed": screened.passed, "reasons": list(screened.reasons), "by": screened.by},
        "dimensions": dimensions,
        "passed": all(one["passed"] for one in dimensions),
    }


def scores(card: Mapping[str, Any]) -> dict[str, int]:
    """Dimension -> score of a scorecard."""
    return {one["code"]: one["score"] for one in card["dimensions"]}


def faults(answer: Answer, rubric: Rubric) -> list[str]:
    """What speaks against an answer of the scoring judge beyond its schema: each asked dimension once, on the scale."""
    wanted, given = [one.code for one in rubric.asked], [one["code"] for one in answer["scores"]]
    if sorted(given) != sorted(wanted):
        return [f"scores must be those of {', '.join(wanted)}, each once"]
    beyond = [one for one in answer["scores"] if not rubric.lowest <= one["score"] <= rubric.highest]
    return [f"{one['code']} has {one['score']}; the scale is {rubric.lowest} to {rubric.highest}" for one in beyond]
