"""What an attempt comes to: programs decide, a word passes nothing, and the next worker hears names alone."""

import json

import pytest

from sophron.interfaces.kind import StepContext, UpstreamStep
from sophron.kinds.task import stages
from sophron.records.documents import Document, faults

CHECKED = {"text": "a.txt exists", "checks": [{"check": "exists", "file": "a.txt"}]}
JUDGED = {"text": "It is clear.", "judged_by": "reviewer"}
GOOD = {
    "passed": True, "reward": None, "rewards": {}, "fault": "", "exit_code": 0, "limit": "", "wall_time_s": 0.0,
    "stubs": [], "left_out": [], "unmet": [], "fabrications": [],
}  # fmt: skip
DONE = {"status": "done", "summary": "It is there.", "reason": ""}
LOG = "FAILED ../tests/test_outputs.py::test_mean - assert 3.5 == 4.25\nE  4.25\n"


@pytest.fixture
def concluded(tmp_path):
    """Conclude a round; its result, and the history that the next worker is told."""

    def conclude(assessed=GOOD, worked=DONE, *, review=None, before=(), number=1, log="", **definition):
        about = {"instruction": "Do it.", "attempts": 3, "expectations": [CHECKED], **definition}
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "log").write_text(log)
        (folder / "before.json").write_text(json.dumps(list(before)))
        result, failed = (worked, None) if isinstance(worked, dict) else ({}, worked)
        upstream = {
            "work_fit": [UpstreamStep("work_fit", {}, result, {}, failed)],
            "assess_fit": [UpstreamStep("assess_fit", {}, assessed, {"log": folder / "log"})],
        }
        if review is not None:
            reviewed, lost = (review, None) if isinstance(review, dict) else ({}, review)
            upstream["review_fit"] = [UpstreamStep("review_fit", {}, reviewed, {}, lost)]
        previous = {"conclude_fit": [UpstreamStep("conclude_fit", {}, {}, {"history": folder / "before.json"})]}
        round_ = {"round": str(number)}
        made = stages.conclude(
            StepContext("conclude_fit", round_, about, upstream, folder, folder, 1, previous=previous)
        )
        assert faults(Document(dict(made.result), tmp_path), "task/conclude", "result") == []
        return made.result, json.loads(made.files["history"].read_text())

    return conclude


def unmet(**more):
    return {**GOOD, "passed": False, **more}


def judgement(*met):
    found = [{"sentence": place, "met": one, "evidence": "looked", "reason": "so"} for place, one in enumerate(met, 1)]
    return {"judgements": found}


def test_what_passes_is_met_and_ends(concluded):
    result, history = concluded()
    assert result == {"met": True, "done": True, "failed": []}
    assert [(one["attempt"], one["met"]) for one in history] == [(1, True)]


def test_a_word_passes_nothing(concluded):
    result, _ = concluded(unmet(unmet=["a.txt exists"]), {**DONE, "summary": "All tests pass, reward 1.0."})
    assert result == {"met": False, "done": False, "failed": ["a.txt exists"]}


def test_the_next_worker_hears_the_name_of_a_failed_test_and_no_value(concluded):
    failed = unmet(reward=0.0, rewards={"reward": 0.0})
    result, history = concluded(failed, log=LOG, folder="x")
    assert result["failed"] == ["the tests: test_mean"]
    assert "4.25" not in json.dumps(history)


def test_the_output_is_told_if_that_was_signed(concluded):
    _, history = concluded(unmet(reward=0.0, rewards={"reward": 0.0}), log=LOG, folder="x", feedback="output")
    assert "4.25" in history[0]["output"]


def test_signs_of_fabrication_fail_an_attempt_by_name_where_that_was_signed(concluded):
    sign = {"kind": "stale", "basis": "is older than its input", "path": "a.txt"}
    result, _ = concluded(unmet(fabrications=[sign]), fabrication="fails")
    assert (result["met"], result["failed"]) == (False, ["stale (a.txt): is older than its input"])


def test_signs_of_fabrication_are_evidence_otherwise(concluded):
    result, _ = concluded({**GOOD, "fabrications": [{"kind": "stale", "basis": "is older than its input"}]})
    assert result == {"met": True, "done": True, "failed": []}


def test_the_bound_ends_it_not_met(concluded):
    before = [{"attempt": one, "status": "done", "summary": "", "met": False, "failed": ["x"]} for one in (1, 2)]
    result, history = concluded(unmet(unmet=["a.txt exists"]), before=before, number=3)
    assert (result["met"], result["done"]) == (False, True)
    assert [one["attempt"] for one in history] == [1, 2, 3]


def test_what_cannot_be_done_ends_at_once_with_its_reason(concluded):
    gave_up = {"status": "impossible", "summary": "Nothing.", "reason": "The masses sum to an odd number."}
    result, history = concluded(unmet(unmet=["a.txt exists"]), gave_up)
    assert (result["met"], result["done"]) == (False, True)
    assert history[0]["summary"] == "The masses sum to an odd number."


def test_work_that_passes_is_met_even_if_its_worker_gave_up_or_had_no_call_left(concluded):
    assert concluded(worked="beyond its limit of 80 calls")[0]["met"]


def test_a_sentence_that_was_signed_for_the_reviewer_is_met_by_the_reviewer_alone(concluded):
    both = {"expectations": [CHECKED, JUDGED]}
    assert concluded(review=judgement(True), number=1, **both)[0]["met"]
    result, history = concluded(review=judgement(False), number=2, **both)
    assert result["failed"] == ["It is clear. (so)"]
    assert history[0]["objections"] == ["It is clear. (so)"]
    assert not concluded(review=None, number=3, **both)[0]["met"]


def test_a_reviewer_that_gives_no_answer_passes_nothing(concluded):
    result, _ = concluded(review="it declined", expectations=[CHECKED, JUDGED])
    assert result["failed"] == ["It is clear. (the reviewer gave no answer: it declined)"]


def test_a_reviewer_cannot_pass_what_programs_failed(concluded):
    result, _ = concluded(unmet(unmet=["a.txt exists"]), review=judgement(True), expectations=[CHECKED, JUDGED])
    assert not result["met"]


@pytest.mark.parametrize(
    ("rewards", "signed", "passes"),
    [
        ({"reward": 1.0}, {}, True),
        ({"reward": 0.98}, {}, False),
        ({"reward": 0.98}, {"pass_reward": 0.9}, True),
        ({"accuracy": 1.0}, {}, False),
        ({"accuracy": 0.7, "reward": 0.0}, {"pass_key": "accuracy", "pass_reward": 0.6}, True),
    ],
)
def test_the_signed_key_and_reward_pass(rewards, signed, passes):
    tests = {"passed": rewards.get("reward", 0) >= 1, "reward": rewards.get("reward"), "rewards": rewards, "limit": ""}
    assert stages.is_rewarded({"folder": "x", **signed}, tests) is passes


def test_no_verdict_is_no_pass():
    lost = {"passed": False, "reward": None, "rewards": {}, "limit": "wall_s"}
    assert not stages.is_rewarded({"folder": "x"}, lost)
