import math

import numpy as np
import pytest
from scipy import stats

from sophron.science.estimators.statistical_power import Agreement, compare_two
from sophron.science.estimators.statistics import (
    Estimated,
    chi2_p_value,
    homogeneity,
    normal_error,
    pooled_mean,
    replica_mean,
    t_interval,
    t_quantile,
)


def test_t_interval_is_that_of_the_textbook():
    values = [4.1, 3.9, 4.4, 4.0, 4.6]
    interval = t_interval(values, 0.95)
    low, high = stats.t.interval(0.95, 4, loc=np.mean(values), scale=stats.sem(values))
    assert (interval.low, interval.high) == pytest.approx((low, high), rel=1e-12)
    assert interval.degrees_of_freedom == 4
    assert t_quantile(4) == pytest.approx(2.7764451051977987, rel=1e-9)
    with pytest.raises(ValueError):
        t_interval([1.0])


def test_errors_that_are_known_weight_the_mean_and_make_a_chi_square_test():
    even = pooled_mean([1.0, 3.0], [1.0, 1.0])
    assert (even.value, even.error, even.degrees_of_freedom) == (2.0, pytest.approx(math.sqrt(0.5)), None)
    assert pooled_mean([1.0, 4.0], [1.0, 2.0]).value == pytest.approx(1.6)
    test = homogeneity([1.0, 3.0, 2.0], [1.0, 1.0, 1.0])
    assert (test.chi2, test.degrees_of_freedom) == (pytest.approx(2.0), 2)
    assert (test.f_statistic, test.error_degrees_of_freedom) == (pytest.approx(1.0), None)
    assert homogeneity([1.0, 3.0, 2.0], [1.0, 1.0, 1.0], [math.inf] * 3) == test
    assert homogeneity([1.0, 3.0, 2.0], [1.0, 1.0, 1.0], [1e9] * 3).p_value == pytest.approx(test.p_value)
    assert homogeneity([1.0], [1.0], [3]).p_value == 1.0
    assert test.p_value == pytest.approx(math.exp(-1.0))
    assert chi2_p_value(21.5, 2) == pytest.approx(stats.chi2.sf(21.5, 2))
    assert chi2_p_value(1.0, 0) == 1.0
    with pytest.raises(ValueError):
        homogeneity([1.0, 2.0], [1.0, 0.0])
    with pytest.raises(ValueError):
        pooled_mean([1.0, 2.0], [1.0])


def of_groups(groups: list[list[float]]) -> tuple[list[float], list[float], list[int]]:
    """Means, standard errors and their degrees of freedom."""
    return [np.mean(one) for one in groups], [stats.sem(one) for one in groups], [len(one) - 1 for one in groups]


def test_errors_of_few_values_make_welchs_analysis_of_variance():
    groups = [[27.2, 31.4, 29.0, 30.6], [22.1, 25.0, 26.9], [18.5, 32.0, 24.4, 21.3, 29.9]]
    test = homogeneity(*of_groups(groups))
    exact = stats.f_oneway(*groups, equal_var=False)
    assert (test.f_statistic, test.p_value) == (pytest.approx(exact.statistic), pytest.approx(exact.pvalue))
    pair = homogeneity(*of_groups(groups[:2]))
    welch = stats.ttest_ind(*groups[:2], equal_var=False)
    assert pair.p_value == pytest.approx(welch.pvalue)
    assert pair.error_degrees_of_freedom == pytest.approx(welch.df)
    assert pair.f_statistic == pytest.approx(welch.statistic**2)


def test_two_short_replicas_each_do_not_differ_by_chance():
    """Two values 7 errors apart: 1e-10 if the errors were known, nothing remarkable with 1 degree of freedom each."""
    errors = [0.1, 0.1]
    assert homogeneity([1.0, 2.0], errors).p_value < 1e-10
    assert homogeneity([1.0, 2.0], errors, [1, 1]).p_value == pytest.approx(2 * stats.t.sf(10 / math.sqrt(2), 2))


@pytest.mark.parametrize("freedom", [1, 2, 9])
@pytest.mark.parametrize("count", [2, 3])
def test_values_with_one_truth_differ_as_often_as_the_significance_says(count, freedom):
    rng = np.random.default_rng([count, freedom])
    errors = np.array([1.0, 0.5, 2.0])[:count]
    values = errors * rng.normal(size=(2000, count))
    stated = errors * np.sqrt(rng.chisquare(freedom, size=values.shape) / freedom)
    tests = [homogeneity(*each, [freedom] * count) for each in zip(values, stated, strict=True)]
    assert 0.015 < np.mean([test.p_value < 0.05 for test in tests]) < 0.07
    pooled = [pooled_mean(*each, [freedom] * count) for each in zip(values, stated, strict=True)]
    held = [abs(one.value) <= t_quantile(one.degrees_of_freedom) * one.error for one in pooled]
    assert 0.93 < np.mean(held) < 0.99


def test_runs_that_scatter_more_than_they_say_have_the_error_of_their_spread():
    assert replica_mean([1.0, 1.0], [0.1, 0.1]) == (1.0, pytest.approx(0.1 / math.sqrt(2)), None)
    assert replica_mean([1.0, 2.0], [0.1, 0.1]) == (1.5, pytest.approx(0.5), 1)
    assert replica_mean([1.0, 1.1, 1.2], [None, 0.1, 0.1]) == (pytest.approx(1.1), pytest.approx(0.1 / math.sqrt(3)), 2)
    assert replica_mean([1.0], [None]) == (1.0, None, None)
    error, freedom = replica_mean([1.0, 1.0], [0.1, 0.2], [4, 9])[1:]
    assert error == pytest.approx(math.hypot(0.1, 0.2) / 2)
    assert freedom == pytest.approx(0.05**2 / (0.01**2 / 4 + 0.04**2 / 9))
    assert replica_mean([1.0, 1.3], [0.1, 0.1], [1, 1])[2] == pytest.approx(2.0)  # not said to differ
    assert normal_error(0.5, 1) == pytest.approx(0.5 * 12.7062 / 1.95996, rel=1e-5)
    assert normal_error(0.5, None) == 0.5


@pytest.mark.parametrize(
    ("values", "errors"), [([1.0, math.nan], [0.1, 0.1]), ([1.0, 2.0], [0.1, math.inf]), ([1.0, 2.0], [0.1, math.nan])]
)
def test_what_is_not_finite_agrees_with_nothing(values, errors):
    """A p-value that is not a number is not below any significance."""
    for judge in (homogeneity, pooled_mean):
        with pytest.raises(ValueError, match="errors must be"):
            judge(values, errors, [5, 5])
    with pytest.raises(ValueError, match="errors must be"):
        compare_two(*(Estimated(*pair) for pair in zip(values, errors, strict=True)))
    with pytest.raises(ValueError, match="finite"):
        t_interval([*values, math.nan])


def test_two_zeros_have_no_relative_difference():
    test = compare_two(Estimated(0.0, 1.0), Estimated(0.0, 1.0))
    assert (test.p_value, test.agreement()) == (1.0, Agreement.CANNOT_TELL)


def test_one_error_that_is_far_smaller_than_the_others_takes_the_mean():
    mean = pooled_mean([1.0, 2.0, 3.0], [1e-9, 1.0, 1.0], [39, 39, 39])
    assert (mean.value, mean.error) == pytest.approx((1.0, 1e-9))
