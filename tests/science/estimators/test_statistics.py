import math

import numpy as np
import pytest
from scipy import stats

from sophron.science.estimators.statistics import (
    chi2_p_value,
    homogeneity,
    series_mean,
    statistical_inefficiency,
    t_interval,
    t_quantile,
    weighted_mean,
)

from .synthetic import exponential_noise


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.9, 0.98])
def test_inefficiency_of_a_first_order_process_is_known(decay):
    interval = 1.0 if decay == 0 else -math.log(decay)
    tau = 1e-3 if decay == 0 else 1.0
    series = exponential_noise(np.random.default_rng(1), 400_000, 1, interval, [(1.0, tau)])[:, 0]
    assert statistical_inefficiency(series) == pytest.approx((1 + decay) / (1 - decay), rel=0.06)


def test_error_of_the_mean_is_the_spread_of_means():
    series = exponential_noise(np.random.default_rng(2), 2000, 1000, 0.2, [(2.0, 1.0)])
    results = [series_mean(column) for column in series.T]
    spread = np.std([result.mean for result in results])
    assert spread == pytest.approx(math.sqrt(2.0 / math.tanh(0.1) / 2000), rel=0.06)
    assert np.mean([result.error for result in results]) == pytest.approx(spread, rel=0.08)
    within = np.mean([abs(result.mean) < 1.96 * result.error for result in results])
    assert 0.90 < within < 0.98


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


def test_t_interval_is_that_of_the_textbook():
    values = [4.1, 3.9, 4.4, 4.0, 4.6]
    interval = t_interval(values, 0.95)
    low, high = stats.t.interval(0.95, 4, loc=np.mean(values), scale=stats.sem(values))
    assert (interval.low, interval.high) == pytest.approx((low, high), rel=1e-12)
    assert interval.degrees_of_freedom == 4
    assert t_quantile(4) == pytest.approx(2.7764451051977987, rel=1e-9)
    with pytest.raises(ValueError):
        t_interval([1.0])


def test_weighted_mean_and_homogeneity():
    assert weighted_mean([1.0, 3.0], [1.0, 1.0]) == pytest.approx((2.0, math.sqrt(0.5)))
    assert weighted_mean([1.0, 4.0], [1.0, 2.0])[0] == pytest.approx(1.6)
    test = homogeneity([1.0, 3.0, 2.0], [1.0, 1.0, 1.0])
    assert (test.chi2, test.degrees_of_freedom) == (pytest.approx(2.0), 2)
    assert test.p_value == pytest.approx(math.exp(-1.0))
    assert chi2_p_value(21.5, 2) == pytest.approx(stats.chi2.sf(21.5, 2))
    assert chi2_p_value(1.0, 0) == 1.0
    with pytest.raises(ValueError):
        homogeneity([1.0, 2.0], [1.0, 0.0])
    with pytest.raises(ValueError):
        weighted_mean([1.0, 2.0], [1.0])
