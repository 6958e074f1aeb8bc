import math

import numpy as np
import pytest

from sophron.science.estimators.diffusion import (
    EinsteinFit,
    einstein,
    mean_squared_displacement,
    of_infinite_box,
)
from sophron.science.estimators.refusal import Reason
from sophron.science.estimators.statistics import Estimated, t_quantile

LAGS = list(range(4, 24))
TIMES = 0.5 * np.array(LAGS)
TRUTH = 0.04


def walks(rng, replicas, frames=200, particles=40):
    """Mean squared displacements, (replicas, lags), of free walks whose diffusion coefficient is `TRUTH`."""
    step = math.sqrt(2 * TRUTH * 0.5)
    positions = np.cumsum(rng.normal(scale=step, size=(replicas, frames, particles, 3)), axis=1)
    return np.stack([mean_squared_displacement(one, LAGS) for one in positions])


def test_mean_squared_displacement_is_the_mean_over_pairs():
    positions = np.random.default_rng(1).normal(size=(9, 5, 3))
    pairs = [((positions[at + 4] - positions[at]) ** 2).sum() / 5 for at in range(5)]
    assert mean_squared_displacement(positions, [4]) == pytest.approx([np.mean(pairs)])


def test_an_exact_line_is_found_with_whatever_stands_before_it():
    curves = np.array([6 * d * TIMES + 0.07 for d in (0.03, 0.04, 0.05)])
    fit = einstein(TIMES, curves)
    assert fit.coefficient.value == pytest.approx(0.04)
    assert fit.coefficient.error == pytest.approx(0.01 / math.sqrt(3))
    assert fit.coefficient.degrees_of_freedom == 2
    assert fit.bend == pytest.approx(0, abs=1e-12)


def test_intervals_hold_the_truth_as_often_as_they_say():
    rng, held = np.random.default_rng(2), []
    for _ in range(300):
        fit = einstein(TIMES, walks(rng, 4))
        if isinstance(fit, EinsteinFit):
            half = t_quantile(3) * fit.coefficient.error
            held.append(abs(fit.coefficient.value - TRUTH) < half)
    assert len(held) > 270
    assert 0.92 < np.mean(held) < 0.985  # 0.95 within 2.6 standard errors of 0.0126


def test_walks_of_known_diffusion():
    fit = einstein(TIMES, walks(np.random.default_rng(3), 12, frames=1000))
    assert abs(fit.coefficient.value - TRUTH) < 3 * fit.coefficient.error
    assert fit.coefficient.error < 0.03 * TRUTH


@pytest.mark.parametrize(
    ("power", "word"), [pytest.param(2.0, "+", id="ballistic"), pytest.param(0.5, "-", id="subdiffusive")]
)
def test_what_is_not_diffusive_is_refused(power, word):
    speeds = np.random.default_rng(4).normal(1.0, 0.02, size=(6, 1))
    refused = einstein(TIMES, speeds * TIMES**power)
    assert refused.reason is Reason.NOT_LINEAR
    assert f"changes by {word}" in refused.sentence


def test_a_solid_is_refused():
    """Beads that rattle about their sites: the displacement is large and does not grow."""
    rattle = np.random.default_rng(5).normal(scale=0.1, size=(4, 200, 40, 3))
    curves = np.stack([mean_squared_displacement(one, LAGS) for one in rattle])
    assert einstein(TIMES, curves).reason is Reason.NOISE


def test_one_replica_has_no_error_and_two_noisy_ones_do_not_tell():
    assert einstein(TIMES, walks(np.random.default_rng(6), 1)).reason is Reason.NO_ERROR
    noisy = np.array([6 * d * TIMES + bend * TIMES**2 for d, bend in ((0.04, 0.002), (0.041, -0.002))])
    assert einstein(TIMES, noisy).reason is Reason.NOISE


def test_the_drag_of_periodic_images():
    """1/eta and 1/L: the coefficients of boxes of two lengths fall on one line that ends at that of the infinite box."""
    eta = Estimated(3.0, 0.3, 7)
    drag = 2.837297 * 0.7 / (6 * math.pi * 3.0)
    for length in (5.0, 10.0):
        found = of_infinite_box(Estimated(0.03 - drag / length, 0.0004, 3), eta, 0.7, length)
        assert found.value == pytest.approx(0.03)
        assert found.error == pytest.approx(math.hypot(0.0004, 0.1 * drag / length))
    assert 3 < found.degrees_of_freedom < 10
    exact = of_infinite_box(Estimated(0.02, 0.001), Estimated(3.0, 0.1), 0.7, 5.0)
    assert exact.degrees_of_freedom is None
