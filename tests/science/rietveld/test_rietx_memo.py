"""Orbits that are kept are those that rietx works out."""

import numpy as np
import pytest

symmetry = pytest.importorskip("rietx.crystallography.symmetry")
from sophron.science.rietveld.workers import rietx_memo  # noqa: E402 - it imports rietx


@pytest.mark.parametrize("xyz", [(0.0, 0.0, 0.0), (0.125, 0.0, 0.25), (0.101, 0.1947, 0.2823)])
def test_an_orbit_is_worked_out_once_and_is_the_same(xyz, monkeypatch):
    worked_out = []
    monkeypatch.setattr(rietx_memo, "_kept", {})
    monkeypatch.setattr(rietx_memo, "_work_out", lambda *a, **k: worked_out.append(a) or symmetry.site_orbit(*a, **k))
    for group in ("I a -3 d", "I 4/m", "I a -3 d"):
        found = rietx_memo.site_orbit(symmetry.get_spacegroup(group), np.array(xyz))
        wanted = symmetry.site_orbit(symmetry.get_spacegroup(group), np.array(xyz))
        assert np.array_equal(found.rot, wanted.rot)
        assert np.array_equal(found.stabilizer, wanted.stabilizer)
        assert found.multiplicity == wanted.multiplicity
    assert len(worked_out) == 2
