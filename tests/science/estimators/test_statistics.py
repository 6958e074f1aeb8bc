import math

import numpy as np
import pytest
from scipy import stats

from sophron.science.estimators.statistics import (
    chi2_p_value,
    homogeneity,
    normal_error,
    replica_mean,
    t_interval,
    t_quantile,
    weighted_mean,
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


def test_runs_that_scatter_more_than_they_say_have_the_error_of_their_spread():
    assert replica_mean([1.0, 1.0], [0.1, 0.1]) == (1.0, pytest.approx(0.1 / math.sqrt(2)), None)
    assert replica_mean([1.0, 2.0], [0.1, 0.1]) == (1.5, pytest.approx(0.5), 1)
    assert replica_mean([1.0, 1.1, 1.2], [None, 0.1, 0.1]) == (pytest.approx(1.1), pytest.approx(0.1 / math.sqrt(3)), 2)
    assert replica_mean([1.0], [None]) == (1.0, None, None)
    assert normal_error(0.5, 1) == pytest.approx(0.5 * 12.7062 / 1.95996, rel=1e-5)
    assert normal_error(0.5, None) == 0.5
