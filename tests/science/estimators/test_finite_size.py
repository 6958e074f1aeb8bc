"""Extrapolation in 1/length: exact data, errors that follow their statistics, bends that show."""

import numpy as np
import pytest

from sophron.science.estimators.finite_size import extrapolate

LENGTHS = [50.0, 100.0, 150.0, 300.0]


def line(intercept, slope, bend=0.0):
    return [1 / (intercept + slope / length + bend / length**2) for length in LENGTHS]


def test_exact_data_give_exact_numbers():
    values = line(0.1, 20.0)
    found = extrapolate(LENGTHS, values, [0.01 * value for value in values])
    assert found.intercept == pytest.approx(0.1)
    assert found.slope == pytest.approx(20.0)
    assert found.conductivity == pytest.approx(10.0)
    assert found.r_squared == pytest.approx(1.0)
    assert found.chi2 == pytest.approx(0.0, abs=1e-12)
    assert found.curvature_z == pytest.approx(0.0, abs=1e-6)
    assert found.ratio == pytest.approx(10.0 / values[-1])
    assert found.degrees_of_freedom == 2
    assert found.lower_bound == pytest.approx(values[-1] * (1 - 0.0196), rel=1e-3)
    assert found.refusal.startswith("extrapolated_far: the straight line ends at 1.7 times the longest box")
    assert f"The longest box is a lower bound: {found.lower_bound:.3g}" in found.refusal


def test_long_boxes_that_tell_the_forms_apart_give_a_conductivity():
    lengths = [100.0, 200.0, 400.0, 1600.0]
    values = np.array([1 / (0.1 + 20.0 / length) for length in lengths])
    found = extrapolate(lengths, values, 0.01 * values)
    assert found.refusal is None
    assert found.low < 10.0 < found.high
    loose = extrapolate(lengths, values, 0.25 * values)
    assert loose.refusal.startswith(("forms_differ: ", "no_intercept: "))


def test_boxes_lost_in_noise_leave_no_bound():
    values = line(0.1, 20.0)
    found = extrapolate(LENGTHS, values, [0.6 * value for value in values])
    assert found.lower_bound is None
    assert "There is no lower bound either: the 95 % interval of the longest box reaches 0" in found.refusal
    assert found.refusal.count("\n") == 0


def test_phonons_of_many_paths_are_never_read_too_low():
    """Boxes of 52 to 157 Angstrom of a crystal whose bulk is 507 W/(m K): 10 to 45 by the Boltzmann equation."""
    lengths, values = [52.0, 78.0, 104.0, 157.0], np.array([19.0, 26.6, 34.0, 46.0])
    rng = np.random.default_rng(8)
    for relative in (0.02, 0.05, 0.2):
        for _ in range(50):
            drawn = values * (1 + relative * rng.normal(size=4))
            assert extrapolate(lengths, np.abs(drawn), relative * values).refusal


def test_errors_are_those_of_repeated_measurements():
    rng, values = np.random.default_rng(7), np.array(line(0.1, 20.0))
    errors = 0.02 * values
    fits = [extrapolate(LENGTHS, values + rng.normal(size=4) * errors, errors) for _ in range(1000)]
    intercepts = np.array([fit.intercept for fit in fits])
    expected = extrapolate(LENGTHS, values, errors).intercept_error
    assert intercepts.std() == pytest.approx(expected, rel=0.1)
    assert intercepts.mean() == pytest.approx(0.1, abs=4 * expected / np.sqrt(1000))
    covered = np.mean([fit.low <= 10.0 and (fit.high is None or fit.high >= 10.0) for fit in fits])
    assert 0.95 <= covered <= 1.0  # the t interval is wide, and chi-square widens only


def test_a_bend_shows():
    values = line(0.05, 20.0, bend=-300.0)
    found = extrapolate(LENGTHS, values, [0.01 * value for value in values])
    assert found.curvature_z < -3


def test_scatter_beyond_the_errors_widens_them():
    values = line(0.1, 20.0)
    values[1] *= 1.2
    errors = [0.01 * value for value in values]
    found = extrapolate(LENGTHS, values, errors)
    assert found.p_value < 1e-3
    assert found.intercept_error > 3 * extrapolate(LENGTHS, line(0.1, 20.0), errors).intercept_error


def test_a_lost_intercept_is_refused():
    values = line(0.001, 20.0)
    found = extrapolate(LENGTHS, values, [0.05 * value for value in values])
    assert found.refusal.startswith("no_intercept: ")
    assert found.high is None


@pytest.mark.parametrize(
    ("lengths", "values", "errors"),
    [
        ([1.0, 2.0], [1.0, 2.0], [0.1, 0.1]),
        ([1.0, 3.0, 2.0], [1.0] * 3, [0.1] * 3),
        ([1.0, 2.0, 3.0], [1.0, -1.0, 1.0], [0.1] * 3),
        ([1.0, 2.0, 3.0], [1.0] * 3, [0.1, 0.0, 0.1]),
    ],
)
def test_what_cannot_be_fitted_is_an_error(lengths, values, errors):
    with pytest.raises(ValueError, match="needed"):
        extrapolate(lengths, values, errors)


def test_boxes_that_conduct_less_the_longer_they_are_give_no_bulk_value():
    """The line ends below what the longest box conducts at least: both cannot be said at once."""
    found = extrapolate([1.0, 2.0, 4.0], [10.0, 9.0, 8.5], [0.1] * 3)
    assert found.conductivity < found.lower_bound
    assert found.refusal.startswith("longer_conduct_less: the line ends at 8.12, below the longest box")
    flat = extrapolate(LENGTHS, [10.0, 9.98, 10.02, 9.99], [0.1] * 4)
    assert flat.refusal is None


def test_errors_that_differ_by_many_powers_of_ten_are_fitted():
    found = extrapolate([1.0, 2.0, 4.0, 8.0], [10.0, 11.0, 11.5, 11.8], [1e-9, 1.0, 1.0, 1.0])
    assert 1 / (found.intercept + found.slope) == pytest.approx(10.0, abs=1e-6)


@pytest.mark.parametrize(
    ("values", "errors"), [([1.0, 2.0, np.inf], [0.1] * 3), ([1.0, 2.0, 3.0], [0.1, 0.1, np.inf]), ([1.0, np.nan, 3.0], [0.1] * 3)]
)  # fmt: skip
def test_what_is_not_finite_is_not_extrapolated(values, errors):
    with pytest.raises(ValueError):
        extrapolate([1.0, 2.0, 3.0], values, errors)


@pytest.mark.parametrize(("ratio", "given"), [(1.299, True), (1.301, False)])
def test_a_ratio_of_13_tenths_is_the_last_that_is_given(ratio, given):
    lengths = [0.125, 0.5, 2.0]
    values = [1 / (1 + (ratio - 1) * 2.0 / length) for length in lengths]
    found = extrapolate(lengths, values, [1e-3 * value for value in values])
    assert found.ratio == pytest.approx(ratio)
    assert (found.refusal is None) is given
