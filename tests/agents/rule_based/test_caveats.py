"""Report: each fact that weakens an answer is a caveat, and nothing else is."""

import copy

import pytest
from agent_inputs import LIQUID, fitting, judged, verdict

from sophron.agents.rule_based.caveats import answer

ETA = {
    "name": "viscosity",
    "value": 3.27,
    "standard_error": 0.03,
    "interval": {"low": 3.2, "high": 3.34, "level": 0.95},
    "refusal": None,
}


def report(result, *, spec=LIQUID, verdicts=(), amendments=(), tries=(), unverified=()):
    inputs = {
        "spec": spec,
        "verdicts": list(verdicts),
        "result": result,
        "amendments": list(amendments),
        "tries": list(tries),
        "unverified": list(unverified),
    }
    return fitting(answer(inputs), "caveats")


def about(said, what):
    return [caveat for caveat in said["caveats"] if caveat["about"] == what]


def test_a_good_result_has_notes_only():
    said = report([ETA])
    assert {caveat["severity"] for caveat in said["caveats"]} == {"note"}
    assert "3.27" in said["summary"]
    assert about(said, "reference") == []


@pytest.mark.parametrize(("value", "severity"), [(3.38, None), (3.9, "serious"), (2.5, "serious")])
def test_a_reference_is_a_caveat_beyond_two_errors(value, severity):
    found = about(report([{**ETA, "value": value}]), "reference")
    assert [caveat["severity"] for caveat in found] == ([severity] if severity else [])


def test_no_number_no_error_and_a_large_error():
    assert about(report([{**ETA, "value": None, "refusal": "noise: so"}]), "uncertainty")[0]["severity"] == "serious"
    assert about(report([{**ETA, "standard_error": None}]), "uncertainty")[0]["severity"] == "serious"
    assert about(report([{**ETA, "standard_error": 0.6}]), "uncertainty")[0]["severity"] == "caution"
    assert report([])["caveats"][0]["text"].startswith("No stage gives a number")


def test_whole_results_are_read_by_their_errors():
    result = {
        "viscosity": 3.27,
        "viscosity_standard_error": 0.6,
        "interval_low": 2.0,
        "interval_high": 4.5,
        "window_tau": 5.0,
    }
    said = report({"green_kubo": result, "rouse": {"modes": 4}})
    assert "viscosity = 3.27 with a standard error of 0.6" in said["caveats"][0]["text"]


def test_everything_on_record_is_said():
    said = report(
        [ETA],
        verdicts=[verdict(judged("drift", "x < 1", 2, 1, passed=False), stage="produce"), verdict(stage="rouse")],
        amendments=[{"version": 2, "rationale": "another method", "invalidated_stages": ["produce"]}],
        tries=["12:00 produce-1 failed: out of memory", {"step": "relax-1", "status": "failed", "reason": "killed"}],
        unverified=["liquid"],
    )
    assert [caveat["severity"] for caveat in said["caveats"]] == sorted(
        (caveat["severity"] for caveat in said["caveats"]), key=("serious", "caution", "note").index
    )
    text = "\n".join(caveat["text"] for caveat in said["caveats"])
    for part in (
        "homogeneous liquid",
        "produce did not pass (drift)",
        "rouse was looked at",
        "another method",
        "out of memory",
        "relax-1 failed 1",
        "cut at 2.5",
    ):
        assert part in text


def test_no_reference_no_comparison():
    spec = copy.deepcopy(LIQUID)
    del spec["question"]["reference"]
    assert about(report([{**ETA, "value": 99.0}], spec=spec), "reference") == []
