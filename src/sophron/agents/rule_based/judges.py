"""Rules of thumb of the judges: whether a report can be scored, and its scores by its fields. No picture is seen.

AgentBuild, table II, names the dimensions; the rules for them are ours, coarse, and say what they counted.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sophron.agents.rule_based.input_checks import given, listed, mapping, number, quoted, read, strings, text
from sophron.interfaces import UncheckedObject

PLACEHOLDERS = ("todo", "tbd", "placeholder", "lorem ipsum", "to be filled", "n/a")
FEWEST_WORDS = 5


def screen(inputs: UncheckedObject) -> UncheckedObject:
    """Fail a run that broke off, no report, a placeholder in place of one, or hardly a word in it.

    AgentBuild, section III-B: the screening pass flags crashes and missing reports; it scores nothing.
    """
    run, report = mapping(given(inputs, "run"), "run"), mapping(given(inputs, "report"), "report")
    reasons = []
    if run.get("failure"):
        reasons.append(quoted(f"The run broke off: {run['failure']}"))
    if not report:
        reasons.append("There is no report.")
    fields = [field.strip() for field in strings(report)]
    for field in fields:
        if field.casefold() in PLACEHOLDERS:
            reasons.append(quoted(f"A field of the report is a placeholder: {field}"))
            break
    if report and sum(len(field.split()) for field in fields) < FEWEST_WORDS:
        reasons.append("The report says next to nothing.")
    return {"passed": not reasons, "reasons": reasons}


OF_A_REFINEMENT = frozenset({"fit", "held"})
"""Keys of a report that these rules can read."""
GOOD_FIT = 2.0
"""Goodness of fit beyond which the model lacks something (McCusker 1999, 10.1107/S0021889898009856, section on R)."""


@dataclass(frozen=True)
class Scale:
    """Of the rubric."""

    lowest: int
    highest: int


@dataclass(frozen=True)
class Dimension:
    """One of the rubric. threshold: the score that passes."""

    code: str
    threshold: int


@dataclass(frozen=True)
class Rubric:
    """What is scored, and how."""

    scale: Scale
    dimensions: tuple[Dimension, ...]


@dataclass(frozen=True)
class ComputedScore:
    """The most that a check lets a dimension have."""

    score: int


@dataclass(frozen=True)
class Call:
    """A tool call of the run. ended: how its cycle ended; decision, plot: whether it says or shows one."""

    number: int
    ended: object = None
    decision: object = None
    plot: object = None


Points = tuple[int, str]
"""Points to take off the highest score, and why."""


def score(inputs: UncheckedObject) -> UncheckedObject:
    """Score each dimension asked: the highest less points for what its fields lack, never above what is computed.

    A dimension that this rule does not know has its threshold, with that as evidence: it is no opinion. It knows
    those of AgentBuild, table II, in reports of refinements; in another domain the same code means another thing.
    """
    known = _RULES if mapping(given(inputs, "report"), "report").keys() >= OF_A_REFINEMENT else {}
    rubric = read(Rubric, given(inputs, "rubric"), "rubric")
    computed = mapping(given(inputs, "computed"), "computed")
    report = mapping(given(inputs, "report"), "report")
    calls = [read(Call, call, "a call") for call in listed(given(inputs, "calls"), "calls")]
    scores: list[UncheckedObject] = []
    for dimension in rubric.dimensions:
        code, highest = dimension.code, rubric.scale.highest
        rule = known.get(code)
        if rule is None:
            scores.append({"code": code, "score": dimension.threshold, "evidence": "no rule of thumb reads this"})
            continue
        points, evidence = rule(report, calls)
        ceiling = read(ComputedScore, computed[code], code).score if computed.get(code) else highest
        scores.append(
            {
                "code": code,
                "score": max(rubric.scale.lowest, min(highest - points, ceiling)),
                "evidence": quoted(evidence),
            }
        )
    return {"scores": scores}


def _chemistry(report: UncheckedObject, _: list[Call]) -> Points:
    fit = mapping(report.get("fit") or {}, "fit")
    gof = number(fit.get("gof"))
    points = int(gof is None or gof > GOOD_FIT) + int(not report.get("converged"))
    return points, f"goodness of fit {gof}, converged {report.get('converged')}; the picture was not seen"


def _uncertainty(report: UncheckedObject, _: list[Call]) -> Points:
    caveats, others = (listed(report.get(key, []), key) for key in ("caveats", "alternatives"))
    points = int(not caveats) + int(not others) + int(not report.get("held"))
    return points, f"{len(caveats)} caveats, {len(others)} alternatives, confidence {report.get('confidence')}"


def _structure(report: UncheckedObject, _: list[Call]) -> Points:
    parts = {key: len(listed(report.get(key, []), key)) for key in ("decisions", "plots", "held")}
    words = len(text(report.get("summary", ""), "summary").split())
    points = sum(not count for count in parts.values()) + int(words < 20)
    return points, f"{parts['decisions']} decisions, {parts['plots']} readings, a summary of {words} words"


def _recovery(_: UncheckedObject, calls: list[Call]) -> Points:
    failed = [call.number for call in calls if call.ended in ("diverged", "timeout", "failed")]
    decisions = [call.number for call in calls if call.decision]
    silent = [place for place in failed if not any(other > place for other in decisions)]
    return len(
        silent
    ), f"cycles that failed: calls {failed or 'none'}; without a decision after them: {silent or 'none'}"


def _seeing(_: UncheckedObject, calls: list[Call]) -> Points:
    plots = [call.number for call in calls if call.plot]
    decisions = [call.number for call in calls if call.decision]
    used = [place for place in plots if any(other > place for other in decisions)]
    points = 4 if not plots else int(len(used) < len(plots) / 2)
    return points, f"plots in calls {plots or 'none'}, {len(used)} of them with a decision after"


_RULES: Mapping[str, Callable[[UncheckedObject, list[Call]], Points]] = {
    "D4": _chemistry,
    "D5": _uncertainty,
    "D6": _structure,
    "T3": _recovery,
    "T5": _seeing,
}
