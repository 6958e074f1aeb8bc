"""The shipped campaign, small: one campaign, one signature, one Snakemake call a way, and a comparison of them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import private_slurm
import pytest
import toy
import yaml

from sophron.campaign.spec.spec import load
from sophron.interfaces.kind import EngineFailure
from sophron.records.errors import UserError
from sophron.records.files import resource
from sophron.science.lammps.executable import find

SMALL = {
    "build": {"chains": 8, "chain_length": 10, "density": 0.05},
    "equilibrate": {"push_off_steps": 500, "steps": 500},
    "sample": {"discard_steps": 2000, "steps": 10_000, "sample_every": 20},
    "compare": {"significance": 1e-4},  # of values that agree, one test in 10,000 may fail by chance
}
EXECUTOR = ["--executor", "slurm", "--slurm-status-command", "squeue", "--default-resources", "slurm_account=test"]
DISPATCHED = [
    "--executor",
    "dpdispatcher",
    "--dpdispatcher-batch-type",
    "Slurm",
    "--seconds-between-status-checks",
    "1",
]
FAST = ["--slurm-init-seconds-before-status-checks", "2", "--seconds-between-status-checks", "2", "--jobs", "2"]


def lacking() -> str | None:
    """Why this cannot run here; None where it can."""
    pytest.importorskip("snakemake_executor_plugin_slurm")
    pytest.importorskip("dpdispatcher")
    try:
        find().mpiexec()
    except EngineFailure as failure:
        return str(failure)
    return None if private_slurm.AVAILABLE else private_slurm.REASON


def campaign(folder: Path, monkeypatch, ways: tuple[str, ...]) -> toy.Campaign:
    """The shipped campaign with these ways, so small that a test can run it, signed."""
    root = folder / "rg"
    shutil.copytree(resource("campaigns", "rg-cross-backend"), root)
    spec = yaml.safe_load((root / "campaign.yaml").read_text())
    stages = spec["stages"]
    for name in [name for name in stages if name.startswith("sample_") and name not in ways]:
        del stages[name]
    spec["question"]["conditions"] |= {"chain_length": 10, "density": 0.05}
    stages["compare"]["depends_on"] = list(ways)
    stages["compare"]["criteria"] = stages["compare"]["criteria"][:1]
    for name, block in stages.items():
        block["definition"].update(SMALL.get(name.split("_")[0], {}))
        block["criteria"] = [] if name.startswith(("build", "sample")) else block["criteria"]
    for one in spec["method"]["assumptions"]:
        one["verified_by"] = "nobody: nothing is concluded from a run as small as this"
    (root / "campaign.yaml").write_text(yaml.safe_dump(spec, sort_keys=False))
    for variable, value in toy.settings(folder).items():
        monkeypatch.setenv(variable, value)
    made = toy.Campaign(root, toy.make_key(folder / "key"))
    made.sign()
    return made


@pytest.fixture
def slurm(tmp_path_factory, monkeypatch):
    """A running Slurm, in the environment."""
    reason = lacking()
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("slurm")
    for variable, value in private_slurm.start(folder).items():
        monkeypatch.setenv(variable, value)
    yield folder
    private_slurm.stop(folder)


def outcome(made: toy.Campaign, step: str) -> dict:
    return json.loads((made.root / "results" / step / "outcome.json").read_text())


def queued(made: toy.Campaign, options: list[str], target: str) -> None:
    """Make one target through a queue."""
    command = [sys.executable, "-m", "snakemake", *options, "--rerun-incomplete", "--nolock", "--", target]
    done = subprocess.run(
        command, cwd=made.root, env=os.environ, text=True, capture_output=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.queues
def test_one_signed_campaign_runs_through_three_executors_and_is_compared(slurm, tmp_path, monkeypatch):
    made = campaign(tmp_path, monkeypatch, ("sample_local", "sample_slurm", "sample_dpdispatcher"))
    for replica in "01":
        made.complete(f"results/sample_local/{replica}/outcome.json")
        queued(made, [*EXECUTOR, *FAST], f"results/sample_slurm/{replica}/outcome.json")
        queued(made, [*DISPATCHED, "--jobs", "2"], f"results/sample_dpdispatcher/{replica}/outcome.json")
    made.complete()
    result = outcome(made, "compare")["result"]
    local, slurm_set, dispatched = result["sets"]
    assert (local["scheduler"], local["ranks"], local["jobs"]) == (None, 1, [])
    assert (slurm_set["scheduler"], slurm_set["ranks"], len(slurm_set["jobs"])) == ("slurm", 2, 2)
    assert (dispatched["scheduler"], dispatched["ranks"], dispatched["equal_to"]) == ("slurm", 1, "sample_local")
    assert result["took_turns"] is True
    assert (result["distinct_sets"], result["degrees_of_freedom"]) == (2, 1)
    assert (made.root / "results" / "report.html").is_file()
    assert all(count == 1 for count in made.tries().values())


@pytest.mark.slow
def test_a_set_that_is_started_in_the_wrong_place_is_refused_and_costs_nothing(tmp_path, monkeypatch):
    made = campaign(tmp_path, monkeypatch, ("sample_local", "sample_slurm"))
    done = made.snakemake("--until", "sample_slurm")
    assert done.returncode != 0
    assert re.search(r"sample_slurm-[01] is to run in a job of slurm, and this is outside of any queue on", done.stdout)
    assert "run it so: snakemake --profile slurm --until sample_slurm" in done.stdout
    assert not list((made.root / "results").glob("sample_slurm/*/outcome.json"))
    assert not list((made.root / "scratch").glob("*/sample_slurm-*/in.sample"))


@pytest.mark.parametrize("name", ["rg-cross-backend", "rg-cross-backend-gpu"])
def test_the_shipped_specs_are_valid_and_sample_the_same(name):
    spec = load(resource("campaigns", name) / "campaign.yaml")
    assert spec.unverified() == []
    ways = [stage.name for stage in spec.stages if stage.name.startswith("sample_")]
    assert spec.stage("compare").depends_on == tuple(ways)
    other = load(resource("campaigns", "rg-cross-backend") / "campaign.yaml")
    for stage in ("build", "equilibrate", "sample_local", "sample_slurm", "sample_parsl"):
        assert spec.definition_digest(stage) == other.definition_digest(stage)


def test_unequal_ways_are_refused_before_anything_runs(tmp_path):
    text = (resource("campaigns", "rg-cross-backend") / "campaign.yaml").read_text()
    path = tmp_path / "campaign.yaml"
    path.write_text(text.replace("steps: 500000", "steps: 400000", 1))
    with pytest.raises(UserError, match=r"sample_slurm.definition is not that of sample_local"):
        _ = load(path).ranges
