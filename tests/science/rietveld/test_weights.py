"""Weights of few counts, where the exact answer is known: a flat background of Poisson counts is fitted by its mean."""

import numpy as np
import pytest
import rietveld_recipes

from sophron.interfaces.rietveld import Background, Freed, Instrument, Pattern, Phase, Request, Setup
from sophron.science.rietveld.refinement import Refinement

MEAN = 3.7
ANGLES = np.arange(20.0, 60.0, 0.02)
CIF = """data_far
_space_group_name_H-M_alt 'P m -3 m'
_cell_length_a 1.0
_cell_length_b 1.0
_cell_length_c 1.0
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
Po1 Po 0 0 0
"""
"""Its first line is at 100 degrees: none of it is in the pattern."""


@pytest.fixture(scope="module")
def flat():
    counts = np.random.default_rng(11).poisson(MEAN, ANGLES.size).astype(float)
    return Pattern("simulated flat background", ANGLES, counts)


def background(engine, pattern, folder, fit):
    setup = Setup(pattern, (Phase("far", CIF),), Instrument((1.5406,)), Background(count=1, start=1.0))
    refinement = Refinement.begin(engine, setup, folder)
    cycle = fit(refinement, Request((Freed("background"),), limit_s=300))
    assert cycle.ended == "converged", cycle.reason
    return cycle.fit.parameter("background/0")


def test_the_background_is_the_mean_of_the_counts(engine, flat, tmp_path):
    def settled(refinement, request):
        refinement.pattern = rietveld_recipes.even_weights(refinement.pattern)
        return rietveld_recipes.settle(refinement, request, "flat")

    found = background(engine, flat, tmp_path / "settled", settled)
    assert found.value == pytest.approx(flat.intensity.mean(), rel=1e-6)
    poisson = np.sqrt(flat.intensity.mean() / flat.intensity.size)
    assert found.esd_counting == pytest.approx(poisson, rel=0.05)


def test_weights_of_the_counts_themselves_are_biased_by_a_quarter(engine, flat, tmp_path):
    found = background(engine, flat, tmp_path / "raw", lambda refinement, request: refinement.refine(request, "raw"))
    variance = np.maximum(flat.intensity, 1.0)
    assert found.value == pytest.approx(np.sum(flat.intensity / variance) / np.sum(1 / variance), rel=1e-6)
    assert found.value < 0.8 * MEAN


def test_settling_comes_back_from_biased_weights(engine, flat, tmp_path):
    found = background(
        engine, flat, tmp_path / "from-raw", lambda r, request: rietveld_recipes.settle(r, request, "flat")
    )
    assert found.value == pytest.approx(flat.intensity.mean(), rel=1e-6)
