"""Two phases in a simulated pattern: what went in comes out, for each under its own name, with an esd that holds."""

import mixture
import numpy as np
import pytest
from scipy import stats

SEEDS = range(7, 15)


@pytest.fixture(scope="module")
def mean(engine):
    return mixture.expected(engine)


@pytest.fixture(scope="module")
def fits(engine, mean, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixture")
    return [mixture.refined(engine, mixture.drawn(mean, seed), folder / str(seed)) for seed in SEEDS]


def test_what_went_in_comes_out(fits):
    for name, value in mixture.TRUE.items():
        found = fits[0].parameter(name)
        assert abs(found.value - value) < 4 * found.esd_counting, name
    assert 0.9 < fits[0].gof < 1.2


def test_each_phase_has_its_own_lines_and_share(fits):
    fit = fits[0]
    assert [phase.name for phase in fit.phases] == ["salt", "Si"]
    assert sum(phase.weight_fraction for phase in fit.phases) == pytest.approx(1.0)
    ticks = fit.curves.ticks_deg
    assert ticks["Si"][0] == pytest.approx(2 * np.degrees(np.arcsin(1.5406 * np.sqrt(3) / 2 / 5.4302)), abs=0.05)
    assert ticks["salt"][0] == pytest.approx(2 * np.degrees(np.arcsin(1.5406 * np.sqrt(3) / 2 / 5.6421)), abs=0.05)


def test_the_esd_of_a_share_covers_how_it_scatters(engine, mean, fits, tmp_path):
    """Deviations over esds from the share that the mean counts give: squares that add up to chi2, one in 1,000 aside."""
    true, _ = mixture.share(mixture.refined(engine, mean, tmp_path / "mean"), "salt")
    deviations = [(value - true) / esd for value, esd in (mixture.share(fit, "salt") for fit in fits)]
    low, high = stats.chi2.ppf([0.0005, 0.9995], len(deviations))
    assert low < np.sum(np.square(deviations)) < high
