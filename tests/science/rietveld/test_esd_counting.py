"""`esd_counting` is of counting alone in both engines: misfit does not enter it, whatever the GOF."""

import numpy as np
import pytest
from crystals import CIF, SALT

from sophron.interfaces.rietveld import Background, Freed, Instrument, Pattern, Phase, Request, Setup
from sophron.science.rietveld.refinement import Refinement

ANGLES = np.arange(25.0, 80.0, 0.02)
LIMIT_S = 300.0
FREE = tuple(Freed(group) for group in ("scale", "background", "cell"))


def setup(counts, sigma=None, edge=5.6421):
    phase = Phase("salt", CIF.format(edge=edge, **SALT))
    instrument = Instrument((1.5406,), profile_w=0.004, profile_x=0.02)
    return Setup(Pattern("salt", ANGLES, counts, sigma), (phase,), instrument, Background("chebyshev", 3, 100.0))


def counts_of(engine, height=200.0):
    """Poisson counts of the engine's own model, seed 7. With many more, wings that a cycle cuts off would show."""
    order = setup(100.0 + height * np.exp(-(((ANGLES - 40) / 5) ** 2)))
    expected = engine.calculate(engine.start(order, limit_s=LIMIT_S), ANGLES.tolist(), limit_s=LIMIT_S)
    return np.random.default_rng(7).poisson(expected).astype(float)


def fitted(engine, given, folder, values=None):
    refinement = Refinement.begin(engine, given, folder)
    for free in (FREE[:2], FREE, FREE):
        cycle = refinement.refine(Request(free, values=values or {}, limit_s=LIMIT_S), "cycle")
    assert cycle.ended == "converged", cycle.reason
    return cycle.fit


@pytest.mark.parametrize("name", ["engine", "gsas2"])
def test_misfit_is_not_in_it(name, request, tmp_path):
    """With half the standard deviations the GOF doubles and so do the weights: the esd is half, and not the same."""
    engine = request.getfixturevalue(name)
    counts = counts_of(engine)
    sigma = np.sqrt(np.maximum(counts, 1.0))
    right = fitted(engine, setup(counts, sigma), tmp_path / "right")
    doubled = fitted(engine, setup(counts, sigma / 2), tmp_path / "doubled")
    assert right.gof == pytest.approx(1.0, abs=0.1)
    assert doubled.gof == pytest.approx(2.0, abs=0.2)
    for parameter in ("scale/salt", "cell/salt/a", "background/0"):
        before, after = (fit.parameter(parameter).esd_counting for fit in (right, doubled))
        assert after == pytest.approx(before / 2, rel=0.1), parameter
    assert doubled.parameter("cell/salt/a").esd == pytest.approx(right.parameter("cell/salt/a").esd, rel=0.1)


def test_both_engines_agree(engine, gsas2, tmp_path):
    """GSAS-II begins with crystallites of 1 micrometre; here both have lines of the diffractometer alone."""
    counts = counts_of(engine)
    given = setup(counts, np.sqrt(np.maximum(counts, 1.0)) / 2)
    ours, theirs = (fitted(one, given, tmp_path / one.name, {"size/salt": 1e-5}) for one in (engine, gsas2))

    def relative(fit, name):
        found = fit.parameter(name)
        return found.esd_counting / (found.value if name.startswith("scale") else 1.0)  # scales are each engine's own

    for name in ("background/0", "background/1", "scale/salt", "cell/salt/a"):
        assert relative(theirs, name) == pytest.approx(relative(ours, name), rel=0.1), name
