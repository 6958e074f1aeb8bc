from dataclasses import replace

import numpy as np
import pytest

from sophron.interfaces.kind import EngineFailure
from sophron.science.viscosity.green_kubo import run

from .analysis import checked, context, liquid_stress, produce_step

TAU, VARIANCE, INTERVAL, VOLUME, TEMPERATURE = 0.8, 0.05, 0.1, 100.0, 0.72


def replicas(folder, count=3, samples=15_000, tau=TAU):
    return [
        produce_step(folder, replica, liquid_stress(replica, samples, INTERVAL, tau, VARIANCE))
        for replica in range(count)
    ]


def test_viscosity_of_a_known_liquid(tmp_path):
    steps = replicas(tmp_path)
    finished = run(context(tmp_path, "green_kubo", {"replicas": 3, "max_lag_tau": 10.0}, {"produce": steps}))
    result = checked(finished.result, "green_kubo")
    exact = VOLUME / TEMPERATURE * VARIANCE * INTERVAL * (0.5 + 1 / np.expm1(INTERVAL / TAU))
    assert not result["refused"]
    assert abs(result["viscosity"] - exact) < 3 * result["viscosity_standard_error"]
    assert result["viscosity_relative_error"] < 0.1
    assert result["cutoff_ratio"] >= 3
    assert result["independent_units"] == 15
    assert result["samples_total"] == 45_000
    assert result["temperature_mean"] == pytest.approx(TEMPERATURE)
    half = result["interval_high"] - result["viscosity"]
    assert half / result["viscosity_standard_error"] > 1.96
    curves = np.load(finished.files["curves"])
    assert curves["times"][-1] == pytest.approx(10.0)
    at = np.searchsorted(curves["times"], result["cutoff_tau"] - 1e-9)
    assert curves["integral_mean"][at] == pytest.approx(result["viscosity"])
    assert curves["integral_replica"].shape == (3, 101)
    assert curves["acf_mean"][0] == pytest.approx(VARIANCE, rel=0.05)


def test_equal_inputs_give_equal_bytes(tmp_path):
    steps = replicas(tmp_path, count=2, samples=6000)
    definition = {"replicas": 2, "max_lag_tau": 8.0}
    first, second = (run(context(tmp_path / name, "green_kubo", definition, {"produce": steps})) for name in ("a", "b"))
    assert first.result == second.result
    assert set(first.files) == {"curves", "acf_plot", "integral_plot"}
    for name, path in first.files.items():
        assert path.read_bytes() == second.files[name].read_bytes()
    assert b"<dc:date>" not in first.files["acf_plot"].read_bytes()


def test_truncated_integral_is_refused_and_still_drawn(tmp_path):
    steps = replicas(tmp_path, tau=40.0)
    finished = run(context(tmp_path, "green_kubo", {"replicas": 3, "max_lag_tau": 20.0}, {"produce": steps}))
    result = checked(finished.result, "green_kubo")
    assert result["refused"]
    assert result["viscosity"] is None
    assert result["refusal"].startswith("window_too_short: ")
    assert result["longest_relaxation_tau"] > 7
    assert b"<svg" in finished.files["integral_plot"].read_bytes()


def test_a_tiny_run_ends_in_a_refusal(tmp_path):
    steps = replicas(tmp_path, count=2, samples=41)
    finished = run(context(tmp_path, "green_kubo", {"replicas": 2, "max_lag_tau": 10.0}, {"produce": steps}))
    assert checked(finished.result, "green_kubo")["refusal"].startswith("run_too_short: ")
    assert finished.result["window_tau"] == pytest.approx(2.0)


def test_one_replica_has_no_replica_error(tmp_path):
    steps = replicas(tmp_path, count=1)
    finished = run(context(tmp_path, "green_kubo", {"replicas": 1, "max_lag_tau": 8.0}, {"produce": steps}))
    result = checked(finished.result, "green_kubo")
    assert result["replica_error"] is None
    assert result["degrees_of_freedom"] == 4
    assert result["temperature_error"] == 0.002


def test_replicas_that_do_not_belong_together(tmp_path):
    steps = replicas(tmp_path, count=2, samples=500)
    definition = {"replicas": 3, "max_lag_tau": 5.0}
    with pytest.raises(EngineFailure, match="wants 3 replicas"):
        run(context(tmp_path, "green_kubo", definition, {"produce": steps}))
    other = produce_step(tmp_path, 7, np.ones((500, 6)), interval=0.2)
    with pytest.raises(EngineFailure, match="sampling interval"):
        run(context(tmp_path, "green_kubo", definition, {"produce": [*steps, other]}))


def test_broken_samples_fail(tmp_path):
    pressure = np.ones((500, 6))
    pressure[250, 3] = np.nan
    step = produce_step(tmp_path, 0, pressure)
    definition = {"replicas": 1, "max_lag_tau": 5.0}
    with pytest.raises(EngineFailure, match="not finite"):
        run(context(tmp_path, "green_kubo", definition, {"produce": [step]}))
    lost = replace(step, files={"stress": tmp_path / "none.npz"})
    with pytest.raises(EngineFailure, match="cannot be read"):
        run(context(tmp_path, "green_kubo", definition, {"produce": [lost]}))
