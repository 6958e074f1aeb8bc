"""Power of the homogeneity test: closed forms, and the frequency with which it really rejects."""

import math

import numpy as np
import pytest
from scipy import stats

from sophron.science.estimators.correlated_series import series_mean
from sophron.science.estimators.statistical_power import (
    CHANCE,
    Agreement,
    compare_two,
    detectable_shift,
    power,
)
from sophron.science.estimators.statistics import Estimated, homogeneity


def test_errors_that_are_known_make_a_z_test():
    test = compare_two(Estimated(10.0, 0.3), Estimated(11.0, 0.4))
    assert (test.difference, test.combined_error, test.degrees_of_freedom) == (-1.0, pytest.approx(0.5), None)
    assert test.z == pytest.approx(-2.0)
    assert test.p_value == pytest.approx(2 * stats.norm.sf(2))
    # The share of the other tail in the power is 1e-6.
    assert test.detectable_difference == pytest.approx((1.959964 + 0.841621) * 0.5 / 10.5, rel=1e-5)


def test_errors_of_few_values_make_welchs_test():
    one, other = np.array([9.1, 10.2, 10.9, 9.7]), np.array([10.5, 11.9, 11.1])
    both = [Estimated(each.mean(), each.std(ddof=1) / math.sqrt(each.size), each.size - 1) for each in (one, other)]
    test, exact = compare_two(*both), stats.ttest_ind(one, other, equal_var=False)
    assert test.p_value == pytest.approx(exact.pvalue)
    assert test.degrees_of_freedom == pytest.approx(exact.df)
    assert stats.norm.sf(abs(test.z)) == pytest.approx(exact.pvalue / 2)
    critical = stats.t.isf(0.025, exact.df)
    shift = test.detectable_difference * (one.mean() + other.mean()) / 2 / test.combined_error
    assert stats.nct.sf(critical, exact.df, shift) == pytest.approx(CHANCE, abs=1e-6)


def test_agreement_needs_power():
    assert compare_two(Estimated(10.0, 0.1), Estimated(10.1, 0.1)).agreement() is Agreement.AGREE
    assert compare_two(Estimated(10.0, 0.1), Estimated(12.0, 0.1)).agreement() is Agreement.DIFFER
    recorded = compare_two(Estimated(13.805, 0.470, 2), Estimated(19.211, 3.099, 2))
    assert recorded.agreement() is Agreement.CANNOT_TELL
    assert recorded.detectable_difference == pytest.approx(1.03, abs=0.01)
    assert recorded.agreement(1.1) is Agreement.AGREE
    assert math.isfinite(compare_two(Estimated(1.0, 1e-4), Estimated(2.0, 1e-4)).z)
    with pytest.raises(ValueError, match="positive"):
        compare_two(Estimated(1.0, 0.0), Estimated(1.0, 0.1))


def test_a_difference_is_found_as_often_as_stated():
    """Means of 10 values against a known one: 5 % without a difference, 80 % at the detectable one."""
    rng = np.random.default_rng(5)
    shift = compare_two(Estimated(1.0, 0.1 / math.sqrt(10), 9), Estimated(1.0, 0.02)).detectable_difference
    for truth, share in ((1.0, 0.05), (1.0 + shift, CHANCE)):
        means = truth + 0.1 * rng.normal(size=(2000, 10))
        known = 1.0 + 0.02 * rng.normal(size=2000)
        found = [
            compare_two(Estimated(each.mean(), each.std(ddof=1) / math.sqrt(10), 9), Estimated(other, 0.02)).p_value
            < 0.05
            for each, other in zip(means, known, strict=True)
        ]
        assert np.mean(found) == pytest.approx(share, abs=0.03)


def test_two_values_are_a_z_test():
    shift, errors = 0.7, [0.2, 0.3]
    z, critical = shift / math.hypot(*errors), stats.norm.isf(0.025)
    assert power(errors, shift, 0.05) == pytest.approx(stats.norm.sf(critical - z) + stats.norm.cdf(-critical - z))
    assert power(errors, 0.0, 0.05) == pytest.approx(0.05)


def test_the_stated_shift_is_found_as_often_as_stated():
    errors = np.array([0.1, 0.2, 0.15])
    shift = detectable_shift(errors, 0.01, 0.9)
    assert power(errors, shift, 0.01) == pytest.approx(0.9)
    rng, found = np.random.default_rng(7), []
    for place in range(3):
        values = rng.normal(scale=errors, size=(4000, 3))
        values[:, place] += shift
        found.append(np.mean([homogeneity(one, errors).p_value < 0.01 for one in values]))
    assert min(found) == pytest.approx(0.9, abs=4 * math.sqrt(0.09 / 4000))


def test_power_of_errors_of_few_values_is_that_of_the_f_test():
    errors, freedoms = [0.2, 0.3, 0.25], [4, 9, 6]
    assert power(errors, 0.0, 0.05, freedoms) == pytest.approx(0.05)
    assert power(errors, 1.0, 0.05, [1e7] * 3) == pytest.approx(power(errors, 1.0, 0.05), abs=1e-5)
    assert detectable_shift(errors, 0.05, freedoms=[1e7] * 3) == pytest.approx(detectable_shift(errors, 0.05), rel=1e-5)
    assert power(errors, detectable_shift(errors, 0.01, 0.8, freedoms), 0.01, freedoms) == pytest.approx(0.8)
    two = compare_two(Estimated(1.0, 0.2, 4), Estimated(1.0, 0.3, 9))
    assert detectable_shift([0.2, 0.3], 0.05, CHANCE, [4, 9]) == pytest.approx(two.detectable_difference, rel=1e-4)
    assert detectable_shift([0.1, 0.1], 0.001, freedoms=[1, 1]) > 6  # far beyond where ncfdtrinc ends


@pytest.mark.parametrize(("count", "freedom", "least"), [(2, 3, 0.85), (2, 9, 0.88), (3, 3, 0.85), (3, 9, 0.88)])
def test_a_shift_is_found_as_often_as_stated_by_errors_of_few_values(count, freedom, least):
    rng = np.random.default_rng([3, count, freedom])
    errors, freedoms = np.array([1.0, 1.0, 2.0])[:count], [freedom] * count
    values = errors * rng.normal(size=(2000, count))
    values[:, -1] += detectable_shift(errors, 0.05, 0.9, freedoms)
    stated = errors * np.sqrt(rng.chisquare(freedom, size=values.shape) / freedom)
    tests = [homogeneity(*each, freedoms) for each in zip(values, stated, strict=True)]
    assert least < np.mean([test.p_value < 0.05 for test in tests]) < 0.93


def test_three_published_values_that_were_said_to_agree_do_not():
    test = homogeneity([4.847, 4.798, 4.903], [0.012, 0.014, 0.018])
    assert test.chi2 == pytest.approx(21.5, abs=0.1)
    assert test.degrees_of_freedom == 2
    assert test.p_value < 3e-5


def first_order(rng: np.random.Generator, sets: int, samples: int, decay: float) -> np.ndarray:
    """Stationary AR(1) series of mean 0 and variance 1, (samples, sets)."""
    series = np.empty((samples, sets))
    series[0] = rng.normal(size=sets)
    for step, kick in enumerate(rng.normal(scale=math.sqrt(1 - decay**2), size=(samples - 1, sets)), 1):
        series[step] = decay * series[step - 1] + kick
    return series


@pytest.mark.parametrize("decay", [0.0, 0.9])
def test_values_that_agree_are_rejected_as_often_as_the_significance_says(decay):
    significance = 0.05
    series = first_order(np.random.default_rng(11), 2400, 2000, decay)
    means = [mean for mean in map(series_mean, series.T) if mean.error]
    trials = len(means) // 3
    assert trials > 700
    rejected = 0
    for trial in range(trials):
        three = means[3 * trial : 3 * trial + 3]
        rejected += homogeneity([one.mean for one in three], [one.error for one in three]).p_value < significance
    # About 105 independent samples a series at decay 0.9: the scatter of the error itself adds a little.
    assert rejected / trials == pytest.approx(significance, abs=0.025)


def test_a_shifted_series_is_found():
    series = first_order(np.random.default_rng(12), 300, 4000, 0.9)
    error = math.sqrt((1 + 0.9) / (1 - 0.9) / 4000)
    series[:, ::3] += detectable_shift([error] * 3, 0.05)
    means = [series_mean(column) for column in series.T]
    found = [
        homogeneity([one.mean for one in means[i : i + 3]], [one.error for one in means[i : i + 3]]).p_value < 0.05
        for i in range(0, 300, 3)
        if all(one.error for one in means[i : i + 3])
    ]
    assert np.mean(found) == pytest.approx(0.9, abs=0.12)


def test_the_error_is_that_of_another_estimator():
    timeseries = pytest.importorskip("pymbar.timeseries")
    column = first_order(np.random.default_rng(13), 1, 40_000, 0.9)[:, 0]
    exact = (1 + 0.9) / (1 - 0.9)
    assert series_mean(column).inefficiency == pytest.approx(exact, rel=0.15)
    assert timeseries.statistical_inefficiency(column) == pytest.approx(series_mean(column).inefficiency, rel=0.15)


@pytest.mark.parametrize("errors", [[0.1], [0.1, 0.0]])
def test_errors_that_allow_no_test_are_refused(errors):
    with pytest.raises(ValueError):
        power(errors, 0.1, 0.05)


def test_a_shift_of_many_errors_is_found_for_certain():
    errors, freedoms = [0.0016, 0.0016, 0.0017], [7987.0, 410.0, 1187.0]
    assert power(errors, 0.076, 0.01, freedoms) == pytest.approx(1.0)
    assert power(errors, 50.0, 0.01, freedoms) == pytest.approx(1.0)
