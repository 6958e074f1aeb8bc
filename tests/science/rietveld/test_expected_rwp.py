"""What Rwp is expected, against many draws of counts, where truth and model are plain curves."""

import numpy as np
import pytest
import rwp_floor

from sophron.interfaces.rietveld import Curves, Fit, Rwp

X = np.linspace(10.0, 60.0, 2000)
TRUTH = 2.0 + 30.0 * np.exp(-(((X - 35.0) / 2.0) ** 2))
MODEL = 2.0 + 27.0 * np.exp(-(((X - 35.0) / 2.1) ** 2))


def fit_made_up(observed, calculated, rwp=10.0, expected=6.0):
    curves = Curves(X, observed, calculated, np.zeros_like(X), np.sqrt(calculated), {})
    return Fit(Rwp(rwp, "made_up"), 0.0, expected, 0.0, 1.0, X.size, 0, None, (), (), (), (), curves)


@pytest.mark.parametrize("longer", [1.0, 20.0])
def test_rwp_of_many_draws(longer):
    """No parameter is free, so a fit is the model itself."""
    floor = rwp_floor.floor(fit_made_up(TRUTH, MODEL), 60.0)
    rng = np.random.default_rng(3)
    draws = rng.poisson(longer * TRUTH, (400, X.size))
    weight = 1 / (longer * MODEL)
    squares = np.sum(weight * (draws - longer * MODEL) ** 2, axis=1) / np.sum(weight * draws**2.0, axis=1)
    mean = 100 * np.sqrt(squares).mean()
    assert floor.rwp_percent(60.0 * longer, 0) == pytest.approx(mean, rel=2e-3)


def test_the_floor_is_what_remains_of_endless_counting():
    floor = rwp_floor.floor(fit_made_up(TRUTH, MODEL), 60.0)
    assert 3 < floor.percent < 12
    assert floor.rwp_percent(1e9, 0) == pytest.approx(floor.percent, rel=1e-4)
    assert floor.rwp_percent(60.0, 50) < floor.rwp_percent(60.0, 0)
    assert rwp_floor.floor(fit_made_up(TRUTH, TRUTH), 60.0).percent == 0


def test_what_counting_does_not_explain():
    assert fit_made_up(TRUTH, MODEL, 10.0, 6.0).misfit_percent == pytest.approx(8.0)
    assert fit_made_up(TRUTH, MODEL, 5.9, 6.0).misfit_percent == 0.0
