"""A rehearsal: judge and meta-optimizer by rules of thumb, each step audited; the agent with its tools in the sandbox."""

import json
import shutil

import pytest
import refinements

from sophron import cli
from sophron.agentbuild import aud, build_inputs, build_loop, build_store, contract, judge, mutation
from sophron.agentbuild import rehearsal as rehearsals
from sophron.records.errors import UserError
from sophron.records.package_data import resource

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


@pytest.fixture
def rehearsal(made, tmp_path):
    return rehearsals.Rehearsal(tmp_path / "build", made)


def judged(rehearsal, run, made, folder):
    return judge.judge(
        run,
        made.rubric,
        lambda run: rehearsal.screen("screen-1-fluorapatite", run),
        lambda run, found, repeat: rehearsal.score(f"score-1-fluorapatite-{repeat}", run, found, folder),
    )


def test_both_judges_read_a_sound_run_and_every_step_is_audited(rehearsal, made, tmp_path):
    card = judged(rehearsal, refinements.run(), made, tmp_path)
    assert card["passed"], [one for one in card["dimensions"] if not one["passed"]]
    assert {one["disagreement"] for one in card["dimensions"]} == {0}
    kept = {path.name for path in (rehearsal.root / "records").iterdir() if path.is_dir()}
    assert {"screen-1-fluorapatite", "score-1-fluorapatite-1", "score-1-fluorapatite-2"} <= kept


def test_the_meta_optimizer_turns_a_miss_into_a_change_that_stands(rehearsal, made, tmp_path):
    story = refinements.sound_story(refinements.RUNGS[:1])
    report = refinements.sound_report(story, ("scale", "background"))
    card = judged(rehearsal, refinements.run(report, story), made, tmp_path)
    assert not card["passed"]
    told = {
        "agent": {name: path.read_text() for name, path in aud.files(made.blank).items()},
        "scorecards": [card],
        "history": [],
        "boundary": build_inputs.boundary(made),
        "knowledge": dict(made.knowledge),
        "inventory": dict(made.tools["tools"]),
    }
    proposal = rehearsal.optimize("optimize-1", told)
    found = mutation.mutate(made.blank, proposal["diff"], tmp_path / "next", made)
    assert (found.refusal, found.changed) == ("", ("recipe.yaml",))
    assert len(aud.recipe(tmp_path / "next")["rungs"]) > 1


def test_a_model_is_not_asked_outside_of_a_campaign(made, tmp_path):
    shutil.copytree(made.folder, tmp_path / "mine")
    path = tmp_path / "mine" / "models.yaml"
    path.write_text(path.read_text().replace("score: {backend: heuristic}", "score: {backend: anthropic}"))
    with pytest.raises(UserError, match="score: anthropic is asked in a campaign alone"):
        rehearsals.Rehearsal(tmp_path / "build", contract.load(tmp_path / "mine"))


def test_no_build_is_said_so(tmp_path, capsys):
    assert cli.main(["build", "status", str(tmp_path)]) == 2
    assert "holds no build" in capsys.readouterr().err
    assert cli.main(["build", "rehearse", "rietveld-snr", str(tmp_path / "x"), "--iterations", "0"]) == 2


def tried(made, root, case, recipe):
    """The scorecard of an agent with this recipe that really refines a case, and its report."""
    build = build_loop.begin(root / "build", made, 1)
    rehearsal = rehearsals.Rehearsal(build.folder, made)
    agent, place = root / "aud", build_store.Place(root / "place")
    aud.copy(made.blank, agent)
    (agent / "recipe.yaml").write_text(recipe)
    folder = place.case(case)
    folder.mkdir(parents=True)
    failure = rehearsal.attempt(f"attempt-1-{case}", agent, made.curriculum.cases[case], folder)
    (folder / build_store.ENDED).write_text(json.dumps({"failure": failure}))
    run = place.run(case, made.references[case])
    return judged(rehearsals.Rehearsal(root / "judge", made), run, made, folder), run.report


def missed(card):
    return [one["code"] for one in card["dimensions"] if not one["passed"]]


@pytest.mark.slow
def test_a_real_refinement_by_a_sound_recipe_passes_and_by_an_empty_one_does_not(made, tmp_path):
    pytest.importorskip("rietx")
    assert missed(tried(made, tmp_path / "empty", "fluorapatite", "{}\n")[0])
    assert missed(tried(made, tmp_path / "sound", "fluorapatite", GOOD)[0]) == []


@pytest.mark.slow
def test_the_trap_of_the_wrong_phase_catches_whoever_trusts_a_converged_fit(made, tmp_path):
    pytest.importorskip("rietx")
    trusting, fitted = tried(made, tmp_path / "trusting", "wrong-phase-30min", CONSTRAINED)
    assert missed(trusting) == ["D1"]
    assert fitted["converged"]
    assert fitted["fit"]["gof"] < 2  # nothing in the residual alone cries out
    wary, report = tried(made, tmp_path / "wary", "wrong-phase-30min", CONSTRAINED + EXPLAINS)
    assert missed(wary) == []
    assert not any(one["claimed"] for one in report["phases"])
    assert report["fit"]["rwp_percent"] == fitted["fit"]["rwp_percent"]


@pytest.mark.slow
def test_the_mixture_needs_its_second_phase(made, tmp_path):
    pytest.importorskip("rietx")
    card, report = tried(made, tmp_path / "both", "mixture-30min", CONSTRAINED + EXPLAINS)
    assert missed(card) == []
    assert [one["claimed"] for one in report["phases"]] == [True, True]
    without = CONSTRAINED.replace("candidates:", "# candidates:")
    alone, _ = tried(made, tmp_path / "one", "mixture-30min", without)
    assert {"D1", "D3"} <= set(missed(alone))
