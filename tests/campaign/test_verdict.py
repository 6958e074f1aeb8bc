"""Verify and accept: every number compared is written, failures are sentences, what is accepted is deterministic."""

import json

import pytest
import toy

from sophron.campaign.execution import verdict
from sophron.campaign.spec import spec
from sophron.campaign.spec.criteria import evaluate
from sophron.records.typed_json import from_json, to_json


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    return toy.campaign(tmp_path, monkeypatch)


def read(campaign, stage, name="verdict.json"):
    return json.loads((campaign.root / "results" / stage / name).read_text())


def test_a_verdict_holds_every_number_that_was_compared(campaign):
    campaign.sign()
    assert campaign.run_here("a", "b-0", "b-1", "verify-b") == 0
    judged = read(campaign, "b")
    assert judged["verdict"] == "pass"
    bounded, files = judged["criteria"]
    assert [one["step"] for one in bounded["steps"]] == ["b-0", "b-1"]
    for one in bounded["steps"]:
        total = json.loads((campaign.root / "results" / "b" / one["step"][-1] / "outcome.json").read_text())
        total = total["result"]["total"]
        assert one["values"] == {"total": total}
        assert one["comparisons"] == [
            {"text": "total > 20", "left": total, "right": 20},
            {"text": "total < 24", "left": total, "right": 24},
        ]
    assert files["steps"][0]["values"]["files_missing"] == 0
    assert files["steps"][0]["values"]["smallest_file_bytes"] > 10


@pytest.mark.parametrize("saturated", [False, True])
def test_a_truth_value_that_was_compared_is_read_back(saturated):
    judged = evaluate("saturated == 1", {"saturated": saturated})
    made = verdict.JudgedStep("build", judged.passed, judged.reason, judged.values, judged.comparisons)
    assert made.passed is saturated
    assert from_json(verdict.JudgedStep, json.loads(json.dumps(to_json(made)))) == made


def test_a_verdict_is_repeated_when_a_condition_that_it_names_is_amended(campaign):
    campaign.edit('expression: "terms == 4"', 'expression: "terms == question.conditions.terms"')
    campaign.edit('expression: "total > 20', 'expression: "total > 19 + a.definition.first')
    campaign.sign()
    assert campaign.run_here("a", "verify-a", "accept-a", "b-0", "b-1", "verify-b", "accept-b") == 0
    assert read(campaign, "a")["criteria"][1]["steps"][0]["values"] == {"question.conditions.terms": 4, "terms": 4}
    assert read(campaign, "b")["criteria"][0]["steps"][0]["values"]["a.definition.first"] == 1
    drafted = campaign.amend("question.conditions.terms=5")
    assert drafted.invalidated_stages == []
    assert not (campaign.root / "results" / "a" / "verdict.json").exists()
    assert (campaign.root / "results" / "b" / "verdict.json").exists()  # it names no condition
    campaign.run_here("verify-a")
    (judged,) = read(campaign, "a")["criteria"][1]["steps"]
    assert judged["comparisons"] == [{"text": "terms == question.conditions.terms", "left": 4, "right": 5}]
    assert read(campaign, "a")["verdict"] == "fail"


def test_a_failed_verdict_is_written_and_then_stops_the_workflow(campaign, capsys):
    campaign.edit("total > 20 and total < 24", "total > 1000")
    campaign.sign()
    assert campaign.run_here("a", "b-0", "b-1", "verify-b") == 0
    assert read(campaign, "b")["verdict"] == "fail"
    assert campaign.run_here("accept-b") == 2
    said = capsys.readouterr().err
    assert (
        "sophron accept: stage b failed its criteria (bounded: total > 1000 is not so in b-0 and 1 more (total" in said
    )
    assert said.strip().endswith("change what is at fault: sophron amend")
    assert not (campaign.root / "results" / "b" / "accepted.json").exists()
    (event,) = campaign.events("verdict")
    assert event["verdict"] == "fail"


def test_a_failed_step_fails_its_stage_whatever_the_criteria_say(campaign, capsys):
    campaign.edit("{first: 1, terms: 4}", "{first: 1, terms: 4, breaks: true}")
    campaign.edit('expression: "total == 10"', 'expression: "files_missing == 0"')
    campaign.sign()
    assert campaign.run_here("a", "verify-a") == 0
    judged = read(campaign, "a")
    assert judged["verdict"] == "fail"
    assert judged["failed_steps"] == {"a": "a cannot add these numbers"}
    assert campaign.run_here("accept-a") == 2
    assert "stage a failed its criteria (a failed: a cannot add these numbers)" in capsys.readouterr().err


def test_a_number_that_is_null_does_not_pass(campaign, monkeypatch):
    import arithmetic_kind

    from sophron.interfaces.kind import StepResult

    campaign.edit("total > 20 and total < 24", "largest > 0 or largest <= -1")
    campaign.sign()
    whole = arithmetic_kind.b

    def null(ctx):
        made = whole(ctx)
        return StepResult({**made.result, "largest": None}, made.files, made.tools)

    monkeypatch.setattr(arithmetic_kind, "b", null)
    campaign.run_here("a", "b-0", "b-1", "verify-b")
    judged = read(campaign, "b")
    assert judged["verdict"] == "fail"
    assert judged["criteria"][0]["steps"][0]["reason"] == "largest is None"


def test_a_missing_file_is_counted(campaign):
    campaign.sign()
    campaign.run_here("a", "b-0", "b-1")
    (campaign.root / "results" / "b" / "1" / "numbers.txt").unlink()
    campaign.run_here("verify-b")
    _, files = read(campaign, "b")["criteria"]
    assert [one["values"] for one in files["steps"]][1] == {"files_missing": 1, "smallest_file_bytes": 0}
    assert [one["passed"] for one in files["steps"]] == [True, False]


def test_what_is_accepted_does_not_depend_on_the_criteria(campaign):
    campaign.sign()
    campaign.run_here("a", "verify-a", "accept-a")
    before = (campaign.root / "results" / "a" / "accepted.json").read_bytes()
    campaign.amend("stages.a.criteria.total.expression=total > 1")
    assert not (campaign.root / "results" / "a" / "verdict.json").exists()
    campaign.run_here("verify-a", "accept-a")
    assert (campaign.root / "results" / "a" / "accepted.json").read_bytes() == before
    assert read(campaign, "a", "passed") == json.loads(before)
    assert len(campaign.events("accepted")) == 2


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{}", "is damaged, not a record (stage is missing); restore it, or remove it to have it made again"),
        ("[]", "is damaged, not a record ([] is not an object); restore it, or remove it to have it made again"),
        (None, "is the verdict of another spec; move it away and run again"),
    ],
)
def test_a_verdict_of_another_spec_is_not_accepted(campaign, capsys, content, told):
    campaign.sign()
    campaign.run_here("a", "verify-a")
    path = campaign.root / "results" / "a" / "verdict.json"
    path.write_text(content or json.dumps(read(campaign, "a") | {"definition_digest": "0"}))
    assert campaign.run_here("accept-a") == 2
    assert f"verdict.json: {told}" in capsys.readouterr().err


def test_a_stage_that_has_not_run_cannot_be_judged(campaign, capsys):
    campaign.sign()
    assert campaign.run_here("a", "b-0", "verify-b") == 2
    assert "b-1: there is no outcome of it; run it first: snakemake" in capsys.readouterr().err


def test_a_verdict_is_a_function_of_outcomes_and_criteria(campaign):
    campaign.sign()
    campaign.run_here("a", "b-0", "b-1", "verify-b")
    loaded = spec.load(campaign.spec)
    assert verdict.judge(campaign.root, loaded, "b") == verdict.judge(campaign.root, loaded, "b")
    assert to_json(verdict.judge(campaign.root, loaded, "b")) == read(campaign, "b")
