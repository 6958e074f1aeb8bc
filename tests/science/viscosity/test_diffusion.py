import math

import numpy as np
import pytest

from sophron.interfaces.kind import EngineFailure, UpstreamStep
from sophron.science.viscosity.diffusion import run

from .analysis import checked, context

FRAMES, INTERVAL, TRUTH, VOLUME, TEMPERATURE = 400, 0.5, 0.03, 1000.0, 0.7
WINDOW = {"from_tau": 2.0, "to_tau": 20.0}
VISCOSITY = {"viscosity": 3.0, "viscosity_standard_error": 0.06, "degrees_of_freedom": 7}


def produced(folder, positions, beads=1):
    """Steps of produce whose trajectories are `positions`, (replicas, frames, atoms, 3)."""
    folder.mkdir(exist_ok=True)
    steps = []
    for replica, frames in enumerate(positions):
        path = folder / f"trajectory-{replica}.npz"
        np.savez(path, positions=frames.astype(np.float32), interval_tau=INTERVAL, chain_length=beads)
        result = {"temperature_mean": TEMPERATURE, "temperature_error": 0.001, "volume": VOLUME, "chain_length": beads}
        steps.append(UpstreamStep("produce", {"replica": str(replica)}, result, {"trajectory": path}))
    return steps


def walks(seed=1, replicas=4, particles=50):
    step = math.sqrt(2 * TRUTH * INTERVAL)
    return np.cumsum(np.random.default_rng(seed).normal(scale=step, size=(replicas, FRAMES, particles, 3)), axis=1)


def analysed(folder, steps, definition=None, green_kubo=VISCOSITY):
    upstream = {"produce": steps, "green_kubo": [UpstreamStep("green_kubo", {}, green_kubo, {})]}
    return run(context(folder, "diffusion", definition or WINDOW, upstream))


def test_walks_with_a_viscosity_are_corrected(tmp_path):
    steps = produced(tmp_path / "made", walks())
    finished = analysed(tmp_path / "a", steps)
    result = checked(finished.result, "diffusion")
    assert abs(result["diffusion_box"] - TRUTH) < 3.2 * result["diffusion_box_error"]
    drag = 2.837297 * TEMPERATURE / (6 * math.pi * 3.0 * 10.0)
    assert result["size_correction"] == pytest.approx(drag)
    assert result["diffusion"] == pytest.approx(result["diffusion_box"] + drag)
    assert result["diffusion_standard_error"] == pytest.approx(math.hypot(result["diffusion_box_error"], 0.02 * drag))
    assert result["interval_low"] < result["diffusion"] < result["interval_high"]
    assert (result["corrected"], result["molecules"], result["replicas"]) == (True, 50, 4)
    assert (result["window_from_tau"], result["window_to_tau"]) == (2.0, 20.0)
    assert result["displacement"] == pytest.approx(math.sqrt(6 * TRUTH * 20), rel=0.1)
    assert result["centre_share"] == pytest.approx(1 / 50, rel=0.5)
    again = analysed(tmp_path / "b", steps)
    assert again.files["displacement_plot"].read_bytes() == finished.files["displacement_plot"].read_bytes()


def test_without_a_viscosity_it_is_that_of_this_box_and_says_so(tmp_path):
    refused = dict.fromkeys(VISCOSITY)
    result = checked(analysed(tmp_path / "a", produced(tmp_path, walks()), green_kubo=refused).result, "diffusion")
    assert result["diffusion"] == result["diffusion_box"]
    assert (result["corrected"], result["size_correction"], result["degrees_of_freedom"]) == (False, None, 3)


def test_chains_count_by_their_centres(tmp_path):
    """Beads of a chain that ride on one walk, and rattle about it."""
    rattle = np.random.default_rng(2).normal(scale=0.3, size=(4, FRAMES, 20, 5, 3))
    beads = (walks(particles=20)[:, :, :, None] + rattle).reshape(4, FRAMES, 100, 3)
    result = checked(analysed(tmp_path / "a", produced(tmp_path, beads, beads=5)).result, "diffusion")
    assert (result["molecules"], result["chain_length"]) == (20, 5)
    assert abs(result["diffusion_box"] - TRUTH) < 3.2 * result["diffusion_box_error"]


def test_ballistic_beads_are_refused(tmp_path):
    speeds = np.random.default_rng(3).normal(size=(4, 1, 50, 3))
    positions = speeds * INTERVAL * np.arange(FRAMES)[None, :, None, None]
    result = checked(analysed(tmp_path / "a", produced(tmp_path, positions)).result, "diffusion")
    assert result["refused"]
    assert result["refusal"].startswith("not_linear: the slope changes by +")
    assert result["diffusion"] is None


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ({"from_tau": 2.0, "to_tau": 150.0}, "to_tau: 150 tau is more than half of a trajectory of 400 frames"),
        ({"from_tau": 2.0, "to_tau": 4.0}, "frames every 0.5 tau give 5 lags from 2 to 4 tau"),
    ],
)
def test_windows_that_no_trajectory_fills(tmp_path, window, said):
    with pytest.raises(EngineFailure, match=said):
        analysed(tmp_path / "a", produced(tmp_path, walks()), window)
