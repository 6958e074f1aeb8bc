"""A campaign that is killed finishes on the next call, repeats nothing, and comes to the same results."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
LENGTH = "steps: 60000, sample_every: 5"
"""Of the bench's productions; a third of it still has restart files before and after a kill."""


@pytest.fixture
def kills(monkeypatch, tmp_path):
    """The bench's own functions; its 30 kills are these, with other seeds."""
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    import kills

    return kills


@pytest.mark.slow
def test_killed_driver_and_killed_lmp_leave_nothing_behind(kills, tmp_path):
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    spec = (BENCH / "kills.campaign.yaml").read_text()
    assert LENGTH in spec
    spec = spec.replace(LENGTH, "steps: 20000, sample_every: 5")
    undisturbed = kills.campaign(tmp_path / "undisturbed", spec, key)
    begun = time.monotonic()
    code, text = kills.finish(undisturbed)
    length = time.monotonic() - begun
    assert code == 0, text
    reference = kills.outputs(undisturbed)
    for victim, seed in (("driver", 1), ("lmp", 2)):
        folder = kills.campaign(tmp_path / victim, spec, key)
        chance = random.Random(seed)
        chance.choice = lambda options, victim=victim: victim if victim in options else options[0]
        run = kills.kill_once(folder, chance, 0.35 * length)
        code, text = kills.finish(folder)
        assert code == 0, text
        assert run["hit"]
        assert kills.judge(run["ended_before"], kills.compare(folder, reference)) == []
