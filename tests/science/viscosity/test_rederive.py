"""The shipped viscosity campaign, its analyses derived again from stress that was not made by an engine."""

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from finished_steps import put

from sophron import cli
from sophron.campaign.execution.verdict import judge
from sophron.campaign.scaffold import campaign_folder
from sophron.campaign.spec import spec
from sophron.records.digests import file_digest
from sophron.records.documents import load_yaml
from sophron.records.files import resource, write_json
from sophron.records.typed_json import to_json
from sophron.science.viscosity import build, green_kubo

from .analysis import context, liquid_stress, produce_step

REPLICAS = 2


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Steps build and green_kubo as they are; relax to produce as an engine may have left them."""
    root = tmp_path_factory.mktemp("campaign") / "liquid"
    data = load_yaml(resource("campaigns", "lj-liquid-viscosity") / "campaign.yaml").data
    data["stages"]["green_kubo"]["definition"] |= {"replicas": REPLICAS, "max_lag_tau": 8.0}
    campaign_folder.from_draft(root, data)
    loaded = spec.load(root / "campaign.yaml")
    produced = []
    for replica in range(REPLICAS):
        wildcards = {"replica": str(replica)}
        asked = context(root / f"b{replica}", "build", loaded.definition("build"), {})
        built = dataclasses.replace(asked, seed=loaded.seed("build", wildcards), wildcards=wildcards)
        made = build.run(built)
        put(loaded, "build", wildcards, made.result, made.files)
        step = produce_step(root / "scratch", replica, liquid_stress(replica, 6000, 0.1, 0.8, 0.05))
        for stage in ("relax", "equilibrate"):
            put(loaded, stage, wildcards, {"temperature_mean": 0.72}, made.files)
        trajectory = root / "scratch" / "trajectory.npz"
        np.savez(trajectory, frames=np.zeros(3))
        files = {"stress": step.files["stress"], "trajectory": trajectory}
        produced.append(put(loaded, "produce", wildcards, step.result, files))
    made = green_kubo.run(context(root / "gk", "green_kubo", loaded.definition("green_kubo"), {"produce": produced}))
    put(loaded, "green_kubo", {}, to_json(dict(made.result)), made.files)
    write_json(root / "results/green_kubo/verdict.json", to_json(judge(root, loaded, "green_kubo")))
    return root


@pytest.fixture
def campaign(finished, tmp_path):
    return Path(shutil.copytree(finished, tmp_path / finished.name))


def differing(campaign, capsys, code=1):
    capsys.readouterr()
    assert cli.main(["rederive", "--json", str(campaign)]) == code
    checks = json.loads(capsys.readouterr().out)
    assert {each["reason"] for each in checks if "produce" in each["file"] and "rederivable" in each["state"]} <= {
        "lammps made it"
    }
    return {(each["file"], each["number"]): each for each in checks if code == 0 or each["state"] == "differs"}


def test_analyses_agree_and_what_lammps_made_is_marked(campaign, capsys):
    found = differing(campaign, capsys, 0)
    assert found["results/green_kubo/outcome.json", "viscosity"]["state"] == "agrees"
    assert found["results/green_kubo/curves.npz", "content"]["state"] == "agrees"
    assert found["results/build/1/outcome.json", "density"]["state"] == "agrees"
    marked = found["results/produce/0/outcome.json", "temperature_mean"]
    assert (marked["state"], marked["reason"]) == ("not re-derivable", "lammps made it")


def test_an_edited_viscosity_is_named(campaign, capsys):
    path = campaign / "results/green_kubo/outcome.json"
    content = json.loads(path.read_text())
    true, content["result"]["viscosity"] = content["result"]["viscosity"], 3.24
    write_json(path, content)
    found = differing(campaign, capsys)
    number = found.pop(("results/green_kubo/outcome.json", "viscosity"))
    assert (number["recorded"], number["rederived"]) == (3.24, true)
    assert found.keys() == {("results/green_kubo/verdict.json", "outcomes.green_kubo")}


def test_edited_data_of_a_plot_are_named_though_their_digest_was_edited_too(campaign, capsys):
    path, outcome = campaign / "results/green_kubo/curves.npz", campaign / "results/green_kubo/outcome.json"
    with np.load(path) as curves:
        edited = dict(curves)
    edited["integral_mean"][10] *= 1.01
    np.savez(path, **edited)
    assert differing(campaign, capsys).keys() == {
        ("results/green_kubo/curves.npz", "sha256 of curves"),
        ("results/green_kubo/curves.npz", "integral_mean[10]"),
    }
    content = json.loads(outcome.read_text())
    content["files"]["curves"] |= {"sha256": file_digest(path), "bytes": path.stat().st_size}
    write_json(outcome, content)
    assert ("results/green_kubo/curves.npz", "integral_mean[10]") in differing(campaign, capsys)


def test_an_edited_verdict_is_named(campaign, capsys):
    path = campaign / "results/green_kubo/verdict.json"
    content = json.loads(path.read_text())
    judged = content["criteria"][0]["steps"][0]
    judged["passed"] = not judged["passed"]
    write_json(path, content)
    name = f"criteria.{content['criteria'][0]['id']}.steps.green_kubo.passed"
    assert differing(campaign, capsys).keys() == {("results/green_kubo/verdict.json", name)}
