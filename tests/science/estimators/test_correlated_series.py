import math

import numpy as np
import pytest
from scipy import signal

from sophron.science.estimators.correlated_series import (
    block_mean,
    independent,
    series_mean,
    statistical_inefficiency,
)
from sophron.science.estimators.refusal import Reason
from sophron.science.estimators.statistics import t_quantile

from .synthetic import exponential_noise


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.9, 0.98])
def test_inefficiency_of_a_first_order_process_is_known(decay):
    interval = 1.0 if decay == 0 else -math.log(decay)
    tau = 1e-3 if decay == 0 else 1.0
    series = exponential_noise(np.random.default_rng(1), 400_000, 1, interval, [(1.0, tau)])[:, 0]
    assert statistical_inefficiency(series) == pytest.approx((1 + decay) / (1 - decay), rel=0.06)


def test_error_of_the_mean_is_the_spread_of_means():
    series = exponential_noise(np.random.default_rng(2), 4000, 1000, 0.2, [(2.0, 1.0)])
    results = [result for result in map(series_mean, series.T) if result.error]
    assert len(results) > 980
    spread = np.std([result.mean for result in results])
    assert spread == pytest.approx(math.sqrt(2.0 / math.tanh(0.1) / 4000), rel=0.06)
    assert np.mean([result.error for result in results]) == pytest.approx(spread, rel=0.08)
    within = np.mean([abs(one.mean) < t_quantile(one.degrees_of_freedom) * one.error for one in results])
    assert 0.92 < within < 0.98


def test_antithetic_series_are_worth_more_than_independent_samples():
    kicks = np.random.default_rng(3).normal(size=20_001)
    assert series_mean(kicks[1:] - 0.5 * kicks[:-1]).inefficiency < 0.5


def test_constant_series_has_no_error():
    result = series_mean([2.5] * 10)
    assert (result.mean, result.error, result.inefficiency) == (2.5, 0.0, 1.0)


@pytest.mark.parametrize("series", [[1.0, 2.0, 3.0], [1.0, 2.0, math.nan, 3.0], [[1.0, 2.0, 3.0, 4.0]]])
def test_series_that_have_no_error_are_refused(series):
    with pytest.raises(ValueError):
        series_mean(series)


def test_white_noise_is_kept():
    kept = independent(np.random.default_rng(1).normal(size=(2, 1000)))
    assert kept.start < 100
    assert kept.indices.size > 750


def test_the_slowest_quantity_counts():
    rng = np.random.default_rng(2)
    fast, slow = (exponential_noise(rng, 20000, 1, 1.0, [(1.0, tau)])[:, 0] for tau in (0.5, 10.0))
    kept = independent(np.stack([fast, slow]))
    assert kept.inefficiency == pytest.approx(20.0, rel=0.25)
    assert kept.indices.size == pytest.approx((20000 - kept.start) / kept.inefficiency, abs=1)


def test_a_drift_at_the_start_is_cut():
    rng = np.random.default_rng(3)
    series = rng.normal(size=2000)
    series[:300] += np.linspace(15.0, 0.0, 300)
    kept = independent(series[None])
    assert 200 <= kept.start <= 500
    assert kept.indices[0] == kept.start
    assert np.all(np.diff(kept.indices) >= 1)


def terms(share):
    """Two times, 100 samples for `share` of the variance and 0.3 for the rest."""
    return [(1 - share, 0.3), (share, 100.0)]


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_a_slow_part_with_a_small_share_counts(share):
    """The window of one time stops on the fast part; 200 slow times are enough to see the slow one."""
    series = exponential_noise(np.random.default_rng(4), 20_000, 60, 1.0, terms(share))
    found = [series_mean(column) for column in series.T]
    exact = sum(amplitude / math.tanh(0.5 / tau) for amplitude, tau in terms(share))
    given = [one for one in found if one.error]
    assert len(given) >= 54
    assert np.median([one.inefficiency for one in given]) == pytest.approx(exact, rel=0.25)
    assert np.mean([abs(one.mean) < t_quantile(one.degrees_of_freedom) * one.error for one in given]) > 0.88


def test_a_series_of_too_few_slow_times_has_no_error():
    series = exponential_noise(np.random.default_rng(5), 3000, 40, 1.0, [(1.0, 100.0)])
    found = [series_mean(column) for column in series.T]
    refused = [one.refusal for one in found if one.error is None]
    assert len(refused) > 24
    assert {each.reason for each in refused} == {Reason.SHORT_SERIES}
    assert "run longer, or take the spread of independent replicas" in refused[0].sentence


@pytest.mark.parametrize("samples", range(4, 13))
def test_a_handful_of_samples_has_no_error_and_stops_nothing(samples):
    """By chance their autocorrelations cancel, and nothing is left of the variance of the mean."""
    for series in np.random.default_rng(samples).normal(size=(50, samples)):
        assert series_mean(series).error is None


def test_an_oscillation_is_not_counted_as_correlation():
    """Autocorrelation exp(-k/10) cos(0.6 k): what its first lobe adds, the next takes back."""
    rng = np.random.default_rng(6)
    kicks = rng.normal(size=(20_000, 2)) @ [1, 1j]
    decay = np.exp(-0.1 + 0.6j)
    series = signal.lfilter([1.0], [1.0, -decay], kicks).real
    exact = ((1 + decay) / (1 - decay)).real
    assert statistical_inefficiency(series) == pytest.approx(exact, rel=0.6)
    assert series_mean(series).error


def test_means_of_blocks_take_t_quantiles_and_must_not_correlate():
    rng = np.random.default_rng(7)
    given = [block_mean(values) for values in rng.normal(size=(400, 20))]
    held = [abs(one.mean) < t_quantile(one.degrees_of_freedom) * one.error for one in given if one.error]
    assert len(held) > 370
    assert 0.92 < np.mean(held) < 0.98
    slow = exponential_noise(rng, 20, 100, 1.0, [(1.0, 3.0)])
    assert sum(block_mean(column).error is None for column in slow.T) > 70


@pytest.mark.parametrize("value", [0.1, 1e9 + 0.3, 1 / 3, 1e-12])
@pytest.mark.parametrize("samples", [5, 777, 1000, 1001])
def test_a_constant_whose_mean_is_rounded_is_a_constant(value, samples):
    result = series_mean(np.full(samples, value))
    assert (result.error, result.refusal, result.inefficiency) == (0.0, None, 1.0)


def switching(samples, time, rng):
    """+1 and -1, with a chance of 1/(2 time) to switch at each sample: correlation time `time`."""
    return np.where(np.cumsum(rng.random(samples) < 1 / (2 * time)) % 2, 1.0, -1.0)


@pytest.mark.parametrize(
    "series",
    [
        np.linspace(0, 1, 1000), np.linspace(0, 1, 1000) ** 2, np.repeat([0.0, 1.0], 5000), np.arange(10_000) > 9900,
        np.random.default_rng(8).normal(size=10_000) + np.linspace(-0.5, 0.5, 10_000),
        np.cumsum(np.random.default_rng(9).normal(size=10_000)), np.sin(np.arange(10_000) / 700),
        switching(20_000, 1000, np.random.default_rng(10)),
    ],
)  # fmt: skip
def test_a_series_that_is_still_on_its_way_has_no_error(series):
    """Drifts, one switch between two states, a random walk, a few periods: no part of them looks like another."""
    assert series_mean(series).refusal.reason == Reason.SHORT_SERIES


@pytest.mark.parametrize("time", [5, 50])
def test_a_series_of_two_states_is_held_by_its_interval(time):
    found = [series_mean(switching(20_000, time, np.random.default_rng([11, time, seed]))) for seed in range(100)]
    given = [one for one in found if one.error]
    assert len(given) > 90
    assert np.mean([abs(one.mean) < t_quantile(one.degrees_of_freedom) * one.error for one in given]) > 0.87


def test_whole_numbers_truth_values_and_single_precision_are_series_too():
    rng = np.random.default_rng(12)
    for series in (rng.integers(0, 10, 10_000), rng.random(10_000) > 0.5, (1e5 + rng.normal(size=10_000)).astype("f4")):
        plain = series.astype(float)
        assert series_mean(series).error == pytest.approx(plain.std() / math.sqrt(plain.size), rel=0.1)


@pytest.mark.parametrize(
    "series",
    [
        np.arange(1000) == 500, np.random.default_rng(13).standard_cauchy(5000),
        np.exp(6 * np.random.default_rng(14).normal(size=5000)),
    ],
)  # fmt: skip
def test_a_mean_that_is_one_sample_has_no_error(series):
    """Its own spread says nothing: of such stretches of a hard-core dH/dlambda one interval in four holds the mean."""
    found = series_mean(series)
    assert (found.error, found.refusal.reason) == (None, Reason.HEAVY_TAIL)
    assert "of the variance" in found.refusal.sentence


def test_tails_of_other_distributions_have_an_error():
    rng = np.random.default_rng(15)
    for series in (rng.exponential(size=1000), rng.standard_t(4, size=1000), rng.random(1000) < 0.05):
        assert series_mean(series).error > 0
    refused = [series_mean(series).refusal for series in rng.normal(size=(200, 100))]
    assert Reason.HEAVY_TAIL not in [each.reason for each in refused if each]
