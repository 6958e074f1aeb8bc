"""Explain: the verdict copied, reasons on record; the numbers with their margins under a definition of before."""

import pytest
from agent_inputs import fitting, judged, verdict

from sophron.agents.rule_based.explain import answer
from sophron.campaign.execution import margins
from sophron.campaign.execution.verdict import Verdict
from sophron.records.typed_json import from_json, to_json


def explain(given, results=None):
    told = to_json(margins.of_verdict(from_json(Verdict, given)))
    return fitting(answer({"judged": told, "results": {"steps": results or {}}}), "explain")


def explain_as_before(given, criteria=()):
    return answer({"verdict": given, "outcome": [], "criteria": list(criteria)})


@pytest.mark.parametrize(
    ("text", "compared", "value", "limit", "margin"),
    [
        ("x < 0.06", (0.05, 0.06), 0.05, 0.06, pytest.approx(0.01)),
        ("x < 0.06", (0.08, 0.06), 0.08, 0.06, pytest.approx(-0.02)),
        ("x >= 3", (2.5, 3), 2.5, 3, -0.5),
        ("3 <= x", (3, 2.5), 2.5, 3, -0.5),
        ("samples == 11", (10, 11), 10, 11, -1),
        ("definition.steps / 5 + 1 == samples", (11, 10), 10, 11, -1),
        ("x != 3", (3, 3), 3, 3, 0),
        ("abs(x - 1) < 0.1", (0.02, 0.1), 0.02, 0.1, pytest.approx(0.08)),
        ("x < 1", (None, 1), None, 1, None),
    ],
)
def test_margins(text, compared, value, limit, margin):
    (number,) = explain_as_before(verdict(judged("one", text, *compared, passed=compared[0] == 0.05)))["numbers"]
    assert (number["value"], number["limit"], number["margin"]) == (value, limit, margin)


def test_the_worst_step_is_shown():
    one = judged("error", "x < 1", 0.2, 1, passed=True, step="a")
    one["steps"] += judged("error", "x < 1", 0.9, 1, passed=True, step="b")["steps"]
    one["steps"] += judged("error", "x < 1", 0.3, 1, passed=True, step="c")["steps"]
    (number,) = explain_as_before(verdict(one))["numbers"]
    assert (number["step"], number["value"]) == ("b", 0.9)


def test_a_pass_has_no_causes_and_goes_on():
    said = explain(verdict(judged("error", "x < 1", 0.2, 1, passed=True)))
    assert (said["verdict"], said["next"], said["causes"]) == ("pass", "accept", [])


def test_missed_criteria_of_finished_steps_ask_for_an_amendment():
    results = {"green_kubo": {"refusal": "window_too_short: the longest time is 80 of 100"}}
    said = explain(verdict(judged("plateau", "cutoff_ratio >= 3", None, 3, passed=False)), results)
    assert (said["verdict"], said["next"]) == ("fail", "amend")
    assert any("window_too_short" in cause for cause in said["causes"])


def test_failed_steps_are_for_debug():
    said = explain(verdict(judged("error", "x < 1", 0.2, 1, passed=True), failed={"produce-1": "Lost atoms"}))
    assert said["next"] == "debug"
    assert said["causes"] == ["produce-1 failed: Lost atoms"]


def test_a_criterion_without_a_verdict_is_named():
    said = explain_as_before(
        verdict(judged("error", "x < 1", 0.2, 1, passed=True)), criteria=[{"id": "error"}, {"id": "forgotten"}]
    )
    assert "forgotten" in said["explanation"]


@pytest.mark.parametrize("text", ["x <", "1 < x < 2", "print(1)", "(" * 500])
def test_what_is_no_comparison_is_a_typed_failure(text):
    with pytest.raises(ValueError, match="comparison"):
        answer({"verdict": verdict(judged("one", text, 1, 2, passed=True))})
