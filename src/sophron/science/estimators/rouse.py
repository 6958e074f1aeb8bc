"""Rouse modes of chains: coordinates, relaxation times, diffusion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize

from sophron.science.estimators.autocorrelation import autocorrelation
from sophron.science.estimators.diffusion import mean_squared_displacement

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_CORRELATION = 0.1
"""A fit ends where the normalised autocorrelation falls below this: noise rules the rest."""
LEAST_POINTS = 4
"""Frames that a fit needs before the autocorrelation has fallen so far."""
COLUMNS_AT_ONCE = 48
"""Series that are transformed together, which bounds memory."""
DIFFUSION_LAGS = 24


@dataclass(frozen=True)
class Relaxation:
    """Stretched exponential exp(-(t/t0)^stretching); time: its integral, t0/stretching Gamma(1/stretching)."""

    time: float
    stretching: float


def mode_coordinates(positions: NDArray[np.float64], modes: int) -> NDArray[np.float64]:
    """Return the coordinates of modes 1 ... `modes` of chains, shape (..., beads, 3) -> (..., modes, 3).

    X_p = (1/N) sum_i r_i cos(p pi (i - 1/2) / N), i = 1 ... N: exact for a free chain of N beads (Verdier 1966,
    10.1063/1.1727841; Kopf, Duenweg and Paul 1997, 10.1063/1.474934).
    """
    beads = positions.shape[-2]
    index = np.arange(beads) + 0.5
    basis = np.cos(np.pi * np.outer(np.arange(1, modes + 1), index) / beads) / beads
    return np.asarray(np.einsum("pi,...ix->...px", basis, positions))


def vector_autocorrelation(vectors: NDArray[np.float64], lags: int) -> NDArray[np.float64]:
    """<v(0) . v(t)> of vectors, shape (frames, chains, 3), mean over chains -> (lags,)."""
    series = vectors.reshape(len(vectors), -1)
    total: NDArray[np.float64] = np.zeros(lags)
    for first in range(0, series.shape[1], COLUMNS_AT_ONCE):
        total += autocorrelation(series[:, first : first + COLUMNS_AT_ONCE], lags).sum(axis=1)
    return np.asarray(total / vectors.shape[1])


def relaxation(correlation: NDArray[np.float64], interval: float) -> Relaxation | None:
    """Stretched exponential through an autocorrelation, shape (lags,), down to `LEAST_CORRELATION` of its start.

    Least squares in the logarithm with weights that undo it; the integral is the relaxation time (Kalathi et al.
    2014, 10.1103/PhysRevE.90.052603). None if it does not fall so far, or within too few frames.
    """
    rho = correlation / correlation[0]
    below = np.flatnonzero(rho < LEAST_CORRELATION)
    if not below.size or below[0] <= LEAST_POINTS:
        return None
    times, values = interval * np.arange(1, below[0]), rho[1 : below[0]]
    start = (math.log(float(times[-1]) * 0.4), 0.0)

    def residual(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        scale, stretching = np.exp(parameters)
        return np.asarray(np.exp(-((times / scale) ** stretching)) - values)

    scale, stretching = np.exp(optimize.least_squares(residual, start, bounds=((-np.inf, -1.6), (np.inf, 0.7))).x)
    return Relaxation(float(scale / stretching * math.gamma(1.0 / stretching)), float(stretching))


def diffusion(centres: NDArray[np.float64], interval: float, shortest: float) -> float | None:
    """Return the diffusion coefficient of chains from their centres of mass, shape (frames, chains, 3).

    Slope / 6 of the mean squared displacement between lag `shortest` (when the chains have forgotten their shape) and
    a quarter of the run, relative to the common centre, whose removal is corrected for by 1 - 1/chains. None if
    that leaves less than a factor of two between the lags, or one chain only.
    """
    frames, chains = centres.shape[:2]
    first, last = math.ceil(shortest / interval), (frames - 1) // 4
    if chains < 2 or last < 2 * max(first, 1):
        return None
    relative = centres - centres.mean(axis=1, keepdims=True)
    lags = np.unique(np.linspace(max(first, 1), last, DIFFUSION_LAGS).astype(np.intp))
    slope = float(np.polyfit(lags * interval, mean_squared_displacement(relative, lags.tolist()), 1)[0])
    return float(slope / 6.0 / (1.0 - 1.0 / chains))


def ideal_time_ratios(beads: int) -> NDArray[np.float64]:
    """tau_p / tau_1 of an ideal chain, p = 1 ... beads - 1: (sin(pi/2N) / sin(p pi/2N))^2."""
    sines = np.sin(np.arange(1, beads) * np.pi / (2 * beads))
    return np.asarray((sines[0] / sines) ** 2)
