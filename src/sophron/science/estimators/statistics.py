"""Means and their errors: independent values, weighted values, homogeneity (correlated ones: `correlated_series`).

An error is known, or it was estimated and has so many degrees of freedom: infinitely many if it is known.
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

LEAST_P_VALUE = 0.01
"""Least p-value at which runs scatter as their errors say."""
NORMAL = 1.959964
"""Half-width of a 95 % interval in standard errors, if the error is known."""
LEAST_FREEDOM_OF_WEIGHTS = 8
"""Least degrees of freedom of errors that weight a mean; weights of others would be noise."""


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
class Estimated:
    """A value and its standard error; degrees_of_freedom: of the error, None if it is known."""

    value: float
    error: float
    degrees_of_freedom: float | None = None


@dataclass(frozen=True)
class Homogeneity:
    """Test of the hypothesis that values share one mean.

    chi2: weighted sum of squared deviations (Cochran's Q); degrees_of_freedom: values - 1; f_statistic: Welch's F,
    chi2 / (values - 1) if errors are known; error_degrees_of_freedom: of its denominator, None if errors are known;
    p_value: chance of a larger one.
    """

    chi2: float
    degrees_of_freedom: int
    f_statistic: float
    error_degrees_of_freedom: float | None
    p_value: float


def t_quantile(degrees_of_freedom: float, confidence: float = 0.95) -> float:
    """Return the half-width, in standard errors, of the two-sided t interval."""
    return float(special.stdtrit(degrees_of_freedom, 0.5 + 0.5 * confidence))


def t_interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return the mean, standard error and t interval of independent values of equal weight, shape (n,), n >= 2."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or numbers.size < 2:
        raise ValueError("a t interval needs at least two values in one dimension")
    if not np.all(np.isfinite(numbers)):
        raise ValueError("a t interval needs finite values")
    mean = float(numbers.mean())
    error = float(numbers.std(ddof=1) / math.sqrt(numbers.size))
    dof = numbers.size - 1
    half = t_quantile(dof, confidence) * error
    return Interval(mean=mean, standard_error=error, degrees_of_freedom=dof, low=mean - half, high=mean + half)


def replica_mean(
    values: Sequence[float], errors: Sequence[float | None], freedoms: Sequence[float] | None = None
) -> tuple[float, float | None, float | None]:
    """Return the mean of independent runs, its standard error, and the degrees of freedom of that; None if it is known.

    errors: of each run, None if it was too short for one; freedoms: degrees of freedom of each error. If all errors are
    there and the runs scatter as these say, they combine, widened by what chi-square a degree of freedom exceeds 1;
    otherwise the spread of the runs counts, with runs - 1. The error is None for one run without. Errors taken for
    known though they are not reject too often, and then the wider spread counts.
    """
    count, mean = len(values), float(np.mean(values))
    known = [error for error in errors if error]
    if len(known) == count:
        combined = math.hypot(*known) / count
        test = homogeneity(values, known, freedoms)
        if test.p_value > LEAST_P_VALUE:
            widened = combined * math.sqrt(max(1.0, test.chi2 / max(test.degrees_of_freedom, 1)))
            return mean, widened, _finite(satterthwaite(np.square(known), freedoms))
    if count < 2:
        return mean, None, None
    return mean, t_interval(values).standard_error, count - 1


def normal_error(error: float, degrees_of_freedom: float | None) -> float:
    """Return the standard error whose normal 95 % interval is as wide as the t interval; None: it is normal."""
    return error if degrees_of_freedom is None else error * t_quantile(degrees_of_freedom) / NORMAL


def pooled_mean(values: Sequence[float], errors: Sequence[float], freedoms: Sequence[float] | None = None) -> Estimated:
    """Return the mean with weights 1/error**2, its standard error and the degrees of freedom of that.

    Errors must be positive; freedoms: their degrees of freedom, None if they are known. If one has fewer than
    `LEAST_FREEDOM_OF_WEIGHTS`, the mean has equal weights; with more, the error counts the noise of the weights (Meier
    1953, 10.2307/3001633).
    """
    numbers, weights = _weights(values, errors)
    if freedoms is not None and min(freedoms) < LEAST_FREEDOM_OF_WEIGHTS:
        error = math.hypot(*errors) / numbers.size
        return Estimated(float(numbers.mean()), error, satterthwaite(1 / weights, freedoms))
    total = float(weights.sum())
    share = weights / total
    noise = 0.0 if freedoms is None else float((share * (1 - share) / np.asarray(freedoms)).sum())
    mean, error = float((share * numbers).sum()), math.sqrt((1 + 4 * noise) / total)
    return Estimated(mean, error, _finite(satterthwaite(share, freedoms)))


def homogeneity(
    values: Sequence[float], errors: Sequence[float], freedoms: Sequence[float] | None = None
) -> Homogeneity:
    """Test that `values` with standard errors `errors` have one common mean.

    freedoms: degrees of freedom of each error, None if they are known. Welch's analysis of variance (1951,
    10.1093/biomet/38.3-4.330): Welch's t test for two values, chi-square (Cochran's Q) if errors are known.
    """
    numbers, weights = _weights(values, errors)
    mean = float((weights * numbers).sum() / weights.sum())
    chi2 = float((weights * (numbers - mean) ** 2).sum())
    dof = numbers.size - 1
    scale, freedom = f_denominator(errors, freedoms)
    ratio = chi2 / (dof * scale) if dof else 0.0
    exact = math.isinf(freedom) or not dof
    p_value = chi2_p_value(chi2, dof) if exact else float(special.fdtrc(dof, freedom, ratio))
    return Homogeneity(chi2, dof, ratio, None if exact else freedom, p_value)


def f_denominator(errors: Sequence[float], freedoms: Sequence[float] | None) -> tuple[float, float]:
    """Return what scales the denominator of Welch's F, and its degrees of freedom; 1 and infinity for known errors."""
    weights = np.asarray(errors, dtype=np.float64) ** -2.0
    count, share = weights.size, weights / weights.sum()
    noise = 0.0 if freedoms is None else float(((1 - share) ** 2 / np.asarray(freedoms, dtype=np.float64)).sum())
    if not noise:
        return 1.0, math.inf
    return 1 + 2 * (count - 2) / (count**2 - 1) * noise, (count**2 - 1) / (3 * noise)


def chi2_p_value(chi2: float, degrees_of_freedom: int) -> float:
    """Return the chance that chi-square with so many degrees of freedom exceeds `chi2`; 1 if there are none."""
    return float(special.chdtrc(degrees_of_freedom, chi2)) if degrees_of_freedom > 0 else 1.0


def satterthwaite(variances: ArrayLike, freedoms: Sequence[float] | None) -> float:
    """Return the degrees of freedom of a sum of variances with so many each; infinity if they are known."""
    if freedoms is None:
        return math.inf
    parts = np.asarray(variances, dtype=np.float64)
    spread = float((parts**2 / np.asarray(freedoms, dtype=np.float64)).sum())
    return float(parts.sum()) ** 2 / spread if spread else math.inf


def _finite(freedom: float) -> float | None:
    return None if math.isinf(freedom) else freedom


def _weights(values: Sequence[float], errors: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values and 1/error**2 as arrays; ValueError if they do not fit each other."""
    numbers, widths = np.asarray(values, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if numbers.shape != widths.shape or numbers.ndim != 1 or numbers.size == 0:
        raise ValueError("as many errors as values are needed, at least one")
    if not np.all(widths > 0):
        raise ValueError("errors must be positive")
    if not np.all(np.isfinite([numbers, widths])):
        raise ValueError("values and errors must be finite")
    return numbers, widths**-2
