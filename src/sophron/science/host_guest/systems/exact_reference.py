"""The exact binding free energy of a guest whose only interaction depends on its distance: one integral."""

from __future__ import annotations

import math

import numpy as np

from sophron.science.estimators.restraints import STANDARD_VOLUME, rt
from sophron.science.host_guest.protocols.apr import Wall
from sophron.science.host_guest.protocols.lj_dimer import Potential

GRID = 200_001
"""Points of a table; halving them changes no answer below by 1e-6 kcal/mol (tests)."""


def binding(potential: Potential, site: float | Wall, temperature_k: float) -> float:
    """Return the exact standard binding free energy in kcal/mol: -RT ln(4 pi integral of r^2 exp(-U/RT) / V0).

    site: radius in Angstrom up to which the guest counts as bound, or the wall that keeps it there.
    """
    unit = rt(temperature_k)
    wall = site if isinstance(site, Wall) else None
    end_a = reach(wall, unit) if wall else float(site)  # type: ignore[arg-type]
    distances = np.linspace(0.0, end_a, GRID)
    energies = potential(distances)
    if wall:
        energies = energies + wall.k * np.maximum(distances - wall.start, 0.0) ** 2
    volume = 4 * math.pi * float(np.trapezoid(distances**2 * np.exp(-energies / unit), distances))
    return -unit * math.log(volume / STANDARD_VOLUME)


def reach(wall: Wall, unit: float) -> float:
    """Return where a wall has become impenetrable, in Angstrom. unit: kT in kcal/mol."""
    return wall.start + 10 * math.sqrt(unit / wall.k)
