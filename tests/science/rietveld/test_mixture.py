"""Two phases in a simulated pattern: what went in comes out, for each under its own name."""

import numpy as np
import pytest
from crystals import CIF, SALT, SILICON

from sophron.interfaces.rietveld import Background, Freed, Instrument, Pattern, Phase, Request, Setup
from sophron.science.rietveld.refinement import Refinement

ANGLES = np.arange(25.0, 80.0, 0.02)
TRUE = {"cell/salt/a": 5.6421, "cell/Si/a": 5.4302, "displacement": 0.04}


def setup(counts, salt, silicon, displacement):
    phases = (Phase("salt", CIF.format(edge=salt, **SALT)), Phase("Si", CIF.format(edge=silicon, **SILICON)))
    instrument = Instrument((1.5406,), displacement_mm=displacement, profile_w=0.004, profile_x=0.02)
    return Setup(Pattern("simulated mixture", ANGLES, counts), phases, instrument, Background("chebyshev", 3, 100.0))


@pytest.fixture(scope="module")
def fit(engine, tmp_path_factory):
    """Counts of the true model with Poisson noise (seed 7), refined from cells that are 300 ppm off."""
    order = 300.0 + 2000.0 * np.exp(-(((ANGLES - 40) / 5) ** 2))  # of the scales
    true = engine.start(setup(order, *TRUE.values()), limit_s=300)
    counts = np.random.default_rng(7).poisson(engine.calculate(true, ANGLES.tolist(), limit_s=300)).astype(float)
    folder = tmp_path_factory.mktemp("mixture") / "one"
    refinement = Refinement.begin(engine, setup(counts, 5.6404, 5.4318, 0.0), folder)
    free = tuple(Freed(group) for group in ("scale", "background", "cell", "displacement"))
    refinement.refine(Request(free[:2], limit_s=300), "scale")
    cycle = refinement.refine(Request(free, limit_s=300), "cell")
    assert cycle.ended == "converged", cycle.reason
    return cycle.fit


def test_what_went_in_comes_out(fit):
    for name, value in TRUE.items():
        found = fit.parameter(name)
        assert abs(found.value - value) < 4 * found.esd_counting, name
    assert 0.9 < fit.gof < 1.2


def test_each_phase_has_its_own_lines_and_share(fit):
    assert [phase.name for phase in fit.phases] == ["salt", "Si"]
    assert sum(phase.weight_fraction for phase in fit.phases) == pytest.approx(1.0)
    ticks = fit.curves.ticks_deg
    assert ticks["Si"][0] == pytest.approx(2 * np.degrees(np.arcsin(1.5406 * np.sqrt(3) / 2 / 5.4302)), abs=0.05)
    assert ticks["salt"][0] == pytest.approx(2 * np.degrees(np.arcsin(1.5406 * np.sqrt(3) / 2 / 5.6421)), abs=0.05)
