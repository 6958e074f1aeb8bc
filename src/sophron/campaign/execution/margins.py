"""Margins of a verdict: for each comparison of a criterion, the step in which it holds by least or fails by most."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sophron.campaign.execution.verdict import JudgedCriterion, JudgedStep, Verdict
from sophron.campaign.spec.criteria import Comparison
from sophron.records.sanitize import one_line

LONGEST_QUOTE = 240
NOT_SO = "is not so"
"""The reason of a comparison that was made and does not hold; its numbers say more."""


@dataclass(frozen=True)
class Margin:
    """One comparison in one step. margin: distance from value to limit, below zero if missed; None without a number."""

    comparison: str
    step: str
    value: float | None
    limit: float | None
    margin: float | None


@dataclass(frozen=True)
class CriterionMargins:
    """A criterion over all steps. steps, missed: how many were judged, and in how many it does not hold.

    without_result: how many of the steps failed and gave no number; `missed` does not count them.

    reason: why not, in the first of those; least: each comparison in the step of its least margin.
    """

    id: str
    statement: str
    expression: str
    passed: bool
    steps: int
    missed: int
    reason: str | None
    least: Sequence[Margin]
    without_result: int = 0


@dataclass(frozen=True)
class StageMargins:
    """The verdict of a stage, with one margin a comparison. failed_steps: step -> reason."""

    stage: str
    verdict: str
    failed_steps: Mapping[str, str | None]
    criteria: Sequence[CriterionMargins]


def of_verdict(verdict: Verdict) -> StageMargins:
    """Return the margins of a verdict. ValueError for an expression that is not a comparison."""
    criteria = [_of_criterion(one, verdict.failed_steps) for one in verdict.criteria]
    return StageMargins(verdict.stage, verdict.verdict, verdict.failed_steps, criteria)


def _of_criterion(criterion: JudgedCriterion, failed_steps: Mapping[str, str | None]) -> CriterionMargins:
    missed = [one for one in criterion.steps if not one.passed and one.step not in failed_steps]
    why = f": {missed[0].reason}" if missed and missed[0].reason != NOT_SO else ""
    reason = f"in {missed[0].step}{why}" if missed else None
    about = (criterion.id, criterion.statement, criterion.expression, criterion.passed)
    failed = sum(one.step in failed_steps for one in criterion.steps)
    return CriterionMargins(*about, len(criterion.steps), len(missed), reason, _least(criterion.steps), failed)


def _least(steps: Sequence[JudgedStep]) -> list[Margin]:
    """Return, for each comparison, the step with the least margin; one that has no number comes before all others."""
    least: dict[str, Margin] = {}
    for one in _margins(steps):
        before = least.get(one.comparison)
        if before is None or _rank(one) < _rank(before):
            least[one.comparison] = one
    return list(least.values())


def _margins(steps: Sequence[JudgedStep]) -> Iterator[Margin]:
    for step in steps:
        for made in step.comparisons:
            value, limit, margin = map(_rounded, _margin(made))
            yield Margin(made.text, step.step, value, limit, margin)


def _rank(one: Margin) -> float:
    return float("-inf") if one.margin is None else one.margin


def _rounded(number: float | None) -> float | None:
    """Round to six significant digits; whole numbers stay."""
    return number if number is None or float(number).is_integer() else float(f"{number:.6g}")


def _margin(made: Comparison) -> tuple[float | None, float | None, float | None]:
    """Return value, limit, margin of a comparison such as `abs(x - 1) < 0.1`; the side without names is the limit."""
    try:
        tree = ast.parse(made.text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"{one_line(made.text, LONGEST_QUOTE)} is not a comparison") from None
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
        raise ValueError(f"{one_line(made.text, LONGEST_QUOTE)} is not a single comparison")
    left, right = made.left, made.right
    flipped = not _named(tree.left) and _named(tree.comparators[0])
    value, limit = (right, left) if flipped else (left, right)
    if left is None or right is None:
        return value, limit, None
    sign = tree.ops[0]
    if isinstance(sign, ast.Lt | ast.LtE):
        return value, limit, right - left
    if isinstance(sign, ast.Gt | ast.GtE):
        return value, limit, left - right
    return value, limit, 0.0 - abs(left - right) if isinstance(sign, ast.Eq) else abs(left - right)


def _named(node: ast.AST) -> bool:
    """Return if a side holds a name of the result; those of signed numbers, such as `definition.steps`, are dotted."""
    signed = {id(inner) for part in ast.walk(node) if isinstance(part, ast.Attribute) for inner in ast.walk(part)}
    return any(isinstance(part, ast.Name) and id(part) not in signed for part in ast.walk(node))
