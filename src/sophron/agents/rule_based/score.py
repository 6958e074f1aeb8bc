"""Rule of thumb of the scoring judge: what fields say of the dimensions that it is asked about. It sees no picture.

AgentBuild, table II, names the dimensions; the rules for them are ours, coarse, and say what they counted.
"""

from collections.abc import Callable, Mapping
from typing import Any

from sophron.agents.rule_based.input_checks import given, listed, mapping, objects, quoted, text, whole

GOOD_FIT = 2.0
"""Goodness of fit beyond which the model lacks something (McCusker 1999, 10.1107/S0021889898009856, section on R)."""
Found = tuple[int, str]
"""Points to take off the highest score, and why."""


def answer(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """For each dimension asked: the highest score less points for what its fields lack, never above what is computed.

    A dimension that this rule does not know has its threshold, with that as evidence: it is no opinion.
    """
    rubric = mapping(given(inputs, "rubric"), "rubric")
    scale = mapping(rubric["scale"], "rubric.scale")
    lowest, highest = whole(scale["lowest"], "lowest"), whole(scale["highest"], "highest")
    computed = mapping(given(inputs, "computed"), "computed")
    report, calls = mapping(given(inputs, "report"), "report"), objects(given(inputs, "calls"), "calls")
    scores = []
    for dimension in objects(rubric["dimensions"], "dimensions"):
        code = text(dimension["code"], "code")
        rule = _RULES.get(code)
        if rule is None:
            scores.append({"code": code, "score": dimension["threshold"], "evidence": "no rule of thumb reads this"})
            continue
        points, evidence = rule(report, calls)
        ceiling = mapping(computed.get(code) or {"score": highest}, code)["score"]
        scores.append(
            {"code": code, "score": max(lowest, min(highest - points, ceiling)), "evidence": quoted(evidence)}
        )
    return {"scores": scores}


def _chemistry(report: Mapping[str, Any], _: list[Mapping[str, Any]]) -> Found:
    fit = mapping(report.get("fit") or {}, "fit")
    gof = fit.get("gof")
    points = int(gof is None or gof > GOOD_FIT) + int(not report.get("converged"))
    return points, f"goodness of fit {gof}, converged {report.get('converged')}; the picture was not seen"


def _uncertainty(report: Mapping[str, Any], _: list[Mapping[str, Any]]) -> Found:
    caveats, others = (listed(report.get(key, []), key) for key in ("caveats", "alternatives"))
    points = int(not caveats) + int(not others) + int(not report.get("held"))
    return points, f"{len(caveats)} caveats, {len(others)} alternatives, confidence {report.get('confidence')}"


def _structure(report: Mapping[str, Any], _: list[Mapping[str, Any]]) -> Found:
    parts = {key: len(listed(report.get(key, []), key)) for key in ("decisions", "plots", "held")}
    words = len(text(report.get("summary", ""), "summary").split())
    points = sum(not count for count in parts.values()) + int(words < 20)
    return points, f"{parts['decisions']} decisions, {parts['plots']} readings, a summary of {words} words"


def _recovery(_: Mapping[str, Any], calls: list[Mapping[str, Any]]) -> Found:
    failed = [call["number"] for call in calls if call.get("ended") in ("diverged", "timeout", "failed")]
    told = [call["number"] for call in calls if call.get("decision")]
    silent = [number for number in failed if not any(other > number for other in told)]
    return len(
        silent
    ), f"cycles that failed: calls {failed or 'none'}; without a decision after them: {silent or 'none'}"


def _seeing(_: Mapping[str, Any], calls: list[Mapping[str, Any]]) -> Found:
    shown = [call["number"] for call in calls if call.get("plot")]
    told = [call["number"] for call in calls if call.get("decision")]
    used = [number for number in shown if any(other > number for other in told)]
    points = 4 if not shown else int(len(used) < len(shown) / 2)
    return points, f"plots in calls {shown or 'none'}, {len(used)} of them with a decision after"


_RULES: Mapping[str, Callable[[Mapping[str, Any], list[Mapping[str, Any]]], Found]] = {
    "D4": _chemistry,
    "D5": _uncertainty,
    "D6": _structure,
    "T3": _recovery,
    "T5": _seeing,
}
