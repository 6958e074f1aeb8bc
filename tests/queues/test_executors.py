"""The viscosity campaign through the executors that Sophron ships, on a real Slurm: the same plan, the same numbers."""

import importlib.util
import json

import pytest

pytestmark = pytest.mark.queues

QUICK = ("--seconds-between-status-checks", "1", "--latency-wait", "20")
PILOT = ("--parsl-provider", "slurm", "--parsl-cores", "2", "--parsl-memory-mb", "4000", "--parsl-walltime-min", "60")
WAYS = {
    "dpdispatcher": ("dpdispatcher", (*QUICK, "--dpdispatcher-batch-type", "Slurm")),
    "parsl": ("parsl", (*QUICK, *PILOT, "--parsl-address", "127.0.0.1")),
}


@pytest.mark.parametrize("profile", WAYS)
def test_the_viscosity_campaign_runs_and_each_step_once(of_campaign, profile):
    package, words = WAYS[profile]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    queued = of_campaign("smoke", profile=profile, words=words)
    assert queued.run() == 0, queued.said
    root = queued.campaign.root
    assert (root / "results" / "report.html").is_file()
    tries = {path.name: len(list(path.glob("[0-9]*/try.json"))) for path in (root / "records").iterdir()}
    assert {name: count for name, count in tries.items() if count > 1} == {}
    placements = {
        json.loads(path.read_text())["placement"].get("scheduler") for path in root.glob("records/produce-*/1/try.json")
    }
    assert placements == {"slurm"}, "production ran in jobs of Slurm"
