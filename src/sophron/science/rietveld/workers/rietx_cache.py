"""Orbits of sites and lists of reflections, kept between two questions: rietx works them out again and again.

More than half of the time of a cycle with a cubic structure goes there. Both are functions of what they are asked
with alone, so no number changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rietx.crystallography import cif, structure_factor, symmetry, wyckoff
from rietx.model import forward

MOST = 4096

_orbit, _reflections = symmetry.site_orbit, symmetry.generate_reflections
_kept: dict[Any, Any] = {}


def _once(key: Any, work_out: Callable[[], Any]) -> Any:
    if key not in _kept:
        if len(_kept) >= MOST:  # positions and cells that moved are never asked for again
            _kept.clear()
        found = _kept[key] = work_out()
        for value in vars(found).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False  # shared from now on
    return _kept[key]


def site_orbit(sg: Any, xyz: Any, *, tol: float = symmetry.SITE_TOL) -> Any:
    """As rietx's own, with arrays that cannot be written to."""
    key = (symmetry.group_key(sg), tuple(float(one) for one in np.asarray(xyz).reshape(3)), tol)
    return _once(key, lambda: _orbit(sg, xyz, tol=tol))


def generate_reflections(sg_symbol: Any, cell: Any, wavelength: float, **limits: Any) -> Any:
    """As rietx's own, with arrays that cannot be written to."""
    group = symmetry.group_key(symmetry.as_group(sg_symbol))
    key = (group, tuple(float(one) for one in cell), float(wavelength), tuple(sorted(limits.items())))
    return _once(key, lambda: _reflections(sg_symbol, cell, wavelength, **limits))


def install() -> None:
    """Have rietx ask here."""
    for module in (symmetry, wyckoff, structure_factor, cif):
        module.site_orbit = site_orbit
    forward.generate_reflections = generate_reflections
