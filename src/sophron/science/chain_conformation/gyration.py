"""The radius of gyration: of configurations, and of a sampled series, with its autocorrelation in the error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sophron.science.estimators.correlated_series import SeriesMean
from sophron.science.estimators.statistics import replica_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Radius:
    """Root mean squared radius of gyration and its standard error, both in sigma.

    error, and degrees_of_freedom of it: None if the only run is too short for one.
    """

    value: float
    error: float | None
    degrees_of_freedom: float | None


def squared_radii(chains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared radius of gyration of each chain of equal beads: (chains, beads, 3) -> (chains,)."""
    centred = chains - chains.mean(axis=-2, keepdims=True)
    radii: NDArray[np.float64] = (centred**2).sum(axis=-1).mean(axis=-1)
    return radii


def radius(replicas: Sequence[SeriesMean]) -> Radius:
    """Compute it from the mean squared radius of independent replicas of equal length.

    The root is taken of the mean, and the error follows to first order: d sqrt(x) = dx / (2 sqrt(x)).
    """
    columns = zip(*((one.mean, one.error, one.degrees_of_freedom) for one in replicas), strict=True)
    square, error, freedom = replica_mean(*columns)
    return Radius(math.sqrt(square), error and error / (2 * math.sqrt(square)), freedom)
