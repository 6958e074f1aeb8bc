"""The truth of the simulated ladder, calculated once."""

import pytest

from sophron.science.rietveld.simulated import series


@pytest.fixture(scope="session")
def ladder(engine):
    return series.truth(engine, series.series("ladder"))
