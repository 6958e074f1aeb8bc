"""The ladder of methods: what its campaigns came to, as a table and as a figure."""

import dataclasses

import pytest

from sophron import cli
from sophron.agents.gateway import ledger
from sophron.campaign.scaffold import campaign_folder
from sophron.campaign.spec import spec
from sophron.debate.trials import ablation_campaigns, trial_figures
from sophron.debate.trials.scores import Scores
from sophron.debate.trials.trial_loop import Failure, Guest, Trial, TrialsResult
from sophron.records import files
from sophron.records.documents import load_yaml
from sophron.records.files import resource
from sophron.records.typed_json import from_json

SCORES = {
    "guests": 2,
    "mae_kcal_per_mol": 0.1,
    "mae_standard_error_kcal_per_mol": 0.02,
    "r2": None,
    "spearman": None,
    "kendall": None,
    "unanswered": 1,
}
RESULT = TrialsResult(4, 1, None, 3, {}, 1, 2, from_json(Scores, SCORES), None, None, None, None, {})
DONE = {1: "completed", 2: "completed", 3: "completed"}


def trial(number, last, value):
    guests = {name: Guest({**DONE, 4: last}, value) for name in ("weak", "strong")} if last else {}
    scores = from_json(Scores, SCORES) if value is not None else None
    return Trial(number, runs=last is not None, guests=guests, wanted=2, scores=scores, before={})


def rung(method, trials, spent):
    return ablation_campaigns.Rung(method, trials, RESULT, 2, spent)


@pytest.fixture
def made():
    trials = [trial(0, None, None), trial(1, "failed", None), trial(2, "refused", None), trial(3, "completed", -1.0)]
    spent = [{"calls": 2.0 * n, "tokens": 100.0 * n, "dollars": 0.5 * n} for n in range(1, 5)]
    return [rung("llm_critic", trials, spent), rung("full", trials[3:], spent[:1])]


def test_a_row_types_the_failures_and_sums_the_cost(made):
    cells = dict(zip(ablation_campaigns.HEADER, made[0].row, strict=True))
    assert [cells[name] for name in ("trials", "refused unrun", "crashes", "refusals", "clean")] == ["4", *"1111"]
    assert [cells[name] for name in ("calls", "tokens", "dollars")] == ["8", "400", "2.00"]
    assert cells["runnable"] == "some"
    assert made[1].failures == {**dict.fromkeys(Failure, 0), Failure.CLEAN: 1}


def test_scores_stand_beside_their_counts_and_intervals(made):
    few, none = made[0].score_rows
    assert few == ["llm_critic", "training", "2 of 3", "-", "-", "-", "0.10"]
    assert none == ["llm_critic", "held-out", *["-"] * 5]
    many = {"r2": -0.25, "r2_interval": [-0.9, 0.125]}
    result = dataclasses.replace(RESULT, held_out=from_json(Scores, SCORES | many))
    assert dataclasses.replace(made[0], result=result).score_rows[1][3] == "-0.25 (-0.90 to 0.12)"


def test_the_figure_has_a_curve_and_a_bar_for_each_method(made, tmp_path):
    trial_figures.ladder(made, tmp_path / "ladder.svg")
    text = (tmp_path / "ladder.svg").read_text()
    for word in ("llm_critic", "full", "Kendall tau", "US dollars, cumulative", *(kind.value for kind in Failure)):
        assert f"<!-- {word} -->" in text
    trial_figures.ladder(made, tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text() == text


def test_spend_is_counted_up_to_the_end_of_each_trial(tmp_path):
    campaign_folder.from_draft(tmp_path, load_yaml(resource("campaigns", "lj-dimer-apr") / "campaign.yaml").data)
    path = tmp_path / ledger.FILE
    for number, step in enumerate(
        ["vote_design-sampling-1", "pipeline_author-0", "pipeline_author-1", "vote_post-analysis-1-2", "caveats"]
    ):
        amount = {"calls": 1, "tokens": 10**number, "dollars": 1.0}
        files.append_json_line(path, {"event": "reserve", "id": str(number), "step": step, **amount}, sync=False)
    loaded = spec.load(tmp_path / "campaign.yaml")
    assert [each["tokens"] for each in ablation_campaigns._spent(tmp_path, loaded, 3)] == [11, 1111, 1111]


def test_a_campaign_that_nobody_signed_is_named_and_not_run(tmp_path, capsys):
    campaign_folder.from_draft(tmp_path, load_yaml(resource("campaigns", "lj-dimer-apr") / "campaign.yaml").data)
    assert cli.main(["trials", "run", str(tmp_path)]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{tmp_path}: is not signed: ")
    assert "the plan is not approved yet" in line
    assert not (tmp_path / "records").exists()
