"""The loop: tiers open, changes that regress or leave the boundary are rolled back, and a killed step is made again."""

from contextlib import suppress

import pytest
from scripted import Rounds, ScriptedAgents, toy_contract

from sophron.agentbuild import aud, iteration
from sophron.kinds.agent_build import stages
from sophron.records.documents import Document, validate
from sophron.records.typed_json import from_json, to_json


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return toy_contract(tmp_path_factory.mktemp("contract") / "numbers")


@pytest.fixture
def built(made, tmp_path):
    """A build by a script, run to its end: its rounds and its result."""

    def run(script, most):
        rounds = Rounds(tmp_path, made, ScriptedAgents(script), most)
        return rounds, rounds.run().result

    return run


def told(rounds):
    """What every iteration came to."""
    verdicts = [entry.verdict for entry in rounds.history]
    return [(one.tiers, one.met, one.wanted, one.p_strict, one.best, one.regressed) for one in verdicts]


def test_a_build_climbs_its_tiers_and_is_tried_on_what_was_held_out(built):
    rounds, result = built([2, 3, 3, 5], 9)
    # Skill 1 misses both dimensions; 2 misses D1; 3 passes the first tier; on the hard case 3 counts as 2; 5 passes.
    assert rounds.skills == [1, 2, 3, 3, 5]
    assert told(rounds) == [
        (1, 0, 4, False, 1, False),
        (1, 2, 4, False, 2, False),
        (1, 4, 4, True, 3, False),
        (2, 5, 6, False, 4, False),
        (2, 6, 6, True, 5, False),
    ]
    assert result["saturated"]
    assert result["held_out"] == {"kept": True}
    assert (result["iterations"], result["tiers_passed"], rounds.history[-1].verdict.best) == (5, 2, 5)
    assert result["agent"] == rounds.candidates[4].result["agent"]


def test_a_pass_is_tried_on_the_next_tier_before_anything_changes(built):
    rounds, _ = built([3, 5], 3)
    change = rounds.history[2].change
    assert (change.parent, change.changed, change.refusal) == (2, (), "")
    assert 2 not in rounds.proposals


def test_a_change_that_makes_things_worse_is_left_behind(built):
    rounds, result = built([2, 1, 3], 4)
    assert rounds.skills == [1, 2, 1, 3]
    assert [one[4:] for one in told(rounds)] == [(1, False), (2, False), (2, True), (4, False)]
    assert rounds.history[3].change.parent == 2
    assert not result["saturated"]


def test_an_agent_that_breaks_down_is_never_built_upon(built):
    rounds, _ = built([99, 3], 3)
    verdict = rounds.history[1].verdict
    assert set(verdict.crashed) == {"one", "two"}
    assert verdict.met == rounds.history[0].verdict.met == 0
    assert (verdict.regressed, rounds.history[2].change.parent) == (True, 1)
    assert rounds.skills == [1, 99, 3]


@pytest.mark.parametrize(
    ("diff", "sentence"),
    [
        ("--- /dev/null\n+++ b/references/first.yaml\n@@ -0,0 +1 @@\n+about: what I say\n", "which is frozen"),
        ("--- a/recipe.yaml\n+++ b/recipe.yaml\n@@ -1 +1 @@\n-skill: 7\n+skill: 8\n", "does not apply"),
        ("--- a/recipe.yaml\n+++ b/recipe.yaml\n@@ -1 +1 @@\n-skill: 1\n+skill: [\n", "recipe.yaml"),
    ],
)
def test_a_change_that_does_not_stand_is_recorded_and_costs_an_iteration_without_runs(built, diff, sentence):
    rounds, _ = built([diff, 3], 3)
    change, verdict = rounds.history[1].change, rounds.history[1].verdict
    assert sentence in change.refusal
    assert verdict.skipped == change.refusal
    assert change.diff == diff
    assert rounds.tried[1] == ()
    assert rounds.skills == [1, 1, 3]
    assert rounds.history[1].verdict.agent == rounds.history[0].verdict.agent


def test_nothing_to_change_ends_a_build(built):
    rounds, result = built([""], 9)
    assert (result["iterations"], result["rolled_back"]) == (2, 0)
    assert rounds.history[1].verdict.skipped == "the meta-optimizer had nothing to change"
    assert rounds.tried == [("one", "two"), ()]


def test_the_meta_optimizer_is_told_what_was_tried_and_never_asked_beyond_the_bound(built):
    rounds, _ = built([2, 1], 3)
    heard = rounds.agents.told
    assert len(heard) == 2
    assert [one["met"] for one in heard[1]["history"]] == [0, 2]
    assert heard[1]["history"][1]["rationale"] == "proposal 1"
    assert {card["case"] for card in heard[1]["scorecards"]} == {"one", "two"}
    assert "procedures.md" in heard[0]["knowledge"]
    assert "recipe.yaml" in heard[0]["boundary"]["may_change"][3]["paths"]


class Killed(BaseException):
    """Stands for a kill: nothing in a step catches it."""


def contents(folder):
    """Relative path -> bytes of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_killed_step_is_made_again_and_comes_to_the_same_bytes(made, tmp_path, monkeypatch):
    """Every step is cut off in front of each file that it writes, and made again in the folder that it left."""

    kills = []

    def dying_at(file):
        left = iter(range(file))

        def write(path, value):
            if next(left) == file - 1:
                kills.append(path)
                raise Killed(path)
            written(path, value)

        return write

    class Dying(Rounds):
        def step(self, unit, wildcards, upstream=None, previous=None):
            for file in range(1, len(unit.outputs) + 1):
                with monkeypatch.context() as patch, suppress(Killed):
                    patch.setattr(stages, "write_json", dying_at(file))
                    return super().step(unit, wildcards, upstream, previous)
            return super().step(unit, wildcards, upstream, previous)

    written, script = stages.write_json, [2, 3, 3, 5]
    whole = Rounds(tmp_path / "whole", made, ScriptedAgents(script), 9)
    killed = Dying(tmp_path / "killed", made, ScriptedAgents(script), 9)
    assert killed.run().result == whole.run().result
    assert contents(killed.folder) == contents(whole.folder)
    assert {path.name for path in kills} >= {"agent.json", "change.json", "card.json", "cards.json", "history.json"}


def test_an_agent_that_was_half_made_is_made_again(made, tmp_path):
    rounds = Rounds(tmp_path, made, ScriptedAgents([2]), 1)
    left = tmp_path / "candidate-1" / "aud"
    left.mkdir(parents=True)
    (left / "half.yaml").write_text("half")
    rounds.run()
    assert not (left / "half.yaml").exists()
    assert rounds.history[0].verdict.agent == aud.aud_digest(made.blank)


def test_verdicts_and_changes_fit_their_schemas_and_come_back_as_they_were(built):
    rounds, _ = built([2, "", 3], 4)
    for entry in rounds.history:
        document = to_json(entry)
        change = {key: value for key, value in document["change"].items() if key != "diff"}
        for name, data in (("verdict", document["verdict"]), ("mutation", change)):
            validate(Document(data, rounds.folder / name), f"build/{name}")
        assert from_json(iteration.Iteration, document) == entry
