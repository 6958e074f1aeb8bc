"""The conductivity of SiC, as it is often planned first: refused by the probe, failed without it, amended, answered."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import toy
import yaml

from sophron.agents.supervisor import supervisor
from sophron.campaign.approval import amendment_draft
from sophron.campaign.approval.approve import propose
from sophron.campaign.spec import pitfalls
from sophron.campaign.spec.pitfalls import catalogue, hits
from sophron.campaign.spec.spec import load
from sophron.cli import main
from sophron.records.files import resource

PITFALL = "many-body-heat-flux"
SMALL = {
    "build": {"cells": [2, 2, 4]},
    "equilibrate": {"damping": 0.02, "discard_steps": 100, "steps": 800, "settle_steps": 20},
    "green_kubo_flux": {"steps": 1400, "restart_every": 700},
    "green_kubo": {"replicas": 1, "max_lag": 0.6},
}
SMALL_FLUX = {
    "copies": [2, 3, 4],
    "settle_steps": 100,
    "discard_steps": 200,
    "steps": 1000,
    "swap_every": 10,
    "block_steps": 100,
}


def shipped(folder: Path, monkeypatch) -> toy.Campaign:
    """The campaign that is shipped, with keys and a configuration of its own."""
    root = folder / "sic"
    shutil.copytree(resource("campaigns", "sic-conductivity"), root)
    for variable, value in toy.settings(folder).items():
        monkeypatch.setenv(variable, value)
    return toy.Campaign(root, toy.make_key(folder / "key"))


def write(campaign: toy.Campaign, change) -> None:
    """Change campaign.yaml as plain data."""
    spec = yaml.safe_load(campaign.spec.read_text())
    change(spec)
    campaign.spec.write_text(yaml.safe_dump(spec, sort_keys=False))


def shrink(spec: dict) -> None:
    """So small that a test can run it; its criteria are those of a run that says something, and go."""
    for name, values in SMALL.items():
        spec["stages"][name]["definition"].update(values)
        spec["stages"][name]["criteria"] = []
    for one in spec["method"]["assumptions"]:
        one["verified_by"] = "nobody: nothing is concluded from a run as small as this"


def amended(spec: dict, change: dict) -> None:
    """What a person does by hand to change the method, with the stages that the pitfall's safeguard names."""
    for name in change["remove_stages"]:
        del spec["stages"][name]
    spec["stages"].update(change["add_stages"])
    spec["method"]["name"] = change["method_name"]


def small(change: dict) -> dict:
    """The amendment, so small that a test can run it."""
    flux, lengths = (change["add_stages"][name] for name in ("mueller_plathe", "extrapolate"))
    flux["definition"].update(SMALL_FLUX)
    flux["criteria"] = flux["criteria"][1:2]
    # Blocks of runs this short correlate and have no error; the spread of replicas has.
    lengths["definition"]["replicas"] = 2
    lengths["criteria"] = [
        {"id": "lengths", "expression": "degrees_of_freedom == 1", "statement": "There are three lengths."}
    ]
    return change


def safeguard() -> dict:
    """The amendment that the pitfall's file holds, as plain data."""
    return yaml.safe_load(resource("workflow", "agents", "pitfalls", f"{PITFALL}.yaml").read_text())["amendment"]


def switch_the_probe_off(campaign: toy.Campaign, amendment: dict | None = None) -> None:
    """The campaign's own pitfall of the same name, which applies to nothing; `amendment` in place of the one it brings."""
    (pitfall,) = [one for one in catalogue(campaign.root) if one.id == PITFALL]
    text = yaml.safe_load(pitfall.path.read_text()) | {"applies_to": {"kinds": ["none"]}}
    own = campaign.root / "agents" / "pitfalls" / f"{PITFALL}.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(yaml.safe_dump(text | ({"amendment": amendment} if amendment else {}), sort_keys=False))


def approve(campaign: toy.Campaign) -> int:
    """Sign what the review shows; the exit code."""
    digits = propose(campaign.root).digest
    return main(["approve", str(campaign.root), "--key", str(campaign.key), "--digest", digits, "--as", "alex"])


def test_the_probe_keeps_the_gate_of_the_shipped_campaign_closed(tmp_path, monkeypatch, capsys):
    toy.plan_here(monkeypatch)
    campaign = shipped(tmp_path, monkeypatch)
    assert approve(campaign) == 2
    said = capsys.readouterr().err
    assert f"the pitfall {PITFALL} was found: pair_style tersoff with compute centroid/stress/atom" in said
    assert not campaign.gate.exists()


def test_the_silent_variant_is_found_too(tmp_path, monkeypatch):
    campaign = shipped(tmp_path, monkeypatch)
    campaign.edit("compute: centroid/stress/atom", "compute: stress/atom")
    (found,) = hits(pitfalls.findings(campaign.root, load(campaign.spec)))
    assert found.startswith(f"the pitfall {PITFALL} was found: pair_style tersoff with compute stress/atom runs")
    assert found.endswith("off the exact one, without a warning")


def test_after_the_amendment_no_pitfall_is_left(tmp_path, monkeypatch):
    campaign = shipped(tmp_path, monkeypatch)
    write(campaign, lambda spec: amended(spec, safeguard()))
    assert {finding.status for _, finding in pitfalls.findings(campaign.root, load(campaign.spec))} <= {"clear"}


@pytest.mark.slow
def test_without_the_probe_the_stage_fails_and_an_amended_method_answers(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    campaign = shipped(tmp_path, monkeypatch)
    write(campaign, shrink)
    switch_the_probe_off(campaign)
    assert approve(campaign) == 0
    for stage in ("build", "equilibrate"):
        assert campaign.run_here(f"{stage}-0", f"verify-{stage}", f"accept-{stage}") == 0
    assert campaign.run_here("green_kubo_flux-0", "verify-green_kubo_flux") == 0
    assert campaign.run_here("accept-green_kubo_flux") == 2
    outcome = json.loads((campaign.root / "results" / "green_kubo_flux" / "0" / "outcome.json").read_text())
    assert outcome["status"] == "failed"
    assert "Pair style does not support compute centroid/stress/atom" in outcome["reason"]
    assert campaign.verdicts() == {"build": "pass", "equilibrate": "pass", "green_kubo_flux": "fail"}
    before = campaign.tries()

    change = small(safeguard())
    write(campaign, lambda spec: amended(spec, change))
    drafted = amendment_draft.draft_amendment(campaign.root, change["rationale"])
    assert drafted.invalidated_stages == change["remove_stages"]
    assert approve(campaign) == 0
    kept = campaign.root / "invalidated" / "v1" / "results" / "green_kubo_flux" / "0" / "outcome.json"
    assert json.loads(kept.read_text())["status"] == "failed"
    left = (campaign.root / "results" / "green_kubo_flux").rglob("*")
    assert not [path for path in left if path.is_file()]

    campaign.complete()
    assert set(campaign.verdicts().values()) == {"pass"}
    assert set(campaign.verdicts()) == {stage.name for stage in load(campaign.spec).stages}
    again = {name for name, count in campaign.tries().items() if count > before.get(name, 0)}
    assert all(name.startswith(("mueller_plathe", "extrapolate", "build-1", "equilibrate-1")) for name in again), again
    answer = json.loads((campaign.root / "results" / "extrapolate" / "outcome.json").read_text())["result"]
    assert [round(one["length"], 2) for one in answer["lengths"]] == [34.88, 52.32, 69.76]
    assert "Mueller-Plathe" in (campaign.root / "results" / "report.html").read_text()


@pytest.mark.slow
def test_debug_declines_to_change_the_method_and_a_drafted_amendment_waits_for_a_signature(tmp_path, monkeypatch):
    campaign = shipped(tmp_path, monkeypatch)
    write(campaign, shrink)
    switch_the_probe_off(campaign)
    assert approve(campaign) == 0
    signed = campaign.spec.read_bytes()
    ending, said = campaign.drive()
    assert ending is supervisor.Ending.SIGNATURE, said
    answer = json.loads((campaign.root / "results" / "green_kubo_flux" / "debug-1.json").read_text())["answer"]
    assert (answer["class"], answer["action"], answer["overlay"]) == ("definitional", "escalate", None)
    assert campaign.spec.read_bytes() == signed
    assert not (campaign.root / "mechanical.yaml").exists()
    drafted = amendment_draft.read_draft(campaign.root)
    assert drafted.version == 2
    assert drafted.invalidated_stages == ["green_kubo_flux", "green_kubo"]
    assert "mueller_plathe" in yaml.safe_load(drafted.text)["stages"]
    assert "many-body pair style" in drafted.rationale
    assert json.loads(json.loads(campaign.gate.read_text())["record"])["version"] == 1
    assert approve(campaign) == 0  # a person signs, and only then is version 2 in force
    assert json.loads(json.loads(campaign.gate.read_text())["record"])["version"] == 2


def fresh(campaign: toy.Campaign, folder: Path, *words: str) -> subprocess.CompletedProcess:
    """`sophron <words>` from `folder` in a new shell that knows what `init.sh` there tells it, and nothing else."""
    own = {name: os.environ[name] for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    script = '. ./init.sh > /dev/null && exec sophron "$@"'
    return subprocess.run(
        ["bash", "-c", script, "bash", *words],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(campaign.root.parent), **own},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_from_a_failed_method_to_an_answer_with_a_person_who_only_signs(tmp_path, monkeypatch, capsys):
    """The paper's story: the supervisor fails, drafts and stops; a person signs; a fresh process goes on by the files."""
    toy.plan_here(monkeypatch)
    campaign = shipped(tmp_path, monkeypatch)
    write(campaign, shrink)
    switch_the_probe_off(campaign, small(safeguard()))
    assert approve(campaign) == 0
    ending, said = campaign.drive()
    assert ending is supervisor.Ending.SIGNATURE, said
    reason = json.loads((campaign.root / "results" / "green_kubo_flux" / "0" / "outcome.json").read_text())["reason"]
    assert "Pair style does not support compute centroid/stress/atom" in reason, "it failed in LAMMPS's words"
    before, results = campaign.tries(), campaign.results()

    capsys.readouterr()
    assert main(["review", str(campaign.root)]) == 0
    shown = capsys.readouterr().out
    assert "Amendment to version 2, drafted and not signed" in shown
    removed = {line.split()[0] for line in shown.splitlines() if "REMOVED" in line}
    assert removed == {"green_kubo_flux", "green_kubo"}, shown
    assert approve(campaign) == 0

    alone = tmp_path / "alone"
    alone.mkdir()
    for name in ("workflow-state.json", "progress.log", "init.sh"):
        shutil.copy(campaign.root / name, alone)
    standing = fresh(campaign, alone, "status", str(alone))
    assert standing.returncode == 0, standing.stderr
    rows = {line.split()[0]: line.split()[1:] for line in standing.stdout.splitlines() if line[:1].isalpha()}
    assert rows["mueller_plathe"][:2] == ["pending", "0/6"], "three files say what comes next"
    assert "green_kubo_flux" not in rows
    assert standing.stdout.endswith("Next: snakemake\n")

    ended = fresh(campaign, campaign.root, "run", ".", "--cores", "2")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert set(campaign.verdicts()) == {"build", "equilibrate", "mueller_plathe", "extrapolate"}
    assert set(campaign.verdicts().values()) == {"pass"}
    again = {name for name, count in campaign.tries().items() if count > before.get(name, 0)}
    assert all(name.startswith(("mueller_plathe", "extrapolate", "build-1", "equilibrate-1")) for name in again), again
    for path in ("build/0/outcome.json", "equilibrate/0/outcome.json"):
        assert campaign.results()[path] == results[path]
