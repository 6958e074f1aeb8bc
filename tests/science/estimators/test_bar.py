import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from sophron.science.estimators.bar import compare


def gaussian(distance, count, rng, second=None):
    """Two unit harmonic wells `distance` apart: u_2 - u_1 of samples of either."""
    first, other = rng.normal(size=count), distance + rng.normal(size=second or count)
    return [0.5 * (x - distance) ** 2 - 0.5 * x**2 for x in (first, other)]


@pytest.mark.parametrize("distance", [0.0, 1.0, 3.0])
def test_equal_wells_have_no_difference(distance):
    pair = compare(*gaussian(distance, 20000, np.random.default_rng(4)))
    assert pair.difference == pytest.approx(0, abs=0.1)


def test_equal_windows_overlap_by_a_half():
    assert compare(np.zeros(100), np.zeros(100)).overlap == pytest.approx(0.5)


def test_a_constant_is_found_whatever_the_counts():
    pair = compare(np.full(30, 7.0), np.full(300, 7.0))
    assert pair.difference == pytest.approx(7.0, abs=1e-6)


def test_windows_far_apart_overlap_not_at_all_and_end_quickly():
    assert compare(*gaussian(60.0, 500, np.random.default_rng(5))).overlap < 1e-12


@settings(max_examples=40, deadline=None)
@given(st.floats(0, 5), st.integers(20, 200), st.integers(20, 200), st.integers(0, 2**31))
def test_bounds_and_the_equation_of_bennett(distance, first, second, seed):
    forth, back = gaussian(distance, first, np.random.default_rng(seed), second)
    pair = compare(forth, back)
    shift = math.log(first / second)
    left = special.expit(pair.difference - shift - forth).sum()
    assert left == pytest.approx(special.expit(shift + back - pair.difference).sum(), rel=1e-5, abs=1e-9)
    assert 0 <= pair.overlap <= 0.5
