"""Diffusion coefficient by Einstein's relation: slope of the mean squared displacement of independent replicas."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sophron.science.estimators.refusal import Reason, Refusal
from sophron.science.estimators.statistics import Estimated, satterthwaite, t_interval, t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

LEAST_LAGS = 8
"""Fewest lags in the window: four in each half."""
LARGEST_BEND = 0.1
"""Largest difference of the slopes of both halves of the window, over the slope, that is still a straight line."""
LARGEST_DOUBT = 0.5
"""Widest half of the 95 % interval of that difference; a wider one could hide ballistic motion."""
BEND_CONFIDENCE = 0.99
LATTICE_SUM = 2.837297
"""Of a cubic periodic box: Duenweg and Kremer 1993, 10.1063/1.465445; Yeh and Hummer 2004, 10.1021/jp0477147."""


@dataclass(frozen=True)
class EinsteinFit:
    """The line through the mean squared displacement: coefficient (slope / 6) with its error over replicas.

    bend: slope in the second half of the window less that in the first, over the slope; bend_error: standard error.
    """

    coefficient: Estimated
    bend: float
    bend_error: float


def mean_squared_displacement(positions: NDArray[np.float64], lags: Sequence[int]) -> NDArray[np.float64]:
    """Mean of |r(t + lag) - r(t)|^2 over particles and times, positions (frames, particles, 3) -> (lags,).

    Positions must be unwrapped. Every pair of frames counts: those of one replica are not independent.
    """
    return np.array([float(((positions[lag:] - positions[:-lag]) ** 2).sum(axis=2).mean()) for lag in lags])


def einstein(times: NDArray[np.float64], curves: NDArray[np.float64]) -> EinsteinFit | Refusal:
    """Fit a straight line to each replica's mean squared displacement, (replicas, lags), at `times`, (lags,).

    Least squares with equal weights, which is unbiased at any correlation of the lags; the error is the spread of the
    replicas, which alone are independent. Refused: fewer than two replicas; a curve that bends, as that of ballistic or
    hindered motion; noise that could hide a bend, or a slope of zero.
    """
    if len(curves) < 2:
        return Refusal(Reason.NO_ERROR, "one replica has no error; run two or more")
    slopes = _slopes(times, curves)
    middle = (times[0] + times[-1]) / 2
    early, late = times <= middle, times >= middle
    bends = _slopes(times[late], curves[:, late]) - _slopes(times[early], curves[:, early])
    slope, bend = t_interval(slopes), t_interval(bends)
    if slope.low <= 0:
        return Refusal(Reason.NOISE, "the 95 % interval of the slope holds zero; nothing is seen to diffuse")
    share, error = bend.mean / slope.mean, bend.standard_error / slope.mean
    if abs(share) > max(LARGEST_BEND, t_quantile(bend.degrees_of_freedom, BEND_CONFIDENCE) * error):
        return Refusal(
            Reason.NOT_LINEAR,
            f"the slope changes by {share:+.0%} from the first half of the window to the second; begin the window "
            "later, where the motion is diffusive",
        )
    if t_quantile(bend.degrees_of_freedom) * error > LARGEST_DOUBT:
        return Refusal(Reason.NOISE, "the slopes of both halves of the window are too noisy to tell a line from a bend")
    return EinsteinFit(Estimated(slope.mean / 6, slope.standard_error / 6, slope.degrees_of_freedom), share, error)


def of_infinite_box(box: Estimated, viscosity: Estimated, temperature: float, length: float) -> Estimated:
    """Return the coefficient without the drag of periodic images: D + 2.837297 k T / (6 pi eta L).

    Units are consistent, k T in those of energy; length: edge of the cubic box. Errors of D and eta are taken for
    independent, and add with Satterthwaite's degrees of freedom; None for these if both errors are known.
    """
    correction = LATTICE_SUM * temperature / (6 * math.pi * viscosity.value * length)
    errors = np.array([box.error, correction * viscosity.error / viscosity.value])
    freedom = satterthwaite(errors**2, [one.degrees_of_freedom or math.inf for one in (box, viscosity)])
    return Estimated(box.value + correction, float(np.hypot(*errors)), None if math.isinf(freedom) else freedom)


def _slopes(times: NDArray[np.float64], curves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least-squares slope of each row."""
    return np.asarray(np.polyfit(times, curves.T, 1)[0])
