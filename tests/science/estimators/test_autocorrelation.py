import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophron.science.estimators import autocorrelation as module
from sophron.science.estimators.autocorrelation import StreamedAutocorrelation, autocorrelation


def direct(series, lags):
    count = len(series)
    return np.array([(series[: count - lag] * series[lag:]).sum(axis=0) / (count - lag) for lag in range(lags)])


@pytest.mark.parametrize(("samples", "lags"), [(10, 1), (10, 10), (1000, 3), (100_000, 700), (70_000, 40_000)])
def test_equals_the_direct_sum(samples, lags):
    series = np.random.default_rng(1).normal(size=(samples, 2)) + np.array([0.0, 3.0])
    found = autocorrelation(series, lags)
    some = np.unique(np.append(np.linspace(0, lags - 1, 60).astype(int), lags - 1))
    expected = np.array([(series[: samples - lag] * series[lag:]).mean(axis=0) for lag in some])
    assert found.shape == (lags, 2)
    assert np.abs(found[some] - expected).max() < 1e-10


@settings(max_examples=60, deadline=None)
@given(
    cuts=st.lists(st.integers(0, 400), max_size=8),
    lags=st.integers(1, 60),
    seed=st.integers(0, 2**32 - 1),
)
def test_pieces_of_any_size_give_the_whole(cuts, lags, seed):
    series = np.random.default_rng(seed).normal(size=(400, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LEAST_TRANSFORM", 64)
        streamed = StreamedAutocorrelation(lags, 3)
        for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), 400], strict=True):
            streamed.add(series[start:stop])
    assert np.abs(streamed.result() - direct(series, lags)).max() < 1e-12


def test_too_few_samples_for_the_lags():
    streamed = StreamedAutocorrelation(5, 1)
    streamed.add(np.ones((4, 1)))
    with pytest.raises(ValueError, match="5 lags need"):
        streamed.result()
    with pytest.raises(ValueError):
        StreamedAutocorrelation(0, 1)
