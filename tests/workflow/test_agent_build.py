"""The kind agent_build as a campaign: what is signed of its loop, and two rounds of it run by Snakemake."""

import json
import re
import shutil

import pytest
import toy

from sophron.agentbuild import contract
from sophron.campaign.planning import plan
from sophron.campaign.spec import spec
from sophron.records.files import resource

CASES = "cases: [pbso4, fluorapatite, llzo-1min, llzo-30min, llzo-4h, mixture-30min, wrong-phase-30min, llzo-3min, llzo-10min, llzo-1h]"


def shipped(tmp_path, monkeypatch):
    """The shipped campaign in a folder of its own."""
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    root = tmp_path / "agent-build"
    shutil.copytree(resource("campaigns", "agent-build-ladder"), root)
    return toy.Campaign(root, toy.make_key(tmp_path / "key"))


def test_the_plan_bounds_rounds_cases_and_repeats(tmp_path, monkeypatch):
    campaign = shipped(tmp_path, monkeypatch)
    toy.plan_here(monkeypatch)
    made = plan.make(campaign.root, spec.load(campaign.spec))
    bounds = {template.rule: template.bound for template in made.templates}
    loop = {
        "candidate": 13,
        "conclude": 13,
        "optimize": 13,
        "card": 130,
        "aud": 130,
        "judge_screen": 130,
        "judge_score": 260,
    }
    assert {name: bounds[name] for name in loop} == loop
    assert {step.rule for step in made.steps} == {"sample", "build", "verify", "accept", "report", "caveats"}
    assert made.excess() == []


def test_fewer_steps_than_the_loop_may_take_keep_the_gate_closed(tmp_path, monkeypatch):
    campaign = shipped(tmp_path, monkeypatch)
    toy.plan_here(monkeypatch)
    campaign.edit("  trials: 13\n", "  trials: 13\n  steps: 100\n")
    assert plan.make(campaign.root, spec.load(campaign.spec)).excess()[0].startswith("limits.steps")


@pytest.mark.slow
def test_two_rounds_end_at_their_bound_with_a_better_agent_and_a_failed_criterion(tmp_path, monkeypatch):
    pytest.importorskip("rietx")
    campaign = shipped(tmp_path, monkeypatch)
    small = tmp_path / "small"
    shutil.copytree(resource("contracts", "rietveld-snr"), small)
    path = small / "curriculum.yaml"
    text = path.read_text()
    only = text[text.index("  fluorapatite:") : text.index("  llzo-1min:")]
    tiers = "tiers:\n  - {name: baseline, cases: [fluorapatite]}\n"
    path.write_text(text[: text.index("  pbso4:")] + only + tiers)
    written = (
        campaign.spec.read_text().replace(CASES, "cases: [fluorapatite]").replace("iterations: 12", "iterations: 2")
    )
    written = written.replace("contract: rietveld-snr", f"contract: {small}")
    campaign.spec.write_text(
        re.sub("contract_digest: [0-9a-f]{64}", f"contract_digest: {contract.load(small).digest}", written)
    )
    campaign.sign()
    ran = campaign.snakemake("--keep-going")
    assert ran.returncode != 0  # accept: two rounds are too few
    assert campaign.verdicts() == {"sample": "pass", "build": "fail"}
    history = json.loads((campaign.root / "results/build/history.json").read_text())
    first, second = (one["verdict"] for one in history)
    assert (first["p_strict"], second["best"], second["regressed"]) == (False, 2, False)
    assert second["met"] > first["met"]
    assert history[1]["change"]["changed"] == ["recipe.yaml"]
    agent = json.loads((campaign.root / "results/build/agent.json").read_text())
    assert "rungs:" in agent["recipe.yaml"]
    assert campaign.shown() == {"accept-build", "caveats", "report"}
