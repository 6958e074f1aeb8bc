"""The kind agent_build: its stage functions, called as Snakemake would, come to what the loop of a rehearsal comes to."""

import json
from pathlib import Path

import pytest
from scripted import ScriptedWays, toy_contract

from sophron.agentbuild import aud, build_inputs, build_loop, contract, judge
from sophron.interfaces.kind import StepContext, UpstreamStep
from sophron.kinds.agent_build import stages
from sophron.kinds.agent_build.kind import BUILD, KIND, SAMPLE, ranges
from sophron.records import documents
from sophron.records.errors import UserError
from sophron.records.package_data import resource


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return toy_contract(tmp_path_factory.mktemp("contract") / "numbers")


class Rounds:
    """A campaign of the kind without Snakemake: the same functions, what they build on by hand, agents by a script."""

    def __init__(self, folder, made, ways, iterations):
        self.folder, self.made, self.ways = folder, made, ways
        self.definition = {
            "contract": str(made.folder),
            "contract_digest": made.digest,
            "iterations": iterations,
            "repeats": 2,
        }
        self.concluded, self.proposals, self.tried = [], {}, []

    def step(self, unit, wildcards, upstream=None, previous=None):
        """One step: its result fits its schema, its files are there."""
        workdir = self.folder / "-".join([unit.name, *wildcards.values()])
        workdir.mkdir(parents=True, exist_ok=True)
        context = StepContext(
            unit.name, wildcards, self.definition, upstream or {}, workdir, workdir, 1, previous=previous or {}
        )
        done = getattr(stages, unit.run.partition(":")[2])(context)
        documents.validate(documents.Document(done.result, Path("result")), unit.schema, "result")
        assert set(done.files) == set(unit.outputs)
        return UpstreamStep(unit.name, wildcards, done.result, done.files)

    def part(self, name):
        (part,) = (part for part in BUILD.parts if part.name == name)
        return BUILD.unit(part)

    def card(self, number, case, agent):
        """Run and judge one case as the agent rules would."""
        wildcards, folder = {"round": str(number), "case": case}, self.folder / f"run-{number}-{case}"
        folder.mkdir()
        self.ways.attempt(f"try-{number}-{case}", agent, self.made.curriculum.cases[case], folder)
        report, trajectory = folder / "report.json", folder / "trajectory.json"
        answered = UpstreamStep("try_case", wildcards, json.loads(report.read_text()), {"trajectory": trajectory})
        run = stages.run_of(case, answered, self.made)
        screening = UpstreamStep("screen_case", wildcards, self.ways.screen("screen", run), {})
        scores = [
            UpstreamStep(
                "score_case", {**wildcards, "repeat": str(repeat)}, self.ways.score("score", run, {}, folder), {}
            )
            for repeat in (1, 2)
        ]
        upstream = {"try_case": [answered], "screen_case": [screening], "score_case": scores}
        return self.step(self.part("card"), wildcards, upstream)

    def round(self, number):
        """One round; whether another follows."""
        wildcards = {"round": str(number)}
        before = self.concluded[-1:]
        improved = [UpstreamStep("improve", {}, self.proposals[number - 1], {})] if number - 1 in self.proposals else []
        previous = {"conclude": before, "improve": improved}
        candidate = self.step(self.part("candidate"), wildcards, previous=previous)
        self.tried.append(tuple(candidate.result["cases"]))
        agent = stages.unpacked(candidate.files["agent"], self.folder / f"aud-{number}")
        cards = [self.card(number, case, agent) for case in candidate.result["cases"]]
        upstream = {"candidate": [candidate], "card": cards}
        concluded = self.step(self.part("conclude"), wildcards, upstream, {"conclude": before})
        self.concluded.append(concluded)
        if concluded.result["improve"]:
            inputs = {"agent": json.loads(concluded.files["best"].read_text())}
            self.proposals[number] = self.ways.optimize(f"optimize-{number}", inputs)
        return not concluded.result["done"]

    def run(self):
        """Rounds until none follows; the result of the stage."""
        number = 1
        while self.round(number):
            number += 1
        assert str(number) in ranges({"build": self.definition, "sample": {"cases": ["one"]}})["round"]
        return self.step(BUILD, {}, {"conclude": self.concluded})


FROZEN = "--- /dev/null\n+++ b/rubric.yaml\n@@ -0,0 +1 @@\n+title: mine\n"


@pytest.mark.parametrize("script", [[2, 3, 3, 5], [2, 1, 3, 5, 5, 5], [FROZEN, 3, 5, 5]])
def test_rounds_come_to_what_the_loop_comes_to(made, tmp_path, script):
    build = build_loop.begin(tmp_path / "loop", made, 7)
    result = build_loop.drive(build, ScriptedWays(script))
    rounds = Rounds(tmp_path / "rounds", made, ScriptedWays(script), 7)
    ended = rounds.run()
    history = json.loads(ended.files["history"].read_text())
    assert [one["verdict"] for one in history] == build.records.verdicts()
    assert ended.result["agent"] == result["agent"]
    assert ended.result["held_out"] == result["held_out"] == {"kept": True}
    assert ended.result["rolled_back"] == sum(isinstance(one, str) for one in script)
    assert rounds.tried[-1] == made.curriculum.held_out


def test_a_change_that_does_not_stand_runs_no_case(made, tmp_path):
    rounds = Rounds(tmp_path, made, ScriptedWays([FROZEN, 3]), 3)
    rounds.run()
    assert rounds.tried[1] == ()


def test_a_build_ends_at_its_bound_without_what_was_held_out(made, tmp_path):
    rounds = Rounds(tmp_path, made, ScriptedWays([2, 2, 2]), 2)
    ended = rounds.run()
    assert (ended.result["iterations"], ended.result["saturated"], ended.result["held_out"]) == (2, False, {})
    assert 2 not in rounds.proposals


def test_an_agent_that_gave_no_valid_answer_fails_its_screening_and_the_round_goes_on(made, tmp_path):
    rounds = Rounds(tmp_path, made, ScriptedWays([2]), 2)
    (tmp_path / "trajectory.json").write_text("")
    wildcards = {"round": "1", "case": "one"}
    answered = UpstreamStep("try_case", wildcards, {}, {"trajectory": tmp_path / "trajectory.json"}, "no valid answer")
    run = stages.run_of("one", answered, made)
    assert (run.report, run.trajectory, run.failure) == (None, None, "no valid answer")
    screening = UpstreamStep("screen_case", wildcards, {"passed": True, "reasons": []}, {})
    scores = [UpstreamStep("score_case", {**wildcards, "repeat": str(one)}, {"scores": []}, {}) for one in (1, 2)]
    upstream = {"try_case": [answered], "screen_case": [screening], "score_case": scores}
    done = rounds.step(rounds.part("card"), wildcards, upstream)
    card = json.loads(done.files["card"].read_text())
    assert card["screening"]["reasons"] == ["the run ended without a report: no valid answer"]
    assert {one["score"] for one in card["dimensions"]} == {1}
    assert done.result == {"passed": False, "met": 0}


def test_a_contract_that_was_changed_after_signing_is_refused(made, tmp_path):
    rounds = Rounds(tmp_path, made, ScriptedWays([2]), 2)
    rounds.definition["contract_digest"] = "0" * 64
    with pytest.raises(UserError, match="is not the contract that was signed"):
        rounds.round(1)


def test_repeats_are_those_of_the_rubric(made, tmp_path):
    rounds = Rounds(tmp_path, made, ScriptedWays([2]), 2)
    rounds.definition["repeats"] = 3
    with pytest.raises(UserError, match="the rubric asks 2 times"):
        rounds.round(1)


def test_a_sample_is_made_of_its_case(made, tmp_path):
    rounds = Rounds(tmp_path, made, ScriptedWays([2]), 2)
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


def test_the_shipped_contract_is_sound_and_tells_the_agent_nothing_of_its_judge():
    found = contract.load(resource("contracts", "rietveld-snr"))
    aud.check(found.blank, found)
    agent = aud.definition(found.blank, found)
    told = build_inputs.attempt(
        agent, stages.samples.Given({"x": 1}, {"y": 2}), {}, Path("sample.json"), Path("agent.json")
    )
    assert set(told) == {"task", "recipe", "sample", "agent"}
    codes = {one.code for one in found.rubric.dimensions}
    assert codes == {"D1", "D2", "D3", "D4", "D5", "D6", "T1", "T2", "T3", "T4", "T5"}
    strict = {"D1", "D2", "D3", "T1", "T2", "T5"}
    assert found.rubric.thresholds == {code: 3 if code in strict else 2 for code in codes}
    assert judge.faults({"scores": []}, found.rubric)
