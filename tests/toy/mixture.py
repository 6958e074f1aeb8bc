"""Two cubic phases in a simulated pattern: counts drawn from a model that is known, and the model refined to them."""

from pathlib import Path

import numpy as np
from crystals import CIF, SALT, SILICON

from sophron.interfaces.rietveld import (
    Background,
    Fit,
    Freed,
    Instrument,
    Pattern,
    Phase,
    Request,
    RietveldEngine,
    Setup,
)
from sophron.science.rietveld.refinement import Refinement

ANGLES = np.arange(25.0, 80.0, 0.02)
TRUE = {"cell/salt/a": 5.6421, "cell/Si/a": 5.4302, "displacement": 0.04}
START = (5.6404, 5.4318, 0.0)
"""300 ppm off."""

FREE = tuple(Freed(group) for group in ("scale", "background", "cell", "displacement"))
LIMIT_S = 300.0


def setup(counts: np.ndarray, salt: float, silicon: float, displacement: float) -> Setup:
    """The model. salt, silicon: cell edges in angstrom; displacement: of the specimen in mm."""
    phases = (Phase("salt", CIF.format(edge=salt, **SALT)), Phase("Si", CIF.format(edge=silicon, **SILICON)))
    instrument = Instrument((1.5406,), displacement_mm=displacement, profile_w=0.004, profile_x=0.02)
    return Setup(Pattern("simulated mixture", ANGLES, counts), phases, instrument, Background("chebyshev", 3, 100.0))


def expected(engine: RietveldEngine) -> np.ndarray:
    """Mean counts of the true model."""
    order = 300.0 + 2000.0 * np.exp(-(((ANGLES - 40) / 5) ** 2))  # of the scales
    return engine.calculate(engine.start(setup(order, *TRUE.values()), limit_s=LIMIT_S), ANGLES.tolist())


def drawn(mean: np.ndarray, seed: int) -> np.ndarray:
    """Poisson counts."""
    return np.random.default_rng(seed).poisson(mean).astype(float)


def refined(engine: RietveldEngine, counts: np.ndarray, folder: Path) -> Fit:
    """The last of two cycles from START; AssertionError where one does not converge."""
    refinement = Refinement.begin(engine, setup(counts, *START), folder)
    for free in (FREE[:2], FREE):
        cycle = refinement.refine(Request(free, limit_s=LIMIT_S), "cycle")
        assert cycle.ended == "converged", cycle.reason
    assert cycle.fit is not None
    return cycle.fit


def share(fit: Fit, name: str) -> tuple[float, float]:
    """Weight fraction of a phase, and its esd."""
    found = next(one for one in fit.phases if one.name == name)
    assert found.weight_fraction is not None
    assert found.weight_fraction_esd is not None
    return found.weight_fraction, found.weight_fraction_esd
