"""Interactions that depend on a distance alone: what the guests without atoms feel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Potential = Callable[["NDArray[np.float64]"], "NDArray[np.float64]"]
"""Distance in Angstrom -> energy in kcal/mol."""


@dataclass(frozen=True)
class LennardJones:
    """4 epsilon ((sigma/r)^12 - (sigma/r)^6), in kcal/mol; sigma in Angstrom."""

    epsilon: float
    sigma: float

    def __call__(self, distance_a: NDArray[np.float64]) -> NDArray[np.float64]:
        """Energy at each distance; at distance 0 what it is at a tenth of sigma, which nothing reaches."""
        sixth = (self.sigma / np.maximum(distance_a, 0.1 * self.sigma)) ** 6
        return np.asarray(4 * self.epsilon * (sixth * sixth - sixth))
