"""The judge's rules of thumb: what is no report is stopped, and scores rest on fields and on what programs found."""

import pytest
from agent_inputs import fitting

from sophron.agents.rule_based import judges

REPORT = {
    "converged": True,
    "fit": {"gof": 1.2},
    "caveats": ["few counts"],
    "alternatives": ["another phase"],
    "held": [{"group": "zero"}],
    "decisions": ["free the cell"],
    "plots": [{"reading": "flat"}],
    "summary": "The pattern is that of one phase, and nothing else was needed to describe it within its counts. " * 2,
    "confidence": "medium",
}
CALLS = [
    {"number": 1, "plot": {}, "decision": None, "ended": None},
    {"number": 2, "plot": {"whole": True}, "decision": None, "ended": None},
    {"number": 3, "plot": None, "decision": "go on", "ended": None},
]


def screened(report, failure=""):
    return fitting(judges.screen({"run": {"failure": failure}, "report": report}), "judge-screen")


def scored(report=REPORT, calls=CALLS, computed=None, codes=("D4", "D5", "D6", "T3", "T5")):
    dimensions = [{"code": code, "threshold": 2} for code in codes]
    rubric = {"scale": {"lowest": 1, "highest": 5}, "dimensions": dimensions}
    told = {"rubric": rubric, "report": report, "calls": calls, "computed": computed or {}}
    answer = fitting(judges.score(told), "judge-score")
    return {one["code"]: one["score"] for one in answer["scores"]}


def test_a_report_is_let_through():
    assert screened(REPORT) == {"passed": True, "reasons": []}


@pytest.mark.parametrize(
    ("report", "failure", "reason"),
    [
        (REPORT, "the engine died", "broke off"),
        ({}, "", "no report"),
        ({**REPORT, "summary": " TODO "}, "", "placeholder"),
        ({"summary": "done"}, "", "next to nothing"),
    ],
)
def test_what_is_no_report_is_stopped(report, failure, reason):
    said = screened(report, failure)
    assert not said["passed"]
    assert reason in " ".join(said["reasons"])


def test_a_whole_report_has_the_highest_scores():
    assert set(scored().values()) == {5}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"fit": {"gof": 3.0}}, "D4"),
        ({"converged": False}, "D4"),
        ({"caveats": []}, "D5"),
        ({"held": []}, "D5"),
        ({"decisions": []}, "D6"),
        ({"summary": "short"}, "D6"),
    ],
)
def test_what_lacks_costs_points_where_it_belongs(change, code):
    found = scored({**REPORT, **change})
    assert found[code] < 5
    assert scored()[code] == 5


def test_the_way_is_scored_from_the_calls():
    failed = [*CALLS, {"number": 4, "plot": None, "decision": None, "ended": "diverged"}]
    assert scored(calls=failed)["T3"] == 4
    assert scored(calls=CALLS[2:])["T5"] == 1


def test_no_score_is_above_what_programs_found():
    assert scored(computed={"D4": {"score": 2}, "T5": {"score": 1}}) | {"D4": 2, "T5": 1} == scored(
        computed={"D4": {"score": 2}, "T5": {"score": 1}}
    )


def test_a_dimension_that_no_rule_reads_has_its_threshold():
    assert scored(codes=("X9",)) == {"X9": 2}
