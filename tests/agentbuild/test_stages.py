"""The kind agent_build: its stage functions, called as Snakemake would."""

import json

import pytest
from scripted import Rounds, ScriptedAgents, toy_contract

from sophron.agentbuild import aud, contract, judge
from sophron.interfaces.kind import UpstreamStep
from sophron.kinds.agent_build import agent_inputs, stages
from sophron.kinds.agent_build.kind import KIND, SAMPLE, ranges
from sophron.records.errors import UserError
from sophron.records.files import resource


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return toy_contract(tmp_path_factory.mktemp("contract") / "numbers")


FROZEN = "--- /dev/null\n+++ b/rubric.yaml\n@@ -0,0 +1 @@\n+title: mine\n"


@pytest.mark.parametrize(("script", "rounds"), [([2, 3, 3, 5], 5), ([2, 1, 3, 5, 5, 5], 6), ([FROZEN, 3, 5, 5], 5)])
def test_a_build_ends_with_what_was_held_out(made, tmp_path, script, rounds):
    built = Rounds(tmp_path, made, ScriptedAgents(script), 7)
    ended = built.run()
    assert ended.result["iterations"] == len(built.history) == rounds
    assert ended.result["agent"] == built.history[-1].verdict.agent
    assert ended.result["held_out"] == {"kept": True}
    assert ended.result["rolled_back"] == sum(isinstance(one, str) for one in script)
    assert built.tried[-1] == made.curriculum.held_out


def test_a_change_that_does_not_stand_runs_no_case(made, tmp_path):
    rounds = Rounds(tmp_path, made, ScriptedAgents([FROZEN, 3]), 3)
    rounds.run()
    assert rounds.tried[1] == ()


def test_a_build_ends_at_its_bound_without_what_was_held_out(made, tmp_path):
    rounds = Rounds(tmp_path, made, ScriptedAgents([2, 2, 2]), 2)
    ended = rounds.run()
    assert (ended.result["iterations"], ended.result["saturated"], ended.result["held_out"]) == (2, False, {})
    assert 2 not in rounds.proposals


def test_an_agent_that_gave_no_valid_answer_fails_its_screening_and_the_round_goes_on(made, tmp_path):
    rounds = Rounds(tmp_path, made, ScriptedAgents([2]), 2)
    (tmp_path / "trajectory.json").write_text("")
    wildcards = {"round": "1", "case": "one"}
    answered = UpstreamStep("aud", wildcards, {}, {"trajectory": tmp_path / "trajectory.json"}, "no valid answer")
    run = stages.run_of("one", answered, made)
    assert (run.report, run.trajectory, run.failure) == (None, None, "no valid answer")
    screening = UpstreamStep("judge_screen", wildcards, {"passed": True, "reasons": []}, {})
    scores = [UpstreamStep("judge_score", {**wildcards, "repeat": str(one)}, {"scores": []}, {}) for one in (1, 2)]
    upstream = {"aud": [answered], "judge_screen": [screening], "judge_score": scores}
    done = rounds.step(rounds.part("card"), wildcards, upstream)
    card = json.loads(done.files["card"].read_text())
    assert card["screening"]["reasons"] == ["the run ended without a report: no valid answer"]
    assert {one["score"] for one in card["dimensions"]} == {1}
    assert done.result == {"passed": False, "met": 0}


def test_scores_that_are_not_those_that_were_asked_for_are_asked_for_again(made, tmp_path):
    class Forgetful(ScriptedAgents):
        def score(self, run):
            return {"scores": super().score(run)["scores"][1:]}

    with pytest.raises(UserError, match=r"judge_score-1-one-1: scores must be .*; ask again: sophron agent reask"):
        Rounds(tmp_path, made, Forgetful([2]), 2).round(1)


def test_a_contract_that_was_changed_after_signing_is_refused(made, tmp_path):
    rounds = Rounds(tmp_path, made, ScriptedAgents([2]), 2)
    rounds.definition["contract_digest"] = "0" * 64
    with pytest.raises(UserError, match="is not the contract that was signed"):
        rounds.round(1)


def test_repeats_are_those_of_the_rubric(made, tmp_path):
    rounds = Rounds(tmp_path, made, ScriptedAgents([2]), 2)
    rounds.definition["repeats"] = 3
    with pytest.raises(UserError, match="the rubric asks 2 times"):
        rounds.round(1)


def test_a_sample_is_made_of_its_case(made, tmp_path):
    rounds = Rounds(tmp_path, made, ScriptedAgents([2]), 2)
    done = rounds.step(SAMPLE, {"case": "one"})
    assert "about" in json.loads(done.files["sample"].read_text())
    with pytest.raises(UserError, match="the contract has no case four"):
        rounds.step(SAMPLE, {"case": "four"})


def test_ranges_bound_rounds_cases_and_repeats():
    found = ranges({"build": {"iterations": 9, "repeats": 2}, "sample": {"cases": ["a", "b"]}})
    assert (len(found["round"]), found["case"], found["repeat"]) == (10, ["a", "b"], ["1", "2"])
    assert [stage.name for stage in KIND.stages] == ["sample", "build"]


def test_shipped_campaigns_name_the_shipped_contract():
    found = contract.load(resource("contracts", "rietveld-snr"))
    template = resource("campaign", "templates", "new", "agent_build.yaml.j2")
    for path in (resource("campaigns", "agent-build-ladder", "campaign.yaml"), template):
        text = path.read_text()
        assert text.count(found.digest) == 2, f"write contract_digest: {found.digest} into {path}"
        assert f"cases: [{', '.join(found.curriculum.cases)}]" in text
        assert f"repeats: {found.rubric.repeats}" in text


def test_the_shipped_contract_is_sound_and_tells_the_agent_nothing_of_its_judge(tmp_path):
    found = contract.load(resource("contracts", "rietveld-snr"))
    aud.check(found.blank, found)
    packed, given = (tmp_path / name for name in ("agent.json", "given.json"))
    packed.write_text(json.dumps(aud.packed(found.blank)))
    given.write_text("{}")
    told = agent_inputs.tried(
        aud.definition(found.blank, found.tools["servers"]).front["inputs"], "a domain", packed, given, given
    )
    assert set(told) == {"task", "recipe", "sample", "agent"}
    codes = {one.code for one in found.rubric.dimensions}
    assert codes == {"D1", "D2", "D3", "D4", "D5", "D6", "T1", "T2", "T3", "T4", "T5"}
    strict = {"D1", "D2", "D3", "T1", "T2", "T5"}
    assert found.rubric.thresholds == {code: 3 if code in strict else 2 for code in codes}
    assert judge.faults(judge.Scoring(()), found.rubric)
