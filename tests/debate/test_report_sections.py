"""What the reports of the kinds host_guest and screen say of trials and guests."""

import dataclasses
import itertools
import json

import finished_campaign
import pytest
import toy
from html_page import Page

from sophron.agents.gateway.ledger import zero_amount
from sophron.campaign.execution import outcome_store
from sophron.campaign.execution.outcome_store import Outcome, OutputFile
from sophron.campaign.report import report
from sophron.debate.trials import ablation_campaigns, repaired_failure, trial_figures
from sophron.debate.trials.methods import METHODS
from sophron.debate.trials.trial_loop import Failure, Trial, history
from sophron.interfaces.kind import StageKind
from sophron.kinds.host_guest import agent_inputs, report_sections
from sophron.kinds.screen import report_sections as screen_sections
from sophron.records.digests import file_digest
from sophron.records.errors import Refused
from sophron.records.typed_json import from_json

from . import recorded
from .test_repaired_failure import FAULT, SOUND, THINNED, clean, refused, revised


@pytest.fixture
def looped(tmp_path):
    """Three trials: one that Layer-1 refused, one that the analysis refused, and the one that mended it."""
    root = tmp_path / "host"
    loaded = recorded.campaign(root)
    first = Trial(0, runs=False, guests={}, wanted=3, scores=None, before={})
    second, _ = recorded.trial(root, loaded, 1, THINNED, refused())
    third, _ = recorded.trial(root, loaded, 2, revised(THINNED, refused()), clean())
    recorded.close(root, loaded, [first, second, third])
    spent = (
        ("vote_design-sampling-1", 10, 0.1),
        ("pipeline_author-0", 100, 0.2),
        ("pipeline_author-1", 1000, 0.4),
        ("vote_post-analysis-1-2", 5, 0.5),
    )
    recorded.spend(root, *spent, ("pipeline_author-2", 7, 0.01), ("caveats", 9999, 9.0))
    return root, loaded


def gathered(root, loaded):
    return report.Report(root, loaded, [], [], [], [])


def test_each_trial_is_listed_with_its_reward_and_what_it_cost(looped):
    pytest.importorskip("matplotlib")
    (section,) = report_sections.sections(gathered(*looped))
    trials, endings, scores, row = section.tables
    rows = [dict(zip(trials.header, each, strict=True)) for each in trials.rows]
    assert [each["how it ended"] for each in rows] == ["layer1", "analysis_refusal", "clean"]
    assert [each["reward"] for each in rows] == ["-", "-", "-0.07"]
    assert [each["numbers"] for each in rows] == ["0 of 3", "0 of 3", "3 of 3"]
    assert [(each["calls"], each["tokens"], each["dollars"]) for each in rows] == [
        ("2", "110", "0.30"),
        ("2", "1,005", "0.90"),
        ("1", "7", "0.01"),
    ]
    assert trials.foot[-3:] == ["5", "1,122", "1.21"]
    assert {each[0]: each[-1] for each in endings.rows} == {
        "layer1": "1",
        "mid_pipeline_crash": "0",
        "analysis_refusal": "1",
        "clean": "1",
    }
    assert (scores.header, len(scores.rows)) == (ablation_campaigns.SCORES_HEADER, 2)
    assert (row.header, row.rows) == (ablation_campaigns.HEADER, [ablation_campaigns.Rung.read(looped[0]).row])
    assert section.sentences == [
        "3 trials, for which agents made 5 calls with 1,122 tokens, for 1.21 US dollars in all."
    ]
    figure, one = section.pictures
    assert b"<!-- US dollars, cumulative -->" in figure.svg
    assert f"<!-- -{FAULT} -->".encode() in one.svg
    assert "named the stage analysis" in one.caption


def test_held_out_guests_are_drawn_by_trial_where_each_was_judged_by_them(looped):
    root, loaded = looped
    rung = ablation_campaigns.Rung.of(root, loaded)
    scores = dataclasses.replace(rung.trials[2].scores, kendall=0.5)
    asked = dataclasses.replace(rung.result, held_out=scores, held_out_by_trial={"1": scores, "2": scores})
    assert trial_figures._held_out(dataclasses.replace(rung, result=asked)) == ([1.0, 2.0], [0.5, 0.5])
    alone = dataclasses.replace(asked, held_out_by_trial=None)
    assert trial_figures._held_out(dataclasses.replace(rung, result=alone)) == ([2.5], [0.5])


def test_agents_are_shown_nothing_of_held_out_guests(looped):
    root, loaded = looped
    made = json.loads((root / "results" / "trials" / "close" / "2" / "outcome.json").read_text())["result"]["trials"]
    for trial in made[1:]:
        about = {"failure": "clean", "analysed": True, "succeeded": True, "reward_kcal_per_mol": -0.1, "trial": trial}
        recorded.put(root, loaded, "benchmark", {"trial": str(trial["number"])}, about)

    def told():
        trials = [agent_inputs._results(root, loaded, {"trial": number}) for number in "12"]
        author = agent_inputs._critiques(root, loaded, {"trial": "2"}, METHODS["without_debate"])
        return json.dumps([*trials, author, history([from_json(Trial, each) for each in made])])

    recorded.put(
        root, loaded, "layer1", {"trial": "2"}, {"label": "pass", "pipeline": None, "windows": 9, "faults": []}
    )
    before = told()
    held_out = loaded.definition("trials")["held_out"]
    for number, guest in itertools.product("12", held_out):
        recorded.analyse(root, loaded, {"trial": number, "guest": guest}, recorded.analysis(9, recorded.GOOD, -77.125))
    found = outcome_store.of_loop(root, loaded, "analyse", {"trial": "2"})
    assert {one.wildcards["guest"] for one in found} > set(held_out)
    assert told() == before


def test_without_matplotlib_the_report_says_so(looped, monkeypatch):
    monkeypatch.setattr(report_sections, "find_spec", lambda _: None)
    (section,) = report_sections.sections(gathered(*looped))
    assert list(section.pictures) == []
    assert section.sentences[-1].startswith("Figures are left out: matplotlib is not installed")


def test_what_no_trial_shows_is_said_in_a_sentence(tmp_path):
    root = tmp_path / "host"
    loaded = recorded.campaign(root)
    recorded.close(root, loaded, [recorded.trial(root, loaded, 0, SOUND, clean())[0]])
    (section,) = report_sections.sections(gathered(root, loaded))
    assert section.sentences[:2] == [
        "1 trial; rules of thumb answered for all agents, which costs nothing.",
        repaired_failure.NONE,
    ]


def test_a_method_without_a_panel_has_no_verdict_of_one(tmp_path):
    root = tmp_path / "host"
    loaded = recorded.campaign(root, "trial_level")
    ran, _ = recorded.trial(root, loaded, 0, THINNED, refused())
    mended, _ = recorded.trial(root, loaded, 1, SOUND, clean())
    recorded.close(root, loaded, [dataclasses.replace(each, label=None, score=None) for each in (ran, mended)])
    (section,) = report_sections.sections(gathered(root, loaded))
    assert [row[1:3] for row in section.tables[0].rows] == [["analysis_refusal", "-"], ["clean", "-"]]
    assert repaired_failure.NONE in section.sentences


def test_every_way_to_end_is_explained_and_the_cost_of_trials_adds_up():
    assert set(report_sections.MEANINGS) == set(Failure)
    rung = ablation_campaigns.Rung(
        "full", [], {}, 1, [zero_amount() | {"dollars": 0.1}, zero_amount() | {"dollars": 0.3}]
    )
    assert [each["dollars"] for each in rung.spent_in] == [0.1, 0.2]


def stage(folder, name, *results, outputs=None):
    """A finished stage of a screen, a step for each (guest, result)."""
    steps = []
    for guest, result in results:
        files = {key: OutputFile(path.name, file_digest(path)) for key, path in (outputs or {}).items()}
        outcome = Outcome("done", None, result, files, {})
        where = {"guest": guest} if guest else {}
        steps.append(report.Finished(name, where, folder / "outcome.json", outcome, "0" * 64))
    return report.StageReport(StageKind(name, (), "", ""), steps, {}, {})


def ended(status, kind=None):
    return {"status": status, "failure": {"kind": kind, "sentence": "s"} if kind else None}


def test_a_screen_counts_guests_by_their_first_stage_that_failed(tmp_path):
    ranking = tmp_path / "ranking.csv"
    ranking.write_text(
        "rank,guest,delta_g_kcal_per_mol,error\n" + "".join(f"{n},g{n},-{n}.123,0.5\n" for n in range(1, 31))
    )
    done, crashed = ended("completed"), ended("failed", "no_result")
    stages = [
        stage(tmp_path, "prepare", ("a", done), ("b", crashed), ("c", done)),
        stage(tmp_path, "equilibrate", ("a", done), ("b", ended("skipped")), ("c", done)),
        stage(tmp_path, "produce", ("a", done), ("a", done), ("b", ended("skipped")), ("c", done), ("c", done)),
        stage(tmp_path, "analyse", ("a", done), ("b", ended("skipped")), ("c", ended("refused", "no_overlap"))),
        stage(tmp_path, "rank", (None, {}), outputs={"ranking": ranking}),
    ]
    whole = dataclasses.replace(gathered(tmp_path, None), stages=stages)
    (section,) = screen_sections.sections(whole)
    endings, head = section.tables
    assert sorted(endings.rows) == [
        ["", "clean", "", "1"],
        ["analyse", "refused", "no_overlap", "1"],
        ["prepare", "failed", "no_result", "1"],
    ]
    assert (len(head.rows), head.rows[0]) == (20, ["1", "g1", "-1.12", "0.50"])
    assert "20 of 30 guests" in head.caption
    assert section.sentences == ["3 guests took 0.00 core-hours, 0 each; no agent takes part in a screen."]
    ranking.write_text("rank,guest\n")
    with pytest.raises(Refused, match=r"ranking\.csv: is not what its outcome speaks of"):
        screen_sections.sections(whole)


def test_the_rule_of_the_report_shows_it_all(tmp_path, monkeypatch):
    """Signed, its loop written down, and `sophron report` called as its rule calls it."""
    pytest.importorskip("matplotlib")
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    toy.plan_here(monkeypatch)
    root = tmp_path / "host"
    loaded = recorded.campaign(root)
    made = toy.Campaign(root, toy.make_key(tmp_path / "key"))
    made.sign()
    for guest in loaded.ranges["guest"]:
        told = {"metadata": {}, "form": "particles", "names": [], "remarks": ["the charges are believed"]}
        recorded.put(root, loaded, "tasks", {"guest": guest}, told)
    recorded.put(root, loaded, "references", {}, {"guests": 5})
    first, critique = recorded.trial(root, loaded, 0, THINNED, refused())
    recorded.put(root, loaded, "discussion", {}, {"critique": critique})
    second, _ = recorded.trial(root, loaded, 1, revised(THINNED, refused()), clean())
    recorded.close(root, loaded, [first, second])
    monkeypatch.chdir(root)
    assert finished_campaign.report(made) == 0
    path = root / "results" / "report.html"
    text = path.read_text()
    page = Page(text)
    words = " ".join(page.words.split())
    assert "trial how it ended panel numbers reward Kendall tau calls tokens dollars 0 analysis_refusal" in words
    assert f"the charges are believed {', '.join(loaded.ranges['guest'])} 5" in words
    assert "mid_pipeline_crash a stage crashed, in the rehearsal or on a training guest 0" in words
    pictures = [attrs["alt"] for tag, attrs in page.tags if tag == "img"]
    assert [alt.partition(" ")[0] for alt in pictures] == ["Training", "Training", "One"]
    assert "the reputation of each expert after every trial that counted" in pictures[0]
    assert finished_campaign.report(made) == 0
    assert path.read_text() == text
