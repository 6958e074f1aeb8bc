import math

import numpy as np
import pytest

from sophron.science.estimators.rouse import (
    diffusion,
    ideal_time_ratios,
    mode_coordinates,
    relaxation,
    vector_autocorrelation,
)


def test_modes_are_the_eigenvectors_of_the_chain():
    beads = 7
    springs = 2 * np.eye(beads) - np.eye(beads, k=1) - np.eye(beads, k=-1)
    springs[0, 0] = springs[-1, -1] = 1
    rng = np.random.default_rng(1)
    positions = rng.normal(size=(4, beads, 3))
    modes = mode_coordinates(positions, beads - 1)
    pulled = mode_coordinates(springs @ positions, beads - 1)
    eigenvalues = 4 * np.sin(np.arange(1, beads) * math.pi / (2 * beads)) ** 2
    np.testing.assert_allclose(pulled, eigenvalues[:, None] * modes, atol=1e-12)


def test_vector_autocorrelation_is_the_mean_scalar_product():
    vectors = np.random.default_rng(2).normal(size=(50, 60, 3))
    found = vector_autocorrelation(vectors, 7)
    assert found[6] == pytest.approx((vectors[:-6] * vectors[6:]).sum(axis=2).mean())


def test_diffusion_of_free_walks():
    walks = np.cumsum(np.random.default_rng(4).normal(scale=0.4, size=(4000, 80, 3)), axis=0)
    drift = np.linspace(0, 500, 4000)[:, None, None]
    assert diffusion(walks + drift, 0.5, 5.0) == pytest.approx(0.4**2 / (2 * 0.5), rel=0.1)


@pytest.mark.parametrize("stretching", [0.6, 0.85, 1.0])
def test_stretched_exponential_is_found_exactly(stretching):
    times = 0.5 * np.arange(400)
    found = relaxation(2.0 * np.exp(-((times / 8.0) ** stretching)), 0.5)
    assert found.stretching == pytest.approx(stretching, rel=1e-5)
    assert found.time == pytest.approx(8.0 / stretching * math.gamma(1 / stretching), rel=1e-5)


def test_no_fit_where_the_run_is_short_or_frames_are_rare():
    assert relaxation(np.exp(-np.arange(100) / 100.0), 1.0) is None
    assert relaxation(np.exp(-np.arange(100) / 0.5), 1.0) is None


def test_diffusion_needs_time_and_company():
    walks = np.cumsum(np.random.default_rng(3).normal(size=(1000, 5, 3)), axis=0)
    assert diffusion(walks, 1.0, 200.0) is None
    assert diffusion(walks[:, :1], 1.0, 1.0) is None


def test_ideal_ratios_sum_to_the_continuum():
    assert ideal_time_ratios(10)[:2] == pytest.approx([1.0, (math.sin(math.pi / 20) / math.sin(math.pi / 10)) ** 2])
    assert ideal_time_ratios(1000).sum() == pytest.approx(math.pi**2 / 6, rel=0.01)
