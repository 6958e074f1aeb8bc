"""The strongest peak of the structure factor: of crystals in any direction, of gases, and by the direct sum."""

import numpy as np
import pytest

from sophron.science.estimators.structure import HIGHEST, LOWEST, structure_peak

FCC = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])


def fcc(cells, density, noise):
    edge = (4 / density) ** (1 / 3)
    corners = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    positions = ((corners + FCC) * edge).reshape(-1, 3)
    return positions + np.random.default_rng(1).normal(0, noise, positions.shape), cells * edge


@pytest.mark.parametrize("cells", [4, 5])
def test_a_crystal_near_melting(cells):
    """Lindemann: each bead is off by a tenth of the distance of neighbours, 0.06 along an axis."""
    assert structure_peak(*fcc(cells, 1.0, 0.0)) == pytest.approx(1, abs=0.05)
    assert structure_peak(*fcc(cells, 1.0, 0.065)) == pytest.approx(np.exp(-(7**2) * 0.065**2), rel=0.1)


def test_beads_at_random_have_no_peak():
    positions = np.random.default_rng(2).uniform(0, 6.7, (256, 3))
    assert structure_peak(positions, 6.7) < 0.06


def test_it_is_the_direct_sum():
    positions = np.random.default_rng(3).uniform(-3, 9, (60, 3))  # images outside of the box are brought back
    length = 5.0
    grid = np.stack(np.meshgrid(*[np.arange(-8, 9)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    vectors = 2 * np.pi / length * grid
    sizes = np.linalg.norm(vectors, axis=1)
    vectors = vectors[(sizes >= LOWEST) & (sizes <= HIGHEST)]
    direct = np.abs(np.exp(1j * positions @ vectors.T).sum(axis=0)) ** 2
    assert structure_peak(positions, length) == pytest.approx(direct.max() / 60**2, rel=0.2)
