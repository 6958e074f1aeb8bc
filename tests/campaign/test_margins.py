"""Margins: of each comparison the step in which it holds by least, as explain and caveats are told it."""

import pytest
from agent_inputs import judged, verdict

from sophron.campaign.execution import margins
from sophron.campaign.execution.verdict import Verdict
from sophron.records.typed_json import from_json


def of(*criteria, **more):
    return margins.of_verdict(from_json(Verdict, verdict(*criteria, **more)))


@pytest.mark.parametrize(
    ("text", "compared", "value", "limit", "margin"),
    [
        ("x < 0.06", (0.05, 0.06), 0.05, 0.06, 0.01),
        ("x < 0.06", (0.08, 0.06), 0.08, 0.06, -0.02),
        ("3 <= x", (3, 2.5), 2.5, 3, -0.5),
        ("definition.steps / 5 + 1 == samples", (11, 10), 10, 11, -1),
        ("abs(x - 1) < 0.1", (0.02, 0.1), 0.02, 0.1, 0.08),
        ("x < 4", (3.2763371290704173, 4), 3.27634, 4, 0.723663),
        ("samples == 1234567", (1234567, 1234567), 1234567, 1234567, 0),
        ("x < 1", (None, 1), None, 1, None),
    ],
)
def test_the_side_without_names_is_the_limit_and_digits_are_six(text, compared, value, limit, margin):
    (least,) = of(judged("one", text, *compared, passed=False)).criteria[0].least
    assert (least.value, least.limit, least.margin) == (value, limit, margin)


def test_steps_are_counted_and_the_worst_is_kept():
    one = judged("error", "x < 1", 0.2, 1, passed=True, step="a")
    for step, value, passed in (("b", 1.9, False), ("c", 0.3, True), ("d", 1.2, False)):
        one["steps"] += judged("error", "x < 1", value, 1, passed=passed, step=step)["steps"]
    (criterion,) = of({**one, "passed": False}).criteria
    assert (criterion.steps, criterion.missed, criterion.reason) == (4, 2, "in b")
    assert (criterion.least[0].step, criterion.least[0].value) == ("b", 1.9)


def test_an_equality_that_holds_has_a_margin_of_plain_zero():
    (least,) = of(judged("count", "steps == 4", 4.0, 4.0, passed=True)).criteria[0].least
    assert str(least.margin) == "0.0"


def test_a_failed_step_misses_no_criterion():
    (criterion,) = of(judged("error", "x < 1", 0.2, 1, passed=False, step="a"), failed={"a": "Lost atoms"}).criteria
    assert (criterion.missed, criterion.without_result, criterion.reason) == (0, 1, None)
