"""The truth of the simulated ladder, calculated once."""

import pytest

from sophron.science.rietveld.simulated import generate, series


@pytest.fixture(scope="session")
def ladder(engine):
    return generate.truth(engine, series.series("ladder"))
