"""Loops of a kind: steps behind a checkpoint are signed as bounded templates, run round by round, and amended whole."""

import json
import shlex

import pytest
import random_amendments
import toy
from html_page import Page

from sophron.campaign.execution import outcome_store
from sophron.campaign.planning import campaign_agents, plan
from sophron.campaign.report import report
from sophron.campaign.spec import spec
from sophron.records import approvals
from sophron.records.digests import SHELL_FIELD
from sophron.records.errors import Refused, UserError


@pytest.fixture
def search(tmp_path, monkeypatch):
    return toy.campaign(tmp_path, monkeypatch, "search")


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        made = toy.campaign(tmp_path_factory.mktemp("original"), patch, "search")
        made.sign()
        made.complete()
    return made


@pytest.fixture
def finished(original, tmp_path, monkeypatch):
    """A copy of a campaign that has run."""
    for variable, value in toy.settings(original.root.parent).items():
        monkeypatch.setenv(variable, value)
    return random_amendments.duplicate(original, tmp_path / "copy")


def outcome(search, *parts):
    return json.loads(search.root.joinpath("results", "search", *parts, "outcome.json").read_text())


def test_the_plan_lists_the_stage_and_bounds_what_its_loop_may_hold(search, monkeypatch):
    toy.plan_here(monkeypatch)
    made = plan.make(search.root, spec.load(search.spec))
    assert {step.rule for step in made.steps} == {"search", "verify", "accept", "report", "caveats"}
    bounds = {template.rule: template.bound for template in made.templates}
    assert {name: bounds[name] for name in ("advise", "guess", "weigh")} == {"advise": 3, "guess": 9, "weigh": 3}
    assert made.most_steps == len(made.steps) + 9 + 3
    # search and weigh: 1 core, 10 min, 2 attempts each; guess: 4 min; verify and accept: 10 min once
    assert made.core_hours()["search"] == pytest.approx((4 * 20 + 9 * 8 + 2 * 10) / 60)
    assert set(made.agents) >= {"advise", "caveats"}
    assert made.ceilings["guess"]["memory_mb"] == 200
    assert made.ceilings["weigh"]["memory_mb"] == 600


def test_a_loop_beyond_its_limits_keeps_the_gate_closed(search, monkeypatch):
    toy.plan_here(monkeypatch)
    search.edit("core_hours: 100, trials: 3", "steps: 10, core_hours: 1, trials: 2")
    said = plan.make(search.root, spec.load(search.spec)).excess()
    assert [sentence.partition(":")[0] for sentence in said] == ["limits.steps", "limits.trials", "limits.core_hours"]


def test_a_part_that_the_loop_lacks_is_refused(search):
    search.edit("      guess:\n", "      gues:\n")
    with pytest.raises(UserError, match=r"stages.search.parts.gues: the loop of search has no such part; it has guess"):
        spec.load(search.spec)


def test_rounds_run_until_one_is_enough_or_none_is_left_and_failures_are_facts_of_the_loop(finished):
    weighed = [outcome(finished, "weigh", str(number)) for number in range(3)]
    assert [one["result"]["next"] for one in weighed] == [2, 3, 3]
    assert [one["result"]["failed"] for one in weighed] == [0, 1, 1]
    assert outcome(finished, "guess", "1", "1")["status"] == "failed"
    assert set(weighed[2]["inputs"]) == {"guess-2-0", "guess-2-1", "guess-2-2", "weigh-1"}
    errors = [abs(one["result"]["best"] ** 2 - 9) for one in weighed]
    assert errors == sorted(errors, reverse=True)
    assert outcome(finished)["result"] == {"root": weighed[-1]["result"]["best"], "rounds": 3}
    assert set(outcome(finished, "guess", "0", "0")["inputs"]) == {"advise-0"}
    assert finished.verdicts() == {"search": "pass"}


def test_the_report_lists_the_rounds_of_the_loop_with_what_they_took(finished):
    whole = report.collect(finished.root, spec.load(finished.spec), approvals.signed_gate(finished.root))
    (stage,) = whole.stages
    counted = {
        number: {unit: (ran.steps, ran.tries) for unit, ran in units.items()}
        for number, units in stage.loop.ran.items()
    }
    asked = {"agents of guess": (1, 0)}
    assert counted == {
        "0": {**asked, "guess": (1, 1), "weigh": (1, 1)},
        "1": {**asked, "guess": (2, 2), "weigh": (1, 1)},
        "2": {**asked, "guess": (3, 3), "weigh": (1, 1)},
    }
    assert stage.loop.whole.ended == {"done": 7, "failed": 2}
    assert all(units["agents of guess"].spans for units in stage.loop.ran.values())
    notes = [json.loads(path.read_text()) for path in (finished.root / "records").glob("*/*/try.json")]
    assert stage.core_hours == pytest.approx(sum(note["core_seconds"] for note in notes) / 3600)
    words = " ".join(Page((finished.root / "results" / "report.html").read_text()).words.split())
    # 9 guesses of 8 core-minutes and 3 weighings of 20 are signed
    assert "search, its loop 12 9 7 done, 2 failed < 0.01 2.20" in words
    assert "Guesses of each round. round guesses 0 1 1 2 2 3" in words
    assert "round agents of guess guess weigh wall time core-hours 0 1 1 1 " in words


def test_the_crate_holds_the_steps_of_the_loop_with_their_inputs(finished):
    graph = json.loads((finished.root / "results" / "ro-crate-metadata.json").read_text())["@graph"]
    actions = {entry["@id"]: entry for entry in graph if "CreateAction" in entry["@type"]}
    asked = {name for name in actions if name.startswith("#step-advise-")}
    guessed = {name for name in actions if name.startswith("#step-guess-")}
    weighed = {name for name in actions if name.startswith("#step-weigh-")}
    assert (len(asked), len(guessed), len(weighed)) == (3, 6, 3), sorted(actions)
    statuses = [actions[name]["actionStatus"].rpartition("/")[2] for name in guessed]
    assert (statuses.count("CompletedActionStatus"), statuses.count("FailedActionStatus")) == (4, 2)
    made = {one["@id"] for name in guessed for one in _listed(actions[name]["result"])}
    used = {one["@id"] for name in weighed for one in _listed(actions[name]["object"])}
    assert used >= {each for each in made if each.endswith("outcome.json")}


def _listed(value):
    return value if isinstance(value, list) else [value]


def test_the_plan_is_the_same_before_and_after_the_loop_has_run(finished):
    made = plan.make(finished.root, spec.load(finished.spec))
    assert made.hash == approvals.valid_approval(finished.root).record.plan
    assert "Nothing to be done" in finished.complete().stdout


def test_a_step_beyond_its_range_or_with_another_digest_is_refused(finished):
    template = approvals.valid_approval(finished.root).record.templates["guess"]

    def claim(digest, number):
        fields = {"wildcards.round": number, "wildcards.item": "0", "params.digest": digest}
        words = shlex.split(template.shell)[1:]
        argv = [SHELL_FIELD.sub(lambda found: fields.get(found[0][1:-1], "any"), word) for word in words]
        return approvals.Claim("guess", digest, "guess", {"round": number, "item": "0"}, argv)

    assert approvals.require_approved(claim(template.digest, "2"), finished.root)
    with pytest.raises(Refused, match="guess-3-0 is beyond the 9 that the plan has of guess"):
        approvals.require_approved(claim(template.digest, "3"), finished.root)
    with pytest.raises(Refused, match="guess-0-0 has another digest than the signed one"):
        approvals.require_approved(claim("0" * 64, "0"), finished.root)


def test_an_amendment_of_the_stage_or_of_its_agent_sets_the_whole_loop_aside(finished):
    before = outcome(finished, "weigh", "2")
    drafted = finished.amend("stages.search.definition.rounds=2")
    assert drafted.invalidated_stages == ["search"]
    kept = finished.root / "invalidated" / "v1" / "results" / "search"
    assert json.loads((kept / "weigh" / "2" / "outcome.json").read_text()) == before
    assert (kept / "advise" / "0" / "answer.json").is_file()
    assert not list((finished.root / "results" / "search").rglob("outcome.json"))
    finished.complete()
    assert outcome(finished)["result"]["rounds"] == 2
    own = finished.root / "agents" / "checkpoint-management.md"
    own.parent.mkdir(exist_ok=True)
    text = campaign_agents.find_agent(None, "checkpoint-management").path.read_text()
    own.write_text(text + "\nBe brief.\n")
    assert finished.amend().invalidated_stages == ["search"]
    assert not list((finished.root / "results" / "search").rglob("outcome.json"))


def test_steps_that_an_earlier_course_of_the_loop_left_are_not_taken_up(finished):
    stale = finished.root / "results" / "search" / "weigh" / "2" / "outcome.json"
    text = finished.root / "results" / "search" / "guess" / "2" / "0" / "outcome.json"
    loaded = spec.load(finished.spec)
    assert len(outcome_store.of_loop(finished.root, loaded, "weigh", {})) == 3
    text.write_text(text.read_text().replace('"seed"', ' "seed"'))
    assert stale.is_file()
    assert len(outcome_store.of_loop(finished.root, loaded, "weigh", {})) == 2
