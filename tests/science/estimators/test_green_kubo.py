import math

import numpy as np
import pytest

from sophron.science.estimators.autocorrelation import autocorrelation
from sophron.science.estimators.green_kubo import (
    COMPONENTS,
    NOISE_LIMIT,
    Estimate,
    estimate,
    running_integral,
    stress_components,
)
from sophron.science.estimators.plateau import Reason, Refusal

from .synthetic import exact_integral, exponential_noise


def integrals(seed, samples, replicas, interval, terms, *, lags):
    series = exponential_noise(np.random.default_rng(seed), samples, 5 * replicas, interval, terms)
    curves = running_integral(autocorrelation(series, lags), interval, 1.0, 1.0)
    return interval * np.arange(lags), curves.T.reshape(replicas, 5, lags), (samples - 1) * interval


def test_components_are_orthonormal_whatever_the_frame():
    rng = np.random.default_rng(1)
    tensors = rng.normal(size=(200_000, 3, 3))
    tensors = (tensors + tensors.transpose(0, 2, 1)) / 2
    pressure = np.stack([tensors[:, i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))], axis=1)
    components = stress_components(pressure)
    assert len(COMPONENTS) == components.shape[1] == 5
    np.testing.assert_allclose(np.cov(components.T) / 0.5, np.eye(5), atol=0.02)
    traceless = tensors - np.trace(tensors, axis1=1, axis2=2)[:, None, None] * np.eye(3) / 3
    np.testing.assert_allclose((components**2).sum(axis=1), 0.5 * (traceless**2).sum(axis=(1, 2)), rtol=1e-12)


def test_hydrostatic_pressure_has_no_components():
    assert np.abs(stress_components(np.array([[3.0, 3.0, 3.0, 0.0, 0.0, 0.0]]))).max() == pytest.approx(0, abs=1e-15)


def test_named_components():
    found = stress_components(np.array([[1.0, 2.0, 4.0, 5.0, 6.0, 7.0]]))[0]
    assert found == pytest.approx([5.0, 6.0, 7.0, -0.5, (8 - 3) / (2 * math.sqrt(3))])


def test_running_integral_of_an_exponential():
    interval, tau, volume, temperature = 0.001, 0.5, 300.0, 0.7
    times = interval * np.arange(20_001)
    found = running_integral(np.exp(-times / tau), interval, volume, temperature)
    expected = volume / temperature * tau * (1 - np.exp(-times / tau))
    assert np.abs(found - expected).max() < 1e-6 * expected[-1]
    assert found[0] == 0


@pytest.mark.parametrize(
    ("terms", "interval", "samples", "lags"),
    [
        ([(1.0, 1.0)], 0.1, 40_000, 300),
        ([(1.0, 0.1), (0.2, 0.6)], 0.05, 40_000, 300),
        ([(1.0, 1.0), (0.02, 10.0)], 0.2, 100_000, 800),
    ],
)
def test_known_integrals_are_found(terms, interval, samples, lags):
    found = estimate(*integrals(3, samples, 4, interval, terms, lags=lags))
    assert isinstance(found, Estimate)
    exact = exact_integral(interval, terms)
    assert abs(found.coefficient - exact) < 3 * found.standard_error
    assert found.standard_error < 0.08 * exact
    assert found.cutoff.time >= 3 * found.cutoff.longest_relaxation
    assert 0.4 * terms[-1][1] < found.cutoff.longest_relaxation < 2 * terms[-1][1]
    assert found.units == 20
    assert found.standard_error == max(found.unit_error, found.procedure_error, found.replica_error)


def test_interval_covers_the_truth_as_often_as_it_says():
    terms, interval, seeds = [(1.0, 1.0)], 0.2, range(200)
    exact = exact_integral(interval, terms)
    found = [estimate(*integrals(seed, 4000, 2, interval, terms, lags=60)) for seed in seeds]
    given = [one for one in found if isinstance(one, Estimate)]
    assert len(given) > 170
    coverage = np.mean([one.low <= exact <= one.high for one in given])
    assert 0.88 <= coverage <= 0.99
    values = np.array([one.coefficient for one in given]) / exact
    assert abs(values.mean() - 1) < 3.5 * values.std() / math.sqrt(values.size)


def test_integral_cut_inside_the_relaxation_is_refused():
    """Panel A of the source paper: a window of 300 for a melt whose stress relaxes in about 3500."""
    rouse = [(0.02, 3500.0 / mode**2) for mode in range(1, 15)]
    for seed in range(6):
        times, curves, length = integrals(seed, 12_500, 1, 4.0, rouse, lags=76)
        refused = estimate(times, curves, length)
        assert isinstance(refused, Refusal)
        assert refused.reason is Reason.WINDOW_TOO_SHORT
        assert refused.longest_relaxation > 100


def test_white_noise_is_undersampled():
    times, curves, length = integrals(5, 20_000, 4, 1.0, [(1.0, 1e-3)], lags=100)
    refused = estimate(times, curves, length)
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.UNDERSAMPLED


def test_noise_is_refused():
    found = [estimate(*integrals(seed, 350, 1, 0.1, [(1.0, 1.0)], lags=100)) for seed in range(20)]
    refusals = [one.reason for one in found if isinstance(one, Refusal)]
    assert len(refusals) >= 8
    assert Reason.NOISE in refusals
    given = [one for one in found if isinstance(one, Estimate)]
    assert all(one.standard_error < NOISE_LIMIT * one.coefficient for one in given)


def test_few_lags_and_dead_stress_are_refused():
    times, curves, length = integrals(7, 1000, 2, 0.1, [(1.0, 1.0)], lags=20)
    assert estimate(times, curves, length).reason is Reason.RUN_TOO_SHORT
    assert estimate(0.1 * np.arange(50), np.zeros((2, 5, 50)), 100.0).reason is Reason.NO_RELAXATION


def test_replicas_that_disagree_widen_the_error():
    times, curves, length = integrals(8, 20_000, 6, 0.1, [(1.0, 1.0)], lags=150)
    scaled = curves * np.array([0.7, 0.8, 0.9, 1.1, 1.2, 1.3])[:, None, None]
    found = estimate(times, scaled, length)
    assert isinstance(found, Estimate)
    assert found.standard_error == found.replica_error > 1.5 * found.unit_error
    assert found.degrees_of_freedom == 5


def walks(seed, sign=1.0):
    """Integrals that relax to `sign` x 3.2 within 0.3, with the noise of a walk."""
    times = 0.03 * np.arange(334)
    noise = 0.05 * math.sqrt(0.03) * np.cumsum(np.random.default_rng(seed).normal(size=(8, 5, 334)), axis=-1)
    return times, sign * 3.2 * (1 - np.exp(-times / 0.3)) + noise - noise[..., :1]


def test_integrals_that_are_not_finite_are_no_relaxation_but_an_error():
    times, values = walks(1)
    values[3, 2, 100:] = math.nan
    with pytest.raises(ValueError, match="finite"):
        estimate(times, values, 2000.0)


def test_a_negative_integral_and_equal_replicas_are_refused_in_their_own_words():
    assert "no coefficient is negative" in str(estimate(*walks(2, -1.0), 2000.0))
    times, values = walks(3)
    same = np.broadcast_to(values[:1, :1], values.shape)
    assert "all replicas and components are equal" in str(estimate(times, same, 2000.0))


def test_one_replica_far_from_the_others_is_noise_and_two_have_one_degree_of_freedom():
    times, values = walks(4)
    assert estimate(times, values[:2], 2000.0).degrees_of_freedom in (1, 9)
    values[0] *= 100
    assert estimate(times, values, 2000.0).reason == Reason.NOISE
