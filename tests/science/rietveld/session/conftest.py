"""A simulated sample: table salt with a little silicon that may or may not be in it, Poisson counts of one seed."""

from functools import cache

import numpy as np
import pytest
from crystals import CIF, SALT, SILICON

from sophron.interfaces.rietveld import Background, Instrument, Pattern, Phase, Setup
from sophron.science.rietveld.session.sample import GivenPhase, Sample

ANGLES = np.arange(25.0, 70.0, 0.02)
INSTRUMENT = Instrument((1.5406,), profile_w=0.004, profile_x=0.02)


def phases(salt, silicon):
    return Phase("salt", CIF.format(edge=salt, **SALT)), Phase("Si", CIF.format(edge=silicon, **SILICON))


@pytest.fixture(scope="session")
def simulated(engine):
    """function(share, height) -> Sample: silicon has `share` of the intensity; salt's cell begins 300 ppm off."""

    def made(share, height):
        order = Pattern("order", ANGLES, 100.0 + height * np.exp(-(((ANGLES - 40) / 5) ** 2)))
        state = engine.start(
            Setup(order, phases(5.6421, 5.4302), INSTRUMENT, Background("chebyshev", 3, 100.0)), limit_s=300
        )
        structure = state.document["structure"]["phases"]
        structure[1]["scale"]["value"] *= share
        counts = np.random.default_rng(7).poisson(engine.calculate(state, ANGLES.tolist(), limit_s=300)).astype(float)
        salt, silicon = phases(5.6404, 5.4302)
        given = (GivenPhase(salt, "main"), GivenPhase(silicon, "candidate"))
        return Sample("rietx", Pattern("simulated salt", ANGLES, counts), given, INSTRUMENT)

    return cache(made)
