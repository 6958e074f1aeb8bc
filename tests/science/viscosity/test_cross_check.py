import numpy as np
import pytest

from sophron.interfaces.kind import EngineFailure, UpstreamStep
from sophron.science.estimators.zero_shear import carreau
from sophron.science.viscosity.cross_check import Rate, by_rate, run

from .analysis import checked, context

RATES = (0.01, 0.02, 0.05, 0.1)


def shear(seed, *, zero=6.5, time=20.0, relative=0.02, replicas=2):
    rng = np.random.default_rng(seed)
    steps = []
    for rate in RATES:
        truth = float(carreau(np.array(rate), zero, time, 0.5))
        for replica in range(replicas):
            error = relative * truth
            result = {"rate": rate, "viscosity": truth + error * rng.normal(), "viscosity_error": error}
            steps.append(UpstreamStep("shear", {"rate": repr(rate), "replica": str(replica)}, result, {}))
    return steps


def green_kubo(value, error=0.2):
    given = value is not None
    result = {
        "viscosity": value,
        "viscosity_standard_error": error if given else None,
        "degrees_of_freedom": 9 if given else None,
        "interval_low": value - 0.45 if given else None,
        "interval_high": value + 0.45 if given else None,
    }
    return [UpstreamStep("green_kubo", {}, result, {})]


def test_agreement(tmp_path):
    upstream = {"shear": shear(1), "green_kubo": green_kubo(6.4)}
    finished = run(context(tmp_path / "a", "cross_check", {}, upstream))
    result = checked(finished.result, "cross_check")
    assert abs(result["viscosity_zero_rate"] - 6.5) < 3 * result["viscosity_zero_rate_error"]
    assert abs(result["z"]) < 3
    assert result["agreement"] == "agree"
    assert result["detectable_difference"] < 0.2
    assert result["extrapolation_reliable"]
    assert result["lower_bound"] < 6.5
    assert [rate["replicas"] for rate in result["rates"]] == [2, 2, 2, 2]
    again = run(context(tmp_path / "b", "cross_check", {}, upstream))
    assert again.result == finished.result
    assert again.files["rates_plot"].read_bytes() == finished.files["rates_plot"].read_bytes()


def test_truncated_green_kubo_is_found_out(tmp_path):
    upstream = {"shear": shear(2), "green_kubo": green_kubo(4.0)}
    result = checked(run(context(tmp_path, "cross_check", {}, upstream)).result, "cross_check")
    assert result["z"] > 3
    assert result["lower_bound"] > 4.0
    assert result["agreement"] == "differ"


def test_a_value_lost_in_noise_agrees_with_nothing(tmp_path):
    upstream = {"shear": shear(1), "green_kubo": green_kubo(6.4, 1.0)}
    result = checked(run(context(tmp_path / "a", "cross_check", {}, upstream)).result, "cross_check")
    assert abs(result["z"]) < 1
    assert result["detectable_difference"] > 0.4
    assert result["agreement"] == "cannot tell"
    wide = context(tmp_path / "b", "cross_check", {"largest_difference": 0.6}, upstream)
    assert run(wide).result["agreement"] == "agree"


def test_an_extrapolation_that_is_not_reliable_agrees_with_nothing(tmp_path):
    upstream = {"shear": shear(1)[:4], "green_kubo": green_kubo(6.4, 0.1)}
    result = checked(run(context(tmp_path, "cross_check", {}, upstream)).result, "cross_check")
    assert not result["extrapolation_reliable"]
    assert result["agreement"] == "cannot tell"


def test_refused_green_kubo_leaves_the_bound(tmp_path):
    upstream = {"shear": shear(3, zero=50.0, time=3500.0), "green_kubo": green_kubo(None)}
    result = checked(run(context(tmp_path, "cross_check", {}, upstream)).result, "cross_check")
    assert result["z"] is None
    assert result["agreement"] is None
    assert not result["extrapolation_reliable"]
    assert 0 < result["lower_bound"] < 50.0


def test_replicas_at_one_rate():
    runs = [{"rate": 0.1, "viscosity": value, "viscosity_error": 0.1} for value in (1.0, 3.0)]
    lone = {"rate": 0.01, "viscosity": 5.0, "viscosity_error": 0.3}
    low, high = by_rate([*runs, lone])
    assert low == Rate(0.01, 5.0, 0.3, replicas=1, degrees_of_freedom=None)
    assert high == Rate(0.1, 2.0, pytest.approx(1.0), replicas=2, degrees_of_freedom=1)
    close = by_rate([{**run, "viscosity": 2.0} for run in runs])[0]
    assert close.viscosity_error == pytest.approx(0.1 / np.sqrt(2))
    few = by_rate([{**run, "viscosity": 2.0, "viscosity_degrees_of_freedom": 8.0} for run in runs])[0]
    assert few == Rate(0.1, 2.0, pytest.approx(0.1 / np.sqrt(2)), replicas=2, degrees_of_freedom=pytest.approx(16.0))
    with pytest.raises(EngineFailure, match="no shear rate has a viscosity with an error"):
        by_rate([{"rate": 0.1, "viscosity": 2.0, "viscosity_error": None}])
    too_short = by_rate([{**run, "viscosity_error": None} for run in runs])
    assert too_short == [high]
