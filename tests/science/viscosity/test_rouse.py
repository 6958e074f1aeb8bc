import math

import numpy as np
import pytest

from sophron.interfaces.kind import EngineFailure, UpstreamStep
from sophron.science.viscosity.rouse import run

from .analysis import checked, context, ideal_rouse_chains

BEADS, CHAINS, INTERVAL = 6, 30, 0.25


def trajectory(folder, replica, frames=2000):
    positions = ideal_rouse_chains(np.random.default_rng(replica), frames, CHAINS, BEADS, INTERVAL)
    path = folder / f"trajectory-{replica}.npz"
    flat = positions.reshape(frames, CHAINS * BEADS, 3).astype(np.float32)
    np.savez(path, positions=flat, interval_tau=INTERVAL, chain_length=BEADS)
    result = {"density": 0.85, "temperature_mean": 1.0}
    return UpstreamStep("produce", {"replica": str(replica)}, result, {"trajectory": path})


def test_ideal_chains(tmp_path):
    steps = [trajectory(tmp_path, replica) for replica in range(3)]
    finished = run(context(tmp_path / "a", "rouse", {"modes": 3}, {"produce": steps}))
    result = checked(finished.result, "rouse")
    times = [1 / (4 * math.sin(mode * math.pi / (2 * BEADS)) ** 2) for mode in (1, 2, 3)]
    assert [mode["tau"] for mode in result["modes"][:2]] == pytest.approx(times[:2], rel=0.08)
    assert abs(result["longest_mode_tau"] - times[0]) < 5 * result["longest_mode_tau_error"]
    assert [mode["amplitude"] for mode in result["modes"]] == pytest.approx(
        [3 * time / (2 * BEADS) for time in times], rel=0.08
    )
    assert [mode["stretching"] for mode in result["modes"][:2]] == pytest.approx([1, 1], abs=0.08)
    assert result["mode_exponent"] == pytest.approx(2.0, abs=0.15)
    assert result["stress_relaxation_tau"] == pytest.approx(times[0] / 2, rel=0.08)
    assert result["end_to_end_squared"] == pytest.approx(3 * (BEADS - 1), rel=0.08)
    assert result["diffusion"] == pytest.approx(1 / BEADS, rel=0.15)
    every = [1 / (4 * math.sin(mode * math.pi / (2 * BEADS)) ** 2) for mode in range(1, BEADS)]
    assert result["viscosity_rouse"] == pytest.approx(0.85 / BEADS * sum(every) / 2, rel=0.08)
    assert (result["chains"], result["chain_length"], result["frames_total"]) == (CHAINS, BEADS, 6000)
    again = run(context(tmp_path / "b", "rouse", {"modes": 3}, {"produce": steps}))
    assert again.files["modes_plot"].read_bytes() == finished.files["modes_plot"].read_bytes()


def test_a_run_shorter_than_the_relaxation_gives_null(tmp_path):
    finished = run(context(tmp_path, "rouse", {"modes": 1}, {"produce": [trajectory(tmp_path, 0, frames=12)]}))
    result = checked(finished.result, "rouse")
    assert result["longest_mode_tau"] is None
    assert result["diffusion"] is None
    assert result["viscosity_rouse"] is None
    assert result["mode_exponent"] is None


def test_what_cannot_be_analysed(tmp_path):
    step = trajectory(tmp_path, 0, frames=20)
    with pytest.raises(EngineFailure, match="5 Rouse modes"):
        run(context(tmp_path, "rouse", {"modes": 6}, {"produce": [step]}))
    empty = trajectory(tmp_path, 1, frames=1)
    with pytest.raises(EngineFailure, match="frame_every"):
        run(context(tmp_path, "rouse", {"modes": 1}, {"produce": [empty]}))
