"""Means and their errors: autocorrelated series, independent values, weighted values, homogeneity.

Quantiles come from `scipy.special` (`stdtrit`, `chdtrc`, `fdtrc`), which loads in a fraction of `scipy.stats`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import fft, special

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

WINDOW = 5.0
"""Sums of autocorrelations stop at this many autocorrelation times (Sokal 1997, 10.1007/978-1-4899-0319-8_6)."""


@dataclass(frozen=True)
class SeriesMean:
    """Mean of one stationary series.

    error: standard error of the mean; inefficiency: samples that are worth one independent sample (1 for white noise);
    effective_samples: samples / inefficiency.
    """

    mean: float
    error: float
    inefficiency: float
    effective_samples: float


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


def statistical_inefficiency(series: ArrayLike) -> float:
    """Return the samples of `series`, shape (n,), that are worth one independent sample: g = 1 + 2 sum of rho(k).

    The sum is cut at the first lag that exceeds `WINDOW` times the integrated autocorrelation time found so far
    (Sokal's self-consistent window), and corrected for the mean being taken from the same data (Wolff 2004,
    10.1016/S0010-4655(03)00467-3, eq. 49). Antithetic series may give g < 1; a constant one gives 1.
    """
    values = np.asarray(series, dtype=np.float64)
    count = _checked_length(values)
    deviations = values - values.mean()
    if not np.any(deviations):
        return 1.0
    rho = _normalised_autocorrelation(deviations)
    times = 0.5 + np.cumsum(rho[1:])
    lags = np.arange(1, times.size + 1)
    beyond = np.flatnonzero(lags >= WINDOW * times)
    window = int(beyond[0]) if beyond.size else times.size - 1
    corrected = 2.0 * times[window] * (1.0 + (2.0 * lags[window] + 1.0) / count)
    return float(max(corrected, 1.0 / count))


def series_mean(series: ArrayLike) -> SeriesMean:
    """Mean of a stationary, autocorrelated series of shape (n,), with a standard error that counts the correlation.

    ValueError if fewer than 4 samples or a value that is not finite are given.
    """
    values = np.asarray(series, dtype=np.float64)
    count = _checked_length(values)
    inefficiency = statistical_inefficiency(values)
    variance = float(values.var(ddof=1))
    return SeriesMean(
        mean=float(values.mean()),
        error=math.sqrt(variance * inefficiency / count),
        inefficiency=inefficiency,
        effective_samples=count / inefficiency,
    )


def t_quantile(degrees_of_freedom: int, confidence: float = 0.95) -> float:
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


def _normalised_autocorrelation(deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    """rho(k) for k < n/2, biased estimator (divides by n), which keeps the noise at long lags small."""
    count = deviations.size
    length = fft.next_fast_len(2 * count, real=True)
    spectrum = fft.rfft(deviations, length)
    sums = fft.irfft(spectrum.real**2 + spectrum.imag**2, length)[: max(count // 2, 2)]
    return np.asarray(sums / sums[0])


def _checked_length(values: NDArray[np.float64]) -> int:
    """Number of samples; ValueError if they cannot have a correlated error."""
    if values.ndim != 1 or values.size < 4:
        raise ValueError("a series needs at least four samples in one dimension")
    if not np.all(np.isfinite(values)):
        raise ValueError("a series may hold finite values only")
    return int(values.size)


def _weights(values: Sequence[float], errors: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values and 1/error**2 as arrays; ValueError if they do not fit each other."""
    numbers, widths = np.asarray(values, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if numbers.shape != widths.shape or numbers.ndim != 1 or numbers.size == 0:
        raise ValueError("as many errors as values are needed, at least one")
    if not np.all(widths > 0):
        raise ValueError("errors must be positive")
    return numbers, widths**-2
