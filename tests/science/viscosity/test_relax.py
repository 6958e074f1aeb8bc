"""Relaxation: overlapping walks become a melt, and a lattice a liquid."""

import numpy as np
import pytest

from sophron.science.viscosity import build


def order(system):
    """Largest structure factor per bead on the reciprocal vectors of the lattice of 3 cells: 1 for the crystal."""
    vectors = 2 * np.pi * 3 / system.length * np.array([[1, 1, 1], [2, 0, 0], [0, 2, 0], [0, 0, 2]])
    return (abs(np.exp(1j * system.positions @ vectors.T).mean(axis=0)) ** 2).max()


def test_a_lattice_melts(liquid):
    built, relaxed = (
        build.read_positions(liquid.results["relax"].files["system"].parents[2] / stage / "work" / name, 1)
        for stage, name in (("relax", "system.data"), ("equilibrate", "system.data"))
    )
    assert order(build.lattice(108, 3.0, np.random.default_rng(0))) == pytest.approx(1.0)
    assert order(built) < 0.2
    assert order(relaxed) < 0.2


def test_chains_no_longer_overlap(melt):
    system = build.read_positions(melt.results["relax"].files["system"], 10)
    between = system.positions[:, None] - system.positions
    distances = np.linalg.norm(between - system.length * np.round(between / system.length), axis=-1) + 9 * np.eye(200)
    assert distances.min() > 0.75
    assert melt.results["relax"].result["bond_length_max"] < 1.3
    assert 3.0 < melt.results["relax"].result["pressure"] < 8.0


def test_chains_keep_their_shape(melt):
    before = melt.results["build"].result["internal_distance_ratio"]
    assert melt.results["relax"].result["internal_distance_ratio"] == pytest.approx(before, abs=0.25)


def test_it_repeats_to_the_byte(liquid, tmp_path):
    again = liquid.run(tmp_path, "relax")
    assert again.result == liquid.results["relax"].result
    assert again.files["system"].read_bytes() == liquid.results["relax"].files["system"].read_bytes()
