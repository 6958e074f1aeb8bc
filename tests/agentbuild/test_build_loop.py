"""The loop: tiers open, changes that regress or leave the boundary are rolled back, and a killed build goes on."""

import json

import pytest
from scripted import Killed, ScriptedWays, toy_contract

from sophron.agentbuild import aud, build_loop, build_store, next_action
from sophron.records.documents import load_json
from sophron.records.errors import UserError


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return toy_contract(tmp_path_factory.mktemp("contract") / "numbers")


def told(build):
    """What every iteration came to."""
    return [
        (one["tiers"], one["met"], one["wanted"], one["p_strict"], one["best"], one["regressed"])
        for one in build.records.verdicts()
    ]


def skills(build):
    """Skill of the agent of every iteration."""
    return [aud.recipe(build.records.aud(number))["skill"] for number in build.records.numbers]


def contents(folder):
    """Relative path -> bytes of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_build_climbs_its_tiers_and_is_tried_on_what_was_held_out(made, tmp_path):
    build = build_loop.begin(tmp_path / "build", made, 9)
    result = build_loop.drive(build, ScriptedWays([2, 3, 3, 5]))
    # Skill 1 misses both dimensions; 2 misses D1; 3 passes the first tier; on the hard case 3 counts as 2; 5 passes.
    assert skills(build) == [1, 2, 3, 3, 5]
    assert told(build) == [
        (1, 0, 4, False, 1, False),
        (1, 2, 4, False, 2, False),
        (1, 4, 4, True, 3, False),
        (2, 5, 6, False, 4, False),
        (2, 6, 6, True, 5, False),
    ]
    assert result["saturated"]
    assert result["held_out"] == {"kept": True}
    assert (result["iterations"], result["tiers_passed"], result["best"]) == (5, 2, 5)
    assert result["agent"] == aud.aud_digest(build.records.aud(5))


def test_a_pass_is_tried_on_the_next_tier_before_anything_changes(made, tmp_path):
    build = build_loop.begin(tmp_path / "build", made, 3)
    build_loop.drive(build, ScriptedWays([3, 5]))
    change = build.records.document(3, build_store.CHANGE)
    assert (change["parent"], change["changed"], change["refusal"]) == (2, [], "")
    assert build.records.document(2, build_store.PROPOSAL) is None


def test_a_change_that_makes_things_worse_is_left_behind(made, tmp_path):
    build = build_loop.begin(tmp_path / "build", made, 4)
    result = build_loop.drive(build, ScriptedWays([2, 1, 3]))
    assert skills(build) == [1, 2, 1, 3]
    assert [one[4:] for one in told(build)] == [(1, False), (2, False), (2, True), (4, False)]
    assert build.records.document(4, build_store.CHANGE)["parent"] == 2
    assert not result["saturated"]


def test_an_agent_that_breaks_down_is_never_built_upon(made, tmp_path):
    build = build_loop.begin(tmp_path / "build", made, 3)
    build_loop.drive(build, ScriptedWays([99, 3]))
    verdict = build.records.document(2, build_store.VERDICT)
    assert set(verdict["crashed"]) == {"one", "two"}
    assert verdict["met"] == build.records.document(1, build_store.VERDICT)["met"] == 0
    assert (verdict["regressed"], build.records.document(3, build_store.CHANGE)["parent"]) == (True, 1)
    assert skills(build) == [1, 99, 3]


@pytest.mark.parametrize(
    ("diff", "sentence"),
    [
        ("--- /dev/null\n+++ b/references/first.yaml\n@@ -0,0 +1 @@\n+about: what I say\n", "which is frozen"),
        ("--- a/recipe.yaml\n+++ b/recipe.yaml\n@@ -1 +1 @@\n-skill: 7\n+skill: 8\n", "does not apply"),
        ("--- a/recipe.yaml\n+++ b/recipe.yaml\n@@ -1 +1 @@\n-skill: 1\n+skill: [\n", "recipe.yaml"),
    ],
)
def test_a_change_that_does_not_stand_is_recorded_and_costs_an_iteration_without_runs(made, tmp_path, diff, sentence):
    build, ways = build_loop.begin(tmp_path / "build", made, 3), ScriptedWays([diff, 3])
    build_loop.drive(build, ways)
    change, verdict = (build.records.document(2, name) for name in (build_store.CHANGE, build_store.VERDICT))
    assert sentence in change["refusal"]
    assert verdict["skipped"] == change["refusal"]
    assert (build.records.iteration(2).folder / build_store.DIFF).read_text() == diff
    assert not any(step.startswith("attempt-2") for step in ways.calls)
    assert skills(build) == [1, 1, 3]
    assert aud.aud_digest(build.records.aud(2)) == aud.aud_digest(build.records.aud(1))


def test_nothing_to_change_ends_a_build(made, tmp_path):
    build = build_loop.begin(tmp_path / "build", made, 9)
    result = build_loop.drive(build, ScriptedWays([""]))
    assert (result["iterations"], result["reason"]) == (1, "the meta-optimizer had nothing to change")


def test_the_meta_optimizer_is_told_what_was_tried_and_never_asked_beyond_the_bound(made, tmp_path):
    heard = []

    class Listening(ScriptedWays):
        def optimize(self, step, inputs):
            heard.append(inputs)
            return super().optimize(step, inputs)

    build_loop.drive(build_loop.begin(tmp_path / "build", made, 3), Listening([2, 1]))
    assert len(heard) == 2
    assert [one["met"] for one in heard[1]["history"]] == [0, 2]
    assert heard[1]["history"][1]["rationale"] == "proposal 1"
    assert {card["case"] for card in heard[1]["scorecards"]} == {"one", "two"}
    assert "procedures.md" in heard[0]["knowledge"]
    assert "recipe.yaml" in heard[0]["boundary"]["may_change"][3]["paths"]


def test_a_killed_build_goes_on_and_comes_to_the_same_bytes(made, tmp_path):
    whole = build_loop.begin(tmp_path / "whole", made, 9)
    calls = ScriptedWays([2, 3, 3, 5])
    build_loop.drive(whole, calls)
    for dies_at in range(1, len(calls.calls) + 1, 3):
        folder = tmp_path / f"killed-{dies_at}"
        with pytest.raises(Killed):
            build_loop.drive(build_loop.begin(folder, made, 9), ScriptedWays([2, 3, 3, 5], dies_at))
        build_loop.drive(build_loop.begin(folder, made, 9), ScriptedWays([2, 3, 3, 5]))
        assert contents(folder) == contents(whole.folder)


def test_a_build_cut_off_while_an_agent_is_made_makes_it_again(made, tmp_path):
    build = build_loop.begin(tmp_path / "build", made, 1)
    left = build.records.aud(1)
    left.mkdir(parents=True)
    (left / "half.yaml").write_text("half")
    build_loop.drive(build, ScriptedWays([2]))
    assert not (left / "half.yaml").exists()


def test_a_build_goes_on_with_its_own_contract_alone(made, tmp_path):
    build_loop.begin(tmp_path / "build", made, 9)
    other = toy_contract(tmp_path / "numbers")
    (other.folder / "knowledge" / "more.md").write_text("# More\n")
    with pytest.raises(UserError, match="with another digest"):
        build_loop.begin(tmp_path / "build", other, 9)
    with pytest.raises(UserError, match="another most_iterations"):
        build_loop.begin(tmp_path / "build", made, 10)


def test_every_action_follows_from_what_stands(made, tmp_path):
    doing = []
    build = build_loop.begin(tmp_path / "build", made, 2)
    build_loop.drive(
        build, ScriptedWays([2]), lambda action: doing.append((action.doing, action.iteration, action.case))
    )
    assert doing[:7] == [
        ("begin", 1, ""),
        ("attempt", 1, "one"),
        ("attempt", 1, "two"),
        ("judge", 1, "one"),
        ("judge", 1, "two"),
        ("conclude", 1, ""),
        ("propose", 1, ""),
    ]
    assert next_action.next_action(build.records.history(), made.curriculum, 2).doing == "end"
    assert json.dumps(load_json(build.folder / build_store.RESULT))
