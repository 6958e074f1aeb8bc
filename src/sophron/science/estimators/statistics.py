"""Means and their errors: independent values, weighted values, homogeneity (correlated ones: `correlated_series`).

Quantiles come from `scipy.special` (`stdtrit`, `chdtrc`, `fdtrc`), which loads in a fraction of `scipy.stats`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

LEAST_P_VALUE = 0.05
"""Least p-value at which runs scatter as their errors say."""
NORMAL = 1.959964
"""Half-width of a 95 % interval in standard errors, if the error is known."""


@dataclass(frozen=True)
class Interval:
    """Mean of independent values with its t interval.

    degrees_of_freedom: number of values - 1; low, high: ends of the interval at the confidence asked for.
    """

    mean: float
    standard_error: float
    degrees_of_freedom: int
    low: float
    high: float


@dataclass(frozen=True)
class Homogeneity:
    """Test of the hypothesis that values with known errors share one mean.

    chi2: weighted sum of squared deviations; degrees_of_freedom: values - 1; p_value: chance of a larger chi2.
    """

    chi2: float
    degrees_of_freedom: int
    p_value: float


def t_quantile(degrees_of_freedom: float, confidence: float = 0.95) -> float:
    """Return the half-width, in standard errors, of the two-sided t interval."""
    return float(special.stdtrit(degrees_of_freedom, 0.5 + 0.5 * confidence))


def t_interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return the mean, standard error and t interval of independent values of equal weight, shape (n,), n >= 2."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or numbers.size < 2:
        raise ValueError("a t interval needs at least two values in one dimension")
    mean = float(numbers.mean())
    error = float(numbers.std(ddof=1) / math.sqrt(numbers.size))
    dof = numbers.size - 1
    half = t_quantile(dof, confidence) * error
    return Interval(mean=mean, standard_error=error, degrees_of_freedom=dof, low=mean - half, high=mean + half)


def replica_mean(values: Sequence[float], errors: Sequence[float | None]) -> tuple[float, float | None, int | None]:
    """Return the mean of independent runs, its standard error, and the degrees of freedom if the spread is the error.

    errors: of each run, None if it was too short for one. If all are known and the runs scatter as these say, they
    combine, widened by what chi-square a degree of freedom exceeds 1; otherwise the spread of the runs counts, with
    t quantiles of runs - 1. The error is None for one run without.
    """
    count, mean = len(values), float(np.mean(values))
    known = [error for error in errors if error]
    if len(known) == count:
        combined = math.hypot(*known) / count
        test = homogeneity(values, known)
        if test.p_value > LEAST_P_VALUE:
            return mean, combined * math.sqrt(max(1.0, test.chi2 / max(test.degrees_of_freedom, 1))), None
    if count < 2:
        return mean, None, None
    return mean, t_interval(values).standard_error, count - 1


def normal_error(error: float, degrees_of_freedom: int | None) -> float:
    """Return the standard error whose normal 95 % interval is as wide as the t interval; None: it is normal."""
    return error if degrees_of_freedom is None else error * t_quantile(degrees_of_freedom) / NORMAL


def weighted_mean(values: Sequence[float], errors: Sequence[float]) -> tuple[float, float]:
    """Return the mean with weights 1/error**2 and its standard error 1/sqrt(sum of weights).

    Errors must be positive.
    """
    numbers, weights = _weights(values, errors)
    total = float(weights.sum())
    return float((weights * numbers).sum() / total), 1.0 / math.sqrt(total)


def homogeneity(values: Sequence[float], errors: Sequence[float]) -> Homogeneity:
    """Chi-square test that `values` with standard errors `errors` have one common mean."""
    numbers, weights = _weights(values, errors)
    mean, _ = weighted_mean(values, errors)
    chi2 = float((weights * (numbers - mean) ** 2).sum())
    dof = numbers.size - 1
    return Homogeneity(chi2=chi2, degrees_of_freedom=dof, p_value=chi2_p_value(chi2, dof))


def chi2_p_value(chi2: float, degrees_of_freedom: int) -> float:
    """Return the chance that chi-square with so many degrees of freedom exceeds `chi2`; 1 if there are none."""
    return float(special.chdtrc(degrees_of_freedom, chi2)) if degrees_of_freedom > 0 else 1.0


def _weights(values: Sequence[float], errors: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values and 1/error**2 as arrays; ValueError if they do not fit each other."""
    numbers, widths = np.asarray(values, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if numbers.shape != widths.shape or numbers.ndim != 1 or numbers.size == 0:
        raise ValueError("as many errors as values are needed, at least one")
    if not np.all(widths > 0):
        raise ValueError("errors must be positive")
    return numbers, widths**-2
