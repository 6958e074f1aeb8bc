import math

import numpy as np
import pytest

from sophron.science.estimators.zero_shear import carreau, extrapolate

RATES = [0.005, 0.01, 0.02, 0.05, 0.1]


@pytest.mark.parametrize("time", [1.0, 15.0, 40.0])
@pytest.mark.parametrize("exponent", [0.35, 0.7])
def test_exact_data_give_the_exact_limit(time, exponent):
    values = carreau(np.array(RATES), 6.5, time, exponent)
    found = extrapolate(RATES, values, 5e-3 * values)
    assert found.viscosity == pytest.approx(6.5, rel=0.03)
    assert abs(found.viscosity - 6.5) < 2 * found.error
    assert found.chi2 < 1.0
    assert found.dof == 2
    assert found.reliable


@pytest.mark.parametrize(("time", "exponent"), [(5.0, 0.5), (30.0, 0.5), (60.0, 0.6)])
def test_errors_are_honest(time, exponent):
    rng = np.random.default_rng(4)
    truth = carreau(np.array(RATES), 6.5, time, exponent)
    scores = []
    for _ in range(100):
        found = extrapolate(RATES, truth + 0.03 * truth * rng.normal(size=5), 0.03 * truth)
        scores.append((found.viscosity - 6.5) / found.error)
    assert 0.88 <= np.mean(np.abs(scores) < 2) <= 1.0
    assert abs(np.mean(scores)) < 1.0  # forms that change slowly are allowed too, and lie higher
    assert np.std(scores) > 0.5


def test_rates_that_all_lie_in_the_power_law_do_not_carry_an_extrapolation():
    values = carreau(np.array(RATES), 50.0, 3500.0, 0.5)
    found = extrapolate(RATES, values, 0.03 * values)
    assert not found.reliable
    assert found.lower_bound == pytest.approx(0.94 * values[0])
    assert found.lower_bound < 50.0


def test_noise_bounds_nothing_from_below():
    assert extrapolate(RATES, [1.0, 0.8, -0.5, 0.2, 0.1], [0.6] * 5).lower_bound is None


def test_data_that_no_carreau_form_describes_are_not_reliable():
    found = extrapolate(RATES, [6.0, 5.0, 6.5, 4.0, 6.0], [0.05] * 5)
    assert found.p_value < 1e-6
    assert not found.reliable


def test_few_rates_are_never_reliable():
    found = extrapolate([0.01], [6.0], [0.1])
    assert not found.reliable
    assert found.dof == 0
    assert found.p_value == 1.0
    assert math.isfinite(found.viscosity)
    assert not extrapolate(RATES[:3], [6.0, 6.0, 6.0], [0.1] * 3).reliable


@pytest.mark.parametrize(
    ("rates", "errors"), [([0.1, 0.01], [1.0, 1.0]), ([0.01, 0.1], [1.0, 0.0]), ([0.01, 0.1], [1.0]), ([], [])]
)
def test_unusable_input(rates, errors):
    with pytest.raises(ValueError):
        extrapolate(rates, [1.0] * len(rates), errors)


@pytest.mark.parametrize(("time", "power"), [(30.0, 0.7), (8.0, 0.7)])
def test_a_melt_that_thins_as_cross_says_is_within_the_error(time, power):
    rng, truth = np.random.default_rng(5), 6.5 / (1 + (time * np.array(RATES)) ** power)
    found = [extrapolate(RATES, truth * (1 + 0.03 * rng.normal(size=5)), 0.03 * truth) for _ in range(60)]
    assert np.mean([abs(one.viscosity - 6.5) < 1.96 * one.error for one in found]) > 0.88


@pytest.mark.parametrize("first", [0.0, -0.1])
def test_rates_that_are_not_positive_are_refused(first):
    with pytest.raises(ValueError, match="rates must be positive"):
        extrapolate([first, 0.1, 0.2, 0.3], [3.0, 2.9, 2.8, 2.7], [0.1] * 4)


def test_viscosities_of_zero_or_that_thicken_are_unreliable_and_of_none_refused():
    assert not extrapolate([0.1, 0.2, 0.3, 0.4], [0.0, 2.9, 2.8, 2.7], [0.1] * 4).reliable
    assert not extrapolate([0.1, 0.2, 0.3, 0.4], [2.0, 2.2, 2.5, 2.9], [0.02] * 4).reliable
    with pytest.raises(ValueError, match="finite"):
        extrapolate([0.1, 0.2, 0.3, 0.4], [math.nan, 2.9, 2.8, 2.7], [0.1] * 4)
