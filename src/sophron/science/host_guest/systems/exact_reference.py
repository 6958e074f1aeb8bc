"""Systems without memory: a guest whose only interaction depends on its distance, sampled and summed exactly.

Distance and angles are then independent, so that their distributions can be tabulated and inverted: samples have no
correlation at all, and the answer is one integral.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sophron.science.estimators.mbar import Run
from sophron.science.estimators.restraints import STANDARD_VOLUME, rt
from sophron.science.host_guest.protocols.apr import Wall, Window, reduced
from sophron.science.host_guest.sampling.potentials import Potential

if TYPE_CHECKING:
    from numpy.typing import NDArray

GRID = 200_001
"""Points of a table; halving them changes no answer below by 1e-6 kcal/mol (tests)."""


def ideal_gas(distance_a: NDArray[np.float64]) -> NDArray[np.float64]:
    """No interaction."""
    return np.zeros_like(distance_a)


def binding(potential: Potential, site: float | Wall, temperature_k: float) -> float:
    """Return the exact standard binding free energy in kcal/mol: -RT ln(4 pi integral of r^2 exp(-U/RT) / V0).

    site: radius in Angstrom up to which the guest counts as bound, or the wall that keeps it there.
    """
    unit = rt(temperature_k)
    wall = site if isinstance(site, Wall) else None
    reach = _reach(wall, unit) if wall else float(site)  # type: ignore[arg-type]
    distances = np.linspace(0.0, reach, GRID)
    energies = potential(distances)
    if wall:
        energies = energies + wall.k * np.maximum(distances - wall.start, 0.0) ** 2
    volume = 4 * math.pi * float(np.trapezoid(distances**2 * np.exp(-energies / unit), distances))
    return -unit * math.log(volume / STANDARD_VOLUME)


def sample(windows: Sequence[Window], potential: Potential, temperature_k: float, samples: int, seed: int) -> list[Run]:
    """Return one run of independent samples of each window."""
    runs = []
    for place, window in enumerate(windows):
        source = np.random.default_rng([seed, place])
        coordinates = _draw(window, potential, rt(temperature_k), samples, source)
        runs.append(Run(place, reduced(windows, coordinates, temperature_k), coordinates))
    return runs


def _draw(
    window: Window, potential: Potential, unit: float, samples: int, source: np.random.Generator
) -> NDArray[np.float64]:
    """Distance in Angstrom, theta and beta in degrees, shape (3, samples)."""
    k = window.strength * window.frame.distance.k
    reach = _reach(window.wall, unit) if window.wall else window.frame.distance.target + 10 * math.sqrt(unit / k)
    distances = np.linspace(0.0, reach, GRID)
    weights = distances**2 * np.exp(-(potential(distances) + window.radial(distances)) / unit)
    drawn = [_inverted(distances, weights, source.random(samples))]
    angles = np.linspace(0.0, 180.0, GRID)
    for restraint in (window.frame.theta, window.frame.beta):
        weights = np.sin(np.radians(angles)) * np.exp(-window.angular(restraint, angles) / unit)
        drawn.append(_inverted(angles, weights, source.random(samples)))
    return np.asarray(drawn)


def _reach(wall: Wall, unit: float) -> float:
    """Where a wall has become impenetrable, in Angstrom."""
    return wall.start + 10 * math.sqrt(unit / wall.k)


def _inverted(
    grid: NDArray[np.float64], weights: NDArray[np.float64], uniform: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Values distributed as `weights` over `grid`."""
    sums = np.concatenate([[0.0], np.cumsum(0.5 * (weights[1:] + weights[:-1]))])
    return np.interp(uniform, sums / sums[-1], grid)
