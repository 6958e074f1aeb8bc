"""Campaigns of three more kinds, their last analysis derived again: an edited number, unit, verdict or plot is found."""

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
from sophron.interfaces.kind import StepContext
from sophron.records.documents import load_yaml
from sophron.records.files import resource, write_json
from sophron.records.typed_json import to_json
from sophron.science.chain_conformation import compare as compare_chains
from sophron.science.conductivity import green_kubo
from sophron.science.rietveld import compare as compare_patterns


def conductivity(loaded, scratch):
    rng, upstream = np.random.default_rng(1), []
    for replica in range(2):
        noise = rng.normal(size=(20_000, 3))
        flux = np.array([np.convolve(one, np.exp(-np.arange(40) / 8), "same") for one in noise.T]).T
        path = scratch / f"{replica}.npz"
        np.savez(path, flux=flux, interval=0.1, volume=1000.0, temperature_target=300.0)
        result = {"temperature_mean": 300.0, "model": {"units": "metal"}}
        upstream.append(put(loaded, "green_kubo_flux", {"replica": str(replica)}, result, {"flux": path}))
    return {"green_kubo_flux": upstream}


def chains(loaded, scratch):
    rng, upstream = np.random.default_rng(1), {}
    places = {"sample_local": None, "sample_slurm": "slurm", "sample_parsl": "slurm", "sample_dpdispatcher": "slurm"}
    for number, (stage, scheduler) in enumerate(places.items()):
        for replica in range(2):
            minute = 4 * replica + number
            place = {"host": "a", "scheduler": scheduler, "job": scheduler and "7"}
            place |= {"pilot": "parsl" if stage == "sample_parsl" else None, "worker": None}
            place |= {"dispatcher": "dpdispatcher" if stage == "sample_dpdispatcher" else None}
            ran = {"step": f"{stage}-{replica}", "try": "1", "placement": place, "ranks": 1 + (stage == "sample_slurm")}
            ran |= {"suffixes": [], "lammps": "1", "engine_s": 4.0, "wall_s": 6.0}
            ran |= {"started": f"2026-01-01T00:0{minute}:00+00:00", "ended": f"2026-01-01T00:0{minute + 1}:00+00:00"}
            files = {"series": scratch / "series.npz", "ran": scratch / "ran.json"}
            np.savez(files["series"], squared_radius=12.0 + rng.normal(size=4000))
            write_json(files["ran"], ran)
            result = {"seed": 5, "start_sha256": str(replica) * 64, "temperature_target": 1.0, "samples": 4000}
            done = put(loaded, stage, {"replica": str(replica)}, result | {"effective_samples": 4000.0}, files)
            upstream.setdefault(stage, []).append(done)
    return upstream


def pattern(loaded, _scratch):
    cell = {"value": 8.4805, "esd": 0.0001, "esd_counting": 0.00005}
    result = {"parameters": {"cell/PbSO4/a": cell}, "phases": [], "rwp_percent": 9.7, "gof": 1.9, "engine": "rietx"}
    return {"refine": [put(loaded, "refine", {"pattern": "xray"}, result | {"stands": True}, {})]}


CAMPAIGNS = {
    "sic-conductivity": ("green_kubo", green_kubo.run, conductivity, "conductivity"),
    "rg-cross-backend": ("compare", compare_chains.run, chains, "radius_of_gyration"),
    "rietveld-pbso4": ("compare", compare_patterns.run, pattern, "value"),
}


@pytest.fixture(scope="module", params=CAMPAIGNS)
def finished(request, tmp_path_factory):
    """A campaign whose last stage was computed; its folder, that stage and the name of the answer."""
    stage, run, earlier, answer = CAMPAIGNS[request.param]
    root, scratch = tmp_path_factory.mktemp("campaign") / request.param, tmp_path_factory.mktemp("scratch")
    campaign_folder.from_draft(root, load_yaml(resource("campaigns", request.param, "campaign.yaml")).data)
    loaded = spec.load(root / "campaign.yaml")
    context = StepContext(stage, {}, loaded.definition(stage), earlier(loaded, scratch), scratch, scratch, 1)
    made = run(context)
    put(loaded, stage, {}, to_json(dict(made.result)), made.files)
    write_json(root / "results" / stage / "verdict.json", to_json(judge(root, loaded, stage)))
    return root, stage, answer


@pytest.fixture
def campaign(finished, tmp_path):
    root, stage, answer = finished
    copy = Path(shutil.copytree(root, tmp_path / root.name))
    return copy, copy / "results" / stage, answer


def differing(root, capsys, code=1):
    capsys.readouterr()
    assert cli.main(["rederive", "--json", str(root)]) == code
    return {each["number"]: each for each in json.loads(capsys.readouterr().out) if each["state"] == "differs"}


def edit(path, change):
    content = json.loads(path.read_text())
    change(content)
    write_json(path, content)


def test_what_was_not_edited_agrees(campaign, capsys):
    root, _, _ = campaign
    assert differing(root, capsys, 0) == {}


def test_an_edited_answer_is_named(campaign, capsys):
    root, folder, answer = campaign
    true = json.loads((folder / "outcome.json").read_text())["result"][answer]
    edit(folder / "outcome.json", lambda content: content["result"].update({answer: 1.1 * true}))
    assert differing(root, capsys)[answer]["rederived"] == pytest.approx(true)


def test_an_edited_unit_is_named(campaign, capsys):
    root, folder, _ = campaign
    if "units" not in json.loads((folder / "outcome.json").read_text())["result"]:
        pytest.skip("its results are in the units of the kind, which no file states")
    edit(folder / "outcome.json", lambda content: content["result"].update(units="furlong"))
    assert differing(root, capsys)["units"]["recorded"] == "furlong"


def test_an_edited_verdict_is_named(campaign, capsys):
    root, folder, _ = campaign
    edit(folder / "verdict.json", lambda content: content.update(verdict="maybe"))
    assert set(differing(root, capsys)) == {"verdict"}


def test_an_edited_plot_is_named(campaign, capsys):
    root, folder, _ = campaign
    (path,) = folder.glob("*.svg")
    path.write_text(path.read_text().replace("</svg>", "<!-- another curve --></svg>"))
    assert any(number.startswith("sha256 of") for number in differing(root, capsys))


def test_a_file_that_is_gone_is_named(campaign, capsys):
    root, folder, _ = campaign
    (path,) = folder.glob("*.svg")
    path.unlink()
    assert "nothing" in {each["rederived"] for each in differing(root, capsys).values()}
