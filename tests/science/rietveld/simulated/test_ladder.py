"""Three scans of one seed by the recipe that is matched to counts; bench/ladder.py has many seeds and every time."""

import json
from pathlib import Path

import phase_significance
import pytest
import rietveld_recipes
import rwp_floor

from sophron.science.rietveld.refinement import Refinement
from sophron.science.rietveld.simulated import series

RESULTS = Path(__file__).parents[4] / "bench" / "results" / "ladder.json"
SEED = 101
"""None of those that the thresholds were frozen with."""


@pytest.fixture(scope="module")
def refined(engine, ladder, tmp_path_factory):
    control = series.truth(engine, series.series("control"))
    found = {}
    for truth, time_s in ((ladder, 87), (ladder, 3600), (control, 3600)):
        folder = tmp_path_factory.mktemp("scan") / "refinement"
        pattern = series.scan(truth, time_s, SEED)
        refinement = Refinement.begin(engine, series.setup(truth.series, pattern), folder)
        climbed = rietveld_recipes.climb(refinement, "LLZO", rietveld_recipes.recipe(), limit_s=300)
        assert climbed.last.ended == "converged", climbed.last.reason
        found[truth.series.name, time_s] = climbed
    return found


@pytest.fixture(scope="module")
def floor():
    """As the bench found it without noise."""
    found = json.loads(RESULTS.read_text())["result"]["series"]["ladder"]["floor"]
    return rwp_floor.Floor(*(found[key] for key in ("time_s", "misfit", "signal", "variance")))


def test_the_cell_is_the_true_one(refined):
    for climbed in refined.values():
        cell = climbed.last.fit.parameter("cell/LLZO/a")
        assert abs(cell.value - 12.94) < 4 * cell.esd_counting


def test_rwp_is_as_expected_and_falls(refined, floor):
    short, long = (refined["ladder", time_s].last.fit for time_s in (87, 3600))
    assert short.rwp.percent == pytest.approx(floor.rwp_percent(87, short.variables), abs=2.0)
    assert long.rwp.percent == pytest.approx(floor.rwp_percent(3600, long.variables), abs=1.0)
    assert long.rwp < short.rwp


def test_the_impurity_is_claimed_where_the_counts_support_it_and_it_is_there(refined):
    found = {
        case: phase_significance.of_minor_phase(climbed.last.fit, "La2Zr2O7", phase_significance.thresholds())
        for case, climbed in refined.items()
    }
    assert found["ladder", 87].verdict != "claimed"
    assert found["ladder", 3600].verdict == "claimed"
    assert found["control", 3600].verdict != "claimed"
    share = found["ladder", 3600]
    assert abs(share.weight_fraction - 0.001) < 4 * share.weight_fraction_esd


def test_the_model_stays_constrained(refined):
    """X-rays hardly see lithium: at none of these counts are the atoms free."""
    for climbed in refined.values():
        assert climbed.freed == ("scale", "cell", "width")
        assert "u_iso/LLZO" in climbed.held["atoms"]
        assert climbed.last.fit.variables == 14


def test_few_counts_are_weighted_without_bias(refined):
    """The sum of the counts is that of the model: so it is at the maximum of the Poisson likelihood."""
    curves = refined["ladder", 87].last.fit.curves
    assert curves.calculated.sum() == pytest.approx(curves.observed.sum(), rel=2e-4)
