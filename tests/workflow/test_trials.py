"""The kind host_guest under real Snakemake: its plan, and a whole loop of trials with rules of thumb."""

import json
import shutil

import pytest
import toy

from sophron.campaign import agent_files, plan, spec
from sophron.debate.pipeline import Pipeline
from sophron.records.documents import load_yaml
from sophron.records.resources import resource
from sophron.science.host_guest import exact, lj_dimer

SMALL = {
    "guests: [weak, middle, strong, between_low, between_high]": "guests: [weak, strong, between]",
    "guests == 5": "guests == 3",
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
    rules = [step.rule for step in made.steps]
    for expert in ("force_field", "sampling", "analysis"):
        assert rules.count(f"design_{expert}") == 2
    bounds = {template.rule: template.bound for template in made.templates}
    trials, guests, windows = 4, 3, 18
    assert bounds["write"] == bounds["layer1"] == bounds["close"] == trials
    assert bounds["pre_sampling"] == bounds["post_analysis"] == 2 * trials
    assert bounds["produce"] == trials * guests * windows
    assert bounds["rehearse"] == 3 * trials
    assert made.excess() == []


def test_a_method_without_a_panel_has_no_discussion(dimers, monkeypatch):
    toy.plan_here(monkeypatch)
    text = dimers.spec.read_text()
    begin, end = text.index("  discussion:\n"), text.index("  trials:\n    depends_on")
    text = text[:begin] + text[end:]
    text = text.replace("[tasks, references, discussion]", "[tasks, references]").replace(
        "method: full", "method: trial_level"
    )
    dimers.spec.write_text(text)
    made = plan.make(dimers.root, spec.load(dimers.spec))
    assert not any(step.rule.startswith("design_") for step in made.steps)


def test_no_agent_of_a_debate_may_read_folders(dimers):
    for name in ("force-field", "sampling", "analysis", "pipeline-writer", "pipeline-engineer"):
        agent = agent_files.find(dimers.root, name)
        assert {about["kind"] for about in agent.front["inputs"].values()} <= {"json", "text"}
        assert agent.front["tools"] == []


@pytest.mark.slow
def test_a_whole_loop_of_trials(dimers):
    pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'sophron[chem]'")
    dimers.sign()
    dimers.complete()
    folder = dimers.root / "results" / "trials"
    result = json.loads((folder / "outcome.json").read_text())["result"]
    assert result["deployed"] is not None
    assert result["training"]["kendall"] == 1.0
    Pipeline.parse((folder / "pipeline.txt").read_text())
    answer = exact.binding(exact.LennardJones(1.0, 3.4), lj_dimer.WALL, 298.15)
    assert result["predicted"]["between"] == pytest.approx(answer, abs=0.5)
    assert len(list(folder.glob("pre_*/0/*/answer.json"))) == 6
    _check_nobody_was_told(dimers.root, answer)
    assert "Nothing to be done" in dimers.complete().stdout


def _check_nobody_was_told(root, answer):
    """No request to an agent, and no input of a stage file, holds a reference value."""
    definition = load_yaml(root / "campaign.yaml").data["stages"]["references"]["definition"]
    values = [
        exact.binding(exact.LennardJones(epsilon, 3.4), lj_dimer.WALL, 298.15)
        for epsilon in definition["settings"]["epsilon_kcal_per_mol"].values()
    ]
    assert answer in values
    audits = [path.read_text() for path in (root / "records").glob("*/audit.jsonl") if "caveats" not in str(path)]
    assert audits
    assert not any(f"{value:.6f}"[:8] in text for value in values for text in audits)
