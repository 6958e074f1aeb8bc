"""Simulated counts: as many as the series says, the same for the same seed, in the shares that went in."""

import numpy as np
import pytest

from sophron.interfaces.rietveld import Freed, Request
from sophron.records.errors import UserError
from sophron.science.rietveld.refinement import Refinement
from sophron.science.rietveld.simulated import series


def test_counts_are_as_many_as_the_series_says(ladder):
    assert ladder.rate_per_s.mean() == pytest.approx(0.0844)
    background = 0.0844 * series.background_shape(ladder.two_theta_deg)
    assert background.mean() / ladder.rate_per_s.mean() == pytest.approx(0.5)
    assert np.all(ladder.rate_per_s >= background)
    assert ladder.cell_angstrom == 12.94
    assert ladder.weight_fractions == {"LLZO": 0.999, "La2Zr2O7": 0.001}


def test_noise_is_poisson_and_of_its_seed(ladder):
    one = series.scan(ladder, 600, 1)
    assert one.name == "Simulated LLZO count-time ladder, 600 s, seed 1"
    assert one.sigma is None
    assert np.array_equal(one.intensity, series.scan(ladder, 600, 1).intensity)
    assert not np.array_equal(one.intensity, series.scan(ladder, 600, 2).intensity)
    mean = 600 * ladder.rate_per_s
    chi2 = float(np.mean((one.intensity - mean) ** 2 / mean))
    assert chi2 == pytest.approx(1.0, abs=5 * np.sqrt(2 / mean.size))
    assert np.all(one.intensity == np.round(one.intensity))
    with pytest.raises(UserError, match="0 s counts nothing"):
        series.scan(ladder, 0, 1)


def test_series_of_one_seed_have_noise_of_their_own(ladder):
    """Without an impurity the rates differ by next to nothing, and yet the counts do not go together."""
    control = series.Truth(series.series("control"), ladder.two_theta_deg, ladder.rate_per_s, 12.94, {"LLZO": 1.0})
    a, b = series.scan(ladder, 600, 1).intensity, series.scan(control, 600, 1).intensity
    mean = 600 * ladder.rate_per_s
    together = np.corrcoef((a - mean) / np.sqrt(mean), (b - mean) / np.sqrt(mean))[0, 1]
    assert abs(together) < 0.05


def test_the_weight_fractions_of_a_mixture_are_what_an_engine_finds_in_it(engine, tmp_path):
    of = series.series("mixture")
    truth = series.truth(engine, of)
    pattern = series.expected(truth, 1800)
    refinement = Refinement.begin(engine, series.setup(of, pattern), tmp_path / "refinement")
    free = tuple(Freed(group) for group in ("scale", "background"))
    rest = (Freed("cell", "LLZO"), Freed("displacement"), Freed("profile_x"), Freed("profile_w"))
    refinement.refine(Request(free, limit_s=300), "scale")
    fit = refinement.refine(Request(free + rest, limit_s=300), "cell").fit
    shares = {phase.name: phase.weight_fraction for phase in fit.phases}
    assert shares == pytest.approx(truth.weight_fractions, abs=0.002)
    assert fit.parameter("cell/LLZO/a").value == pytest.approx(12.94, rel=3e-6)
