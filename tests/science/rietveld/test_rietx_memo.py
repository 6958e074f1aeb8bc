"""What is kept between two questions is what rietx works out."""

import numpy as np
import pytest

symmetry = pytest.importorskip("rietx.crystallography.symmetry")
from sophron.science.rietveld.workers import rietx_cache  # noqa: E402 - it imports rietx


@pytest.fixture
def asked(monkeypatch):
    """How often rietx worked something out."""
    found = []
    monkeypatch.setattr(rietx_cache, "_kept", {})
    for name in ("_orbit", "_reflections"):
        own = getattr(rietx_cache, name)
        monkeypatch.setattr(rietx_cache, name, lambda *a, own=own, **k: found.append(a) or own(*a, **k))
    return found


@pytest.mark.parametrize("xyz", [(0.0, 0.0, 0.0), (0.125, 0.0, 0.25), (0.101, 0.1947, 0.2823)])
def test_an_orbit_is_worked_out_once_and_is_the_same(xyz, asked):
    for group in ("I a -3 d", "I 4/m", "I a -3 d"):
        found = rietx_cache.site_orbit(symmetry.get_spacegroup(group), np.array(xyz))
        wanted = symmetry.site_orbit(symmetry.get_spacegroup(group), np.array(xyz))
        assert np.array_equal(found.rot, wanted.rot)
        assert np.array_equal(found.stabilizer, wanted.stabilizer)
        assert found.multiplicity == wanted.multiplicity
    assert len(asked) == 2


def test_reflections_are_listed_once_a_cell(asked):
    for edge in (5.64, 5.65, 5.64):
        cell = (edge, edge, edge, 90.0, 90.0, 90.0)
        found = rietx_cache.generate_reflections("F m -3 m", cell, 1.54, two_theta_max=90.0, two_theta_min=20.0)
        wanted = symmetry.generate_reflections("F m -3 m", cell, 1.54, two_theta_max=90.0, two_theta_min=20.0)
        assert np.array_equal(found.hkl, wanted.hkl)
        assert np.array_equal(found.d, wanted.d)
        with pytest.raises(ValueError, match="read-only"):
            found.d[0] = 1.0
    assert len(asked) == 2
