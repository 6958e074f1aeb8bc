"""A rehearsal: judge, meta-optimizer and agent by rules of thumb; who may not be asked, and where it does not begin."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import refinements
import toy
import yaml

from sophron import cli
from sophron.agentbuild import aud, contract, judge, mutation
from sophron.agents.rule_based import judges, optimize
from sophron.kinds.agent_build import agent_inputs, rehearsal
from sophron.records.errors import UserError
from sophron.records.files import resource
from sophron.records.typed_json import from_json, to_json

GOOD = """\
# What an agent for good counts would know.
rungs:
  - {name: scale, groups: [scale, background]}
  - {name: cell, groups: [cell, displacement]}
  - {name: widths, groups: [size, strain]}
  - {name: atoms, groups: [position, u_iso]}
plots: {whole_after: [cell], windows: 2}
"""


CONSTRAINED = """\
rungs:
  - {name: scale, groups: [scale, background]}
  - {name: cell, groups: [cell, displacement]}
  - {name: size, groups: [size]}
plots: {whole_after: [cell], windows: 2}
candidates: {claim_significance: 5.0, absent_below: 3.0}
"""
EXPLAINS = "explains: {misfit_percent: 20.0, cell_percent: 0.5}\n"


@pytest.fixture(scope="module")
def made():
    return contract.load(resource("contracts", "rietveld-snr"))


def judged(run, made):
    card = judge.judge(
        run,
        made.rubric,
        lambda run: from_json(judge.Screening, judges.screen(agent_inputs.screening(run, made))),
        lambda repeat: from_json(judge.Scoring, judges.score(agent_inputs.scoring(run, made, repeat, None))),
    )
    return to_json(card)


def test_both_judges_read_a_sound_run(made):
    card = judged(refinements.run(), made)
    assert card["passed"], [one for one in card["dimensions"] if not one["passed"]]
    assert {one["disagreement"] for one in card["dimensions"]} == {0}


def test_the_meta_optimizer_turns_a_miss_into_a_change_that_stands(made, tmp_path):
    story = refinements.sound_story(refinements.RUNGS[:1])
    report = refinements.sound_report(story, ("scale", "background"))
    card = judged(refinements.run(report, story), made)
    assert not card["passed"]
    files = {"best": aud.packed(made.blank), "cards": [card], "history": []}
    for name, data in files.items():
        (tmp_path / name).write_text(json.dumps(data))
    proposal = optimize.answer(agent_inputs.improving(made, {name: tmp_path / name for name in files}))
    found = mutation.mutate(made.blank, proposal["diff"], tmp_path / "next", made)
    assert (found.refusal, found.changed) == ("", ("recipe.yaml",))
    assert len(aud.recipe(tmp_path / "next")["rungs"]) > 1


def test_what_rules_of_thumb_cannot_play_is_said_by_name(made):
    assert rehearsal.beyond_rules_of_thumb(made) == []
    said = rehearsal.beyond_rules_of_thumb(contract.load(resource("contracts", "peak-fitting")))
    assert [sentence.partition(":")[0] for sentence in said] == ["aud", "optimize", "judge-score"]
    assert "D1, D2, D3" in said[2]


def test_the_meta_optimizer_says_which_faults_it_has_no_edit_for():
    fault = {"code": "peak_missed", "gravity": "grave", "evidence": "", "about": {}}
    dimension = {"code": "D1", "passed": False, "computed": {"score": 1, "faults": [fault], "numbers": {}}}
    card = {"case": "one", "dimensions": [dimension]}
    told = {"agent": {"recipe.yaml": "{}\n"}, "scorecards": [card], "history": []}
    said = optimize.answer(told)
    assert (said["diff"], said["targets"]) == ("", [])
    assert "no edit for peak_missed" in said["rationale"]
    card |= {"screening": {"passed": False, "reasons": ["the run ended without a report: no rule"], "by": "program"}}
    assert "came to a report that can be judged: the run ended" in optimize.answer(told)["rationale"]


def test_codes_of_another_domain_are_not_read_as_those_of_refinements(made):
    told = agent_inputs.scoring(refinements.run(), made, 1, None)
    assert {one["evidence"] for one in judges.score(told)["scores"]} != {"no rule of thumb reads this"}
    told["report"] = {"result": 1.0, "caveats": []}
    assert {one["evidence"] for one in judges.score(told)["scores"]} == {"no rule of thumb reads this"}


def test_a_model_is_not_asked_outside_of_a_campaign(made, tmp_path):
    shutil.copytree(made.folder, tmp_path / "mine")
    path = tmp_path / "mine" / "models.yaml"
    path.write_text(path.read_text().replace("score: {backend: heuristic}", "score: {backend: anthropic}"))
    with pytest.raises(UserError, match="score: anthropic is asked in a campaign alone"):
        rehearsal.begin(contract.load(tmp_path / "mine"), 2, tmp_path / "build", lambda _: ())
    assert not (tmp_path / "build").exists()


def test_a_rehearsal_of_an_earlier_sophron_is_named_and_left_as_it_is(tmp_path, capsys):
    (tmp_path / "build.json").write_text("{}")
    for words in (["rehearse", "rietveld-snr", str(tmp_path)], ["status", str(tmp_path)]):
        assert cli.main(["build", *words]) == 2
        assert "is a rehearsal of an earlier Sophron" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["build.json"]


def test_no_build_is_said_so(tmp_path, capsys):
    assert cli.main(["build", "status", str(tmp_path)]) == 2
    assert "holds no build" in capsys.readouterr().err
    assert cli.main(["build", "rehearse", "rietveld-snr", str(tmp_path / "x"), "--iterations", "0"]) == 2


@pytest.fixture
def tried(made, tmp_path, monkeypatch):
    """Rehearse one case with a recipe: the scorecard of an agent that really refines, and its report."""
    pytest.importorskip("rietx")
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    toy.plan_here(monkeypatch)

    def run(name, case, recipe, change=lambda _: None):
        small, root = tmp_path / f"{name}-contract", tmp_path / f"{name}-build"
        shutil.copytree(made.folder, small)
        data = yaml.safe_load((small / "curriculum.yaml").read_text())
        one = {"cases": {case: data["cases"][case]}, "tiers": [{"name": "only", "cases": [case]}], "held_out": []}
        (small / "curriculum.yaml").write_text(yaml.safe_dump(data | one))
        (small / "blank" / "recipe.yaml").write_text(recipe)
        change(small)
        assert cli.main(["build", "rehearse", str(small), str(root), "--iterations", "1"]) < 2
        card, answer = (
            json.loads((root / "results" / "build" / part / "1" / case / file).read_text())
            for part, file in (("card", "card.json"), ("try_case", "answer.json"))
        )
        return card, answer["answer"]

    return run


def missed(card):
    return [one["code"] for one in card["dimensions"] if not one["passed"]]


@pytest.mark.slow
def test_a_real_refinement_by_a_sound_recipe_passes_and_by_an_empty_one_does_not(tried):
    assert missed(tried("empty", "fluorapatite", "{}\n")[0])
    assert missed(tried("sound", "fluorapatite", GOOD)[0]) == []


@pytest.mark.slow
def test_the_trap_of_the_wrong_phase_catches_whoever_trusts_a_converged_fit(tried):
    trusting, fitted = tried("trusting", "wrong-phase-30min", CONSTRAINED)
    assert missed(trusting) == ["D1"]
    assert fitted["converged"]
    assert fitted["fit"]["gof"] < 2  # nothing in the residual alone cries out
    wary, report = tried("wary", "wrong-phase-30min", CONSTRAINED + EXPLAINS)
    assert missed(wary) == []
    assert not any(one["claimed"] for one in report["phases"])
    assert report["fit"]["rwp_percent"] == fitted["fit"]["rwp_percent"]


@pytest.mark.slow
def test_the_mixture_needs_its_second_phase(tried):
    card, report = tried("both", "mixture-30min", CONSTRAINED + EXPLAINS)
    assert missed(card) == []
    assert [one["claimed"] for one in report["phases"]] == [True, True]
    without = CONSTRAINED.replace("candidates:", "# candidates:")
    alone, _ = tried("one", "mixture-30min", without)
    assert {"D1", "D3"} <= set(missed(alone))


def on_gsas2(folder):
    """Put the case fluorapatite of a contract on GSAS-II: engine, band of its Rwp, and the grant of the agent."""
    python = Path(os.environ["SOPHRON_GSAS2_PYTHON"])
    home = subprocess.run(
        [python, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True, check=True
    )
    grants = {
        "mounts": sorted({str(python.parents[1]), home.stdout.strip()}),
        "variables": {"SOPHRON_GSAS2_PYTHON": str(python)},
    }
    for name, old, new in (
        ("curriculum.yaml", "engine: rietx", "engine: gsas2"),
        ("references/fluorapatite.yaml", "{rietx: [5.0, 10.5]}", "{gsas2: [5.0, 10.5]}"),
        ("models.yaml", "agent: {backend: heuristic}", f"agent: {{backend: heuristic, grants: {json.dumps(grants)}}}"),
    ):
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))


@pytest.mark.slow
@pytest.mark.skipif("SOPHRON_GSAS2_PYTHON" not in os.environ, reason="SOPHRON_GSAS2_PYTHON names no GSAS-II")
def test_a_contract_may_put_its_cases_on_gsas2(tried):
    card, report = tried("gsas2", "fluorapatite", GOOD, on_gsas2)
    assert missed(card) == []
    assert (report["engine"], report["fit"]["rwp_engine"]) == ("gsas2", "gsas2")
