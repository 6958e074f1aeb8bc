import numpy as np
import pytest

from sophron.science.estimators.subsampling import independent

from .synthetic import exponential_noise


def test_white_noise_is_kept():
    kept = independent(np.random.default_rng(1).normal(size=(2, 1000)))
    assert kept.start < 100
    assert kept.indices.size > 750


def test_the_slowest_quantity_counts():
    rng = np.random.default_rng(2)
    fast, slow = (exponential_noise(rng, 20000, 1, 1.0, [(1.0, tau)])[:, 0] for tau in (0.5, 10.0))
    kept = independent(np.stack([fast, slow]))
    assert kept.inefficiency == pytest.approx(20.0, rel=0.25)
    assert kept.indices.size == pytest.approx((20000 - kept.start) / kept.inefficiency, abs=1)


def test_a_drift_at_the_start_is_cut():
    rng = np.random.default_rng(3)
    series = rng.normal(size=2000)
    series[:300] += np.linspace(15.0, 0.0, 300)
    kept = independent(series[None])
    assert 200 <= kept.start <= 500
    assert kept.indices[0] == kept.start
    assert np.all(np.diff(kept.indices) >= 1)
