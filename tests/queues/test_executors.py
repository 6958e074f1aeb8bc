"""The viscosity campaign through the executors that Sophron ships: the same plan, each step once, in the right place.

The Slurm is real. Globus Compute is the real engine of an endpoint with a stand-in for the cloud: see STAND_IN.
"""

import importlib.util
import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.queues

STAND_IN = Path(__file__).parents[1] / "snakemake_executor_plugin_globus_compute" / "cloud_stand_in.py"

QUICK = ("--seconds-between-status-checks", "1", "--latency-wait", "20")
PILOT = ("--parsl-provider", "slurm", "--parsl-cores", "2", "--parsl-memory-mb", "4000", "--parsl-walltime-min", "60")
IN_SLURM = {"scheduler": "slurm", "pilot": None}
WAYS = {
    "dpdispatcher": ("dpdispatcher", (*QUICK, "--dpdispatcher-batch-type", "Slurm"), IN_SLURM),
    "parsl": ("parsl", (*QUICK, *PILOT, "--parsl-address", "127.0.0.1"), {"scheduler": "slurm", "pilot": "parsl"}),
    # The engine's workers are Parsl's; its blocks are children of the stand-in.
    "globus": ("globus_compute_endpoint", QUICK, {"scheduler": None, "pilot": "parsl"}),
}


@pytest.mark.parametrize("profile", WAYS)
def test_the_viscosity_campaign_runs_and_each_step_once(of_campaign, tmp_path, profile):
    package, words, place = WAYS[profile]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    more = {"snakemake": (str(STAND_IN), str(tmp_path / "engines"))} if profile == "globus" else {}
    queued = of_campaign("smoke", profile=profile, words=words, **more)
    assert queued.run() == 0, queued.said
    root = queued.campaign.root
    assert (root / "results" / "report.html").is_file()
    assert set(queued.campaign.verdicts().values()) == {"pass"}
    assert set(queued.campaign.tries().values()) == {1}
    for path in root.glob("records/produce-*/1/try.json"):
        placement = json.loads(path.read_text())["placement"]
        assert {key: placement[key] for key in place} == place, "production ran where the profile says"
