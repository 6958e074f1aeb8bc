"""Rule of thumb of the verify agent: the verdict in words, each number with its margin. It never judges anew."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from sophron.agents.rule_based.input_checks import given, mapping, number, objects, quoted, text
from sophron.interfaces import UncheckedObject


@dataclass(frozen=True)
class Comparison:
    """One comparison of a criterion in one step. margin: how far the value is from the limit, below zero if missed."""

    criterion: str
    step: str
    comparison: str
    value: float | None
    limit: float | None
    margin: float | None


def answer(inputs: UncheckedObject) -> UncheckedObject:
    """Copy the verdict; add the step with the least margin of each comparison, and the reasons of a failure.

    Next is accept after a pass, debug where a step failed, amend where finished steps do not fulfil the criteria
    (Superscientist A.2 and A.3: the verdict is deterministic, and only an amendment may change a criterion).
    """
    verdict = mapping(given(inputs, "verdict"), "verdict")
    outcome = text(verdict.get("verdict"), "verdict.verdict")
    if outcome not in ("pass", "fail"):
        raise ValueError("verdict.verdict is neither pass nor fail")
    judged = objects(verdict.get("criteria", []), "verdict.criteria")
    failed_steps = mapping(verdict.get("failed_steps") or {}, "verdict.failed_steps")
    numbers = [asdict(worst) for criterion in judged for worst in _worst(criterion)]
    stage = text(verdict.get("stage"), "verdict.stage")
    causes = [] if outcome == "pass" else [*_causes(judged, failed_steps), *_refusals(inputs.get("outcome", []))]
    return {
        "stage": stage,
        "verdict": outcome,
        "explanation": _explained(stage, outcome, judged, failed_steps, inputs),
        "numbers": numbers,
        "causes": list(dict.fromkeys(causes)),
        "next": "accept" if outcome == "pass" else "debug" if failed_steps else "amend",
    }


def comparisons(criterion: UncheckedObject) -> Iterator[Comparison]:
    """Yield every comparison of a judged criterion, in all its steps, with value, limit and margin."""
    name = text(criterion.get("id"), "the id of a criterion")
    for step in objects(criterion.get("steps", []), f"steps of {name}"):
        for made in objects(step.get("comparisons", []), f"comparisons of {name}"):
            comparison = text(made.get("text"), f"a comparison of {name}")
            value, limit, margin = _margin(comparison, number(made.get("left")), number(made.get("right")))
            yield Comparison(name, str(step.get("step", "")), comparison, value, limit, margin)


def _worst(criterion: UncheckedObject) -> list[Comparison]:
    """Return, for each comparison, the step with the least margin; one that has no number comes before all others."""
    least: dict[str, Comparison] = {}
    for one in comparisons(criterion):
        before = least.get(one.comparison)
        if before is None or _rank(one) < _rank(before):
            least[one.comparison] = one
    return list(least.values())


def _rank(one: Comparison) -> float:
    return float("-inf") if one.margin is None else one.margin


def _margin(
    comparison: str, left: float | None, right: float | None
) -> tuple[float | None, float | None, float | None]:
    """Return value, limit, margin of a comparison such as `abs(x - 1) < 0.1`; the side without names is the limit."""
    try:
        tree = ast.parse(comparison.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"{quoted(comparison)} is no comparison") from None
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
        raise ValueError(f"{quoted(comparison)} is no single comparison")
    flipped = not _named(tree.left) and _named(tree.comparators[0])
    value, limit = (right, left) if flipped else (left, right)
    if left is None or right is None:
        return value, limit, None
    sign = tree.ops[0]
    if isinstance(sign, ast.Lt | ast.LtE):
        margin = right - left
    elif isinstance(sign, ast.Gt | ast.GtE):
        margin = left - right
    else:
        margin = -abs(left - right) if isinstance(sign, ast.Eq) else abs(left - right)
    return value, limit, number(margin)


def _named(node: ast.AST) -> bool:
    """Return if a side holds a name of the result; those of signed numbers, such as `definition.steps`, are dotted."""
    signed = {id(inner) for part in ast.walk(node) if isinstance(part, ast.Attribute) for inner in ast.walk(part)}
    return any(isinstance(part, ast.Name) and id(part) not in signed for part in ast.walk(node))


def _causes(judged: list[UncheckedObject], failed_steps: UncheckedObject) -> Iterator[str]:
    for step, reason in failed_steps.items():
        yield quoted(f"{step} failed: {reason}", 400)
    for criterion in judged:
        steps = objects(criterion.get("steps", []), "steps of a criterion")
        bad = [step for step in steps if not step.get("passed") and str(step.get("step")) not in failed_steps]
        if bad:
            about = criterion.get("statement") or criterion.get("id")
            yield quoted(
                f"Not so in {len(bad)} of {len(steps)} steps: {about} In {bad[0].get('step')}: ", 300
            ) + quoted(f" {bad[0].get('reason')}.")


def _refusals(outcomes: object) -> Iterator[str]:
    """Yield refusals that a stage gave in place of a number, as estimators leave them in `refusal`."""
    for outcome in objects(outcomes, "outcome"):
        result = outcome.get("result")
        refusal = result.get("refusal") if isinstance(result, Mapping) else None
        if isinstance(refusal, str):
            yield quoted(f"{outcome.get('step', outcome.get('stage', 'A step'))} gave no number: {refusal}", 400)


def _explained(
    stage: str,
    outcome: str,
    judged: list[UncheckedObject],
    failed_steps: UncheckedObject,
    inputs: UncheckedObject,
) -> str:
    held = sum(bool(criterion.get("passed")) for criterion in judged)
    sentences = [f"Stage {quoted(stage)}: {held} of {len(judged)} criteria hold; the verdict is {outcome}."]
    if failed_steps:
        sentences.append(f"{len(failed_steps)} of its steps failed and gave no result.")
    if not judged:
        sentences.append("Nothing was judged: the stage has no criteria.")
    ids = {str(one.get("id")) for one in objects(inputs.get("criteria", []), "criteria")}
    unknown = sorted(ids - {str(one.get("id")) for one in judged})
    if unknown:
        sentences.append(f"The verdict does not speak of {quoted(', '.join(unknown))}, which the spec asks for.")
    return " ".join(sentences)
