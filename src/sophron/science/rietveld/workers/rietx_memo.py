"""Orbits of sites, kept between two questions: rietx works each one out some twenty times a cycle, always the same.

Half of the time of a cycle with a cubic structure goes there. An orbit is a function of the group and the position
alone, so no number changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from rietx.crystallography import cif, structure_factor, symmetry, wyckoff

MOST = 4096

_work_out = symmetry.site_orbit
_kept: dict[Any, Any] = {}


def site_orbit(sg: Any, xyz: Any, *, tol: float = symmetry.SITE_TOL) -> Any:
    """As rietx's own."""
    key = (symmetry.group_key(sg), tuple(float(one) for one in np.asarray(xyz).reshape(3)), tol)
    if key not in _kept:
        if len(_kept) >= MOST:  # positions that moved are never asked for again
            _kept.clear()
        _kept[key] = _work_out(sg, xyz, tol=tol)
    return _kept[key]


def install() -> None:
    """Have rietx ask here."""
    for module in (symmetry, wyckoff, structure_factor, cif):
        module.site_orbit = site_orbit
