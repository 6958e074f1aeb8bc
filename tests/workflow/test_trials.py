"""The kind host_guest under real Snakemake: its plan, and a whole loop of trials with rules of thumb."""

import json
import shutil

import pytest
import toy
from html_page import Page

from sophron import cli
from sophron.campaign.planning import campaign_agents, plan
from sophron.campaign.spec import spec
from sophron.debate.pipelines.pipeline import Pipeline
from sophron.debate.trials import ablation_campaigns, repaired_failure
from sophron.debate.trials.methods import EXPERTS, METHODS
from sophron.kinds.host_guest import agent_inputs
from sophron.records.documents import load_yaml
from sophron.records.errors import UserError
from sophron.records.files import resource
from sophron.science.host_guest.protocols import lj_dimer
from sophron.science.host_guest.protocols.lj_dimer import LennardJones
from sophron.science.host_guest.systems import exact_reference

SMALL = {
    "guests: [weak, middle, strong, between_low, between_high]": "guests: [weak, strong, between]",
    "training: [weak, middle, strong]": "training: [weak, strong]",
    "held_out: [between_low, between_high]": "held_out: [between]",
    "ns_per_window: 1.25": "ns_per_window: 1.0",
}


@pytest.fixture
def dimers(tmp_path, monkeypatch):
    """The shipped campaign, with fewer guests."""
    root = tmp_path / "dimers"
    shutil.copytree(resource("campaigns", "lj-dimer-apr").resolve(), root)
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    made = toy.Campaign(root, toy.make_key(tmp_path / "key"))
    for old, new in SMALL.items():
        made.edit(old, new)
    text = made.spec.read_text().replace(
        "{weak: 1.0, middle: 2.0, strong: 3.0, between_low: 1.5, between_high: 2.5}",
        "{weak: 0.5, strong: 1.5, between: 1.0}",
    )
    made.spec.write_text(text)
    return made


def test_the_first_panel_is_listed_and_the_loop_is_bounded(dimers, monkeypatch):
    toy.plan_here(monkeypatch)
    made = plan.make(dimers.root, spec.load(dimers.spec))
    votes = sorted(step.name for step in made.steps if step.rule == "vote_design")
    assert votes == sorted(f"vote_design-{expert}-{turn}" for expert in EXPERTS for turn in (1, 2))
    bounds = {template.rule: template.bound for template in made.templates}
    trials, guests, windows = 2 * 2 + 4, 3, 18  # N times M, and those that may fail for their form
    assert bounds["pipeline_author"] == bounds["layer1"] == bounds["close"] == trials
    assert bounds["vote_pre"] == bounds["vote_post"] == 2 * trials * len(EXPERTS)
    assert bounds["produce"] == trials * guests * windows
    assert bounds["rehearse"] == 3 * trials
    assert made.excess() == []


PANEL = {"vote_design", "vote_pre", "vote_post", "screen", "review"}
EACH = {"vote_single", "examine"}
RUNGS = {
    "no_feedback": set(),
    "llm_critic": {"pipeline_critic"},
    "step_level": {"pipeline_engineer"},
    "trial_level": {"pipeline_engineer"},
    "full": {"pipeline_engineer", *PANEL},
    "full_each_guest": {"pipeline_engineer", *PANEL, *EACH},
    "without_debate": {"pipeline_engineer"},
    "without_diagnostics": {"pipeline_engineer", *PANEL},
}
"""Method -> the rules that only some methods have."""


@pytest.mark.parametrize("method", METHODS)
def test_a_method_has_the_rules_that_it_needs_and_no_others(dimers, monkeypatch, tmp_path, method):
    toy.plan_here(monkeypatch)
    ablation_campaigns.make(dimers.root, tmp_path / "ladder")
    root = tmp_path / "ladder" / f"lj-dimer-apr-{method.replace('_', '-')}"
    made = plan.make(root, spec.load(root / "campaign.yaml"))
    has = {step.rule for step in made.steps} | {template.rule for template in made.templates}
    assert has & {"pipeline_critic", "pipeline_engineer", *PANEL, *EACH} == RUNGS[method]
    assert {"pipeline_author", "layer1", "rehearse", "prepare", "benchmark", "close"} <= has
    assert made.excess() == []


def test_a_discussion_without_a_panel_is_refused(dimers):
    dimers.edit("method: full", "method: trial_level")
    with pytest.raises(UserError, match=r"stages\.discussion: the method trial_level has no panel; remove this stage"):
        plan.make(dimers.root, spec.load(dimers.spec))


def test_no_agent_of_a_debate_may_read_folders(dimers):
    for name in ("force-field", "sampling", "analysis", "pipeline-author", "pipeline-critic", "pipeline-engineer"):
        agent = campaign_agents.find_agent(dimers.root, name)
        files = {role for role, about in agent.front["inputs"].items() if about["kind"] not in ("json", "text")}
        assert files <= {"desk", "guest_files"}  # names, bounds and one guest's task, for tools that take no path
        assert not {"read_file", "list_folder", "search_text", "run_command"} & set(agent.front["tools"])
        assert ("literature" in agent.front["tools"]) == (name != "pipeline-engineer")


def test_an_expert_looks_the_method_up_before_there_is_a_pipeline(dimers, monkeypatch):
    toy.plan_here(monkeypatch)
    dimers.sign()
    guests = [f"tasks-{name}" for name in ("weak", "strong", "between")]
    assert dimers.run_here(*guests, "verify-tasks", "accept-tasks", "vote_design-sampling-1") == 0
    _check_looked_up(dimers.root)


@pytest.mark.slow
def test_a_whole_loop_of_trials(dimers):
    pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'sophron[chem]'")
    dimers.edit("held_out: [between]\n", "held_out: [between]\n      held_out_each_trial: true\n")
    dimers.sign()
    dimers.complete()
    folder = dimers.root / "results" / "trials"
    result = json.loads((folder / "outcome.json").read_text())["result"]
    assert str(result["deployed"]) in result["held_out_by_trial"]
    assert (result["training"]["guests"], result["training"]["kendall"]) == (2, None)  # too few for a correlation
    Pipeline.parse((folder / "pipeline.txt").read_text())
    answer = exact_reference.binding(LennardJones(1.0, 3.4), lj_dimer.WALL, 298.15)
    assert result["predicted"]["between"] == pytest.approx(answer, abs=0.5)
    assert len(list(folder.glob("pre_*/0/*/answer.json"))) == 6
    last = json.loads((folder / "reputation.json").read_text())["trajectory"][-1]
    assert {each["observation"] for each in last.values()} == {
        "consistent"
    }  # they voted before the run, and were right
    _check_nobody_was_told(dimers.root, answer)
    _check_reported(dimers.root)
    assert "Nothing to be done" in dimers.complete().stdout


def _check_reported(root):
    """The report lists the trials, the parts of each, and all that there is of figure 3."""
    page = Page((root / "results" / "report.html").read_text())
    words = " ".join(page.words.split())
    assert "rules of thumb answered for all agents, which costs nothing" in words
    assert repaired_failure.NONE in words
    assert "trial how it ended panel numbers reward Kendall tau calls tokens dollars 0 clean pass" in words
    assert "trial agents of layer1 layer1 rehearse agents of screen screen prepare equilibrate produce analyse" in words
    windows = len(list((root / "results" / "trials" / "produce").glob("*/*/*/outcome.json")))
    assert f" {windows} in 0:" in words
    pictures = [attrs["alt"] for tag, attrs in page.tags if tag == "img"]
    assert ["reputation" in alt for alt in pictures] == [True, False]


@pytest.mark.slow
def test_the_whole_ladder_by_one_command(dimers, tmp_path, capsys):
    """Eight loops of rules of thumb on the dimers: what was asked, what the author was told, and the table."""
    pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'sophron[chem]'")
    dimers.edit("successes: 2", "successes: 1")
    folders = ablation_campaigns.make(dimers.root, tmp_path / "ladder")
    for folder in folders:
        toy.Campaign(folder, dimers.key).sign()
    figure = tmp_path / "ladder.svg"
    words = ["trials", "run", *map(str, folders), "--cores", "2", "--figure", str(figure)]
    assert cli.main(words) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows if row and row[0] in RUNGS][-len(METHODS) :] == list(METHODS)
    assert figure.stat().st_size > 10_000
    for name, folder in zip(METHODS, folders, strict=True):
        assert repaired_failure.NONE in Page((folder / "results" / "report.html").read_text()).words
        _check_asked(folder, RUNGS[name])
        _check_told(folder, METHODS[name])


def _check_asked(root, rules):
    """The agents of this method answered, and no others; what weighs their votes ran."""
    audits = {path.parent.name for path in (root / "records").glob("*/audit.jsonl")}
    asked = {name.partition("-")[0] for name in audits}
    weighing = {"screen", "examine", "review"}
    without = {*weighing, "pipeline_engineer"}  # nothing crashed that it could mend
    assert asked == {"pipeline_author", "caveats"} | (rules - without)
    ran = {path.name.partition("-")[0] for path in (root / "records").iterdir()}
    assert ran & weighing == rules & weighing
    looked = json.loads((root / "results" / "trials" / "layer1" / "0" / "outcome.json").read_text())
    assert ("pipeline_critic-0" in looked["inputs"]) == ("pipeline_critic" in rules)
    if "vote_design" in rules:
        _check_looked_up(root)


def _check_looked_up(root):
    """Two calls: the tool, whose answer the second one is given, and the vote, which names what it found."""
    calls = [
        json.loads(line)
        for line in (root / "records" / "vote_design-sampling-1" / "audit.jsonl").read_text().splitlines()
    ]
    assert len(calls) == 2
    assert "10.1021/acs.jctc.5b00405: Henriksen" in json.dumps(calls[1]["request"])
    answer = json.loads((root / "records" / "vote_design-sampling-1" / "answer.json").read_text())["answer"]
    assert "10.1021/acs.jctc.5b00405: Henriksen" in answer["reasoning"]


def _check_told(root, method):
    """What the author of the next trial is told, and what an expert is shown of this one."""
    loaded = spec.load(root / "campaign.yaml")
    told = agent_inputs.pipeline_author(root, loaded, {"trial": "1"})
    assert bool(told["pipeline"]) == bool(told["history"]) == method.memory
    critiques = told["critiques"]
    assert bool(critiques.get("post")) == bool(critiques.get("pre")) == method.panel
    assert set(critiques.get("single", {})) == ({"weak", "strong"} if method.each_guest else set())
    seen = agent_inputs.vote_post(root, loaded, {"trial": "0", "turn": "1", "expert": "sampling"})["results"]
    assert ("diagnostics" in seen["guests"]["weak"]["stages"]["4"]) == method.diagnostics
    if method.memory and not method.panel:
        assert ("overlap" in json.dumps(critiques["executed"])) == method.diagnostics
    if method.each_guest:
        alone = agent_inputs.vote_single(
            root, loaded, {"trial": "0", "guest": "weak", "turn": "2", "expert": "sampling"}
        )
        assert (set(alone["results"]["guests"]), alone["results"]["scores"]) == ({"weak"}, None)
        assert len(alone["votes"]) == len(EXPERTS)


def _check_it_can_screen(root):
    """The deployed pipeline over a library that no trial has seen."""
    library = root.parent / "guests.yaml"
    settings = "{sigma_a: 3.4, temperature_k: 298.15, epsilon_kcal_per_mol: {new: 1.2, newer: 2.2}}"
    library.write_text(f"system: dimers\nguests: [new, newer]\nsettings: {settings}\n")
    assert cli.main(["screen", str(root), "--library", str(library), "--into", str(root.parent / "screen")]) == 0
    made = spec.load(root.parent / "screen" / "campaign.yaml")
    deployed = Pipeline.parse((root / "results" / "trials" / "pipeline.txt").read_text())
    assert made.definition("analyse")["source"] == deployed.files["04_analysis.py"]
    assert made.data["question"]["quantity"] == "standard binding free energies of 2 guests, ranked"


def _check_nobody_was_told(root, answer):
    """No request to an agent, and no input of a stage file, holds a reference value."""
    definition = load_yaml(root / "campaign.yaml").data["stages"]["references"]["definition"]
    values = [
        exact_reference.binding(LennardJones(epsilon, 3.4), lj_dimer.WALL, 298.15)
        for epsilon in definition["settings"]["epsilon_kcal_per_mol"].values()
    ]
    assert answer in values
    audits = [path.read_text() for path in (root / "records").glob("*/audit.jsonl") if "caveats" not in str(path)]
    assert audits
    assert not any(f"{value:.6f}"[:8] in text for value in values for text in audits)
