"""Viscosity at zero shear rate from a few rates: Carreau's and Yasuda's form, averaged over what it leaves open."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sophron.science.estimators.statistics import chi2_p_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

EXPONENTS = np.linspace(0.2, 0.8, 25)
"""Exponents n that are averaged over; melts of short chains lie about the middle."""
SHARPNESS = np.array([0.5, 0.7, 1.0, 1.4, 2.0])
"""Exponents a of Yasuda that are averaged over: 2 is Carreau's form, 1 - n that of Cross (1965)."""
SLOWEST, FASTEST = 10.0, 0.1
"""Carreau times reach from `FASTEST` / (highest rate) to `SLOWEST` / (lowest rate)."""
TIMES_A_DECADE = 20
PARAMETERS = 3
LEAST_RATES = 4
LEAST_P_VALUE = 0.01
LARGEST_STEP = 1.3
"""Largest extrapolated viscosity, in units of that at the lowest rate, that is still called reliable."""
LARGEST_ERROR = 0.2


@dataclass(frozen=True)
class ZeroShear:
    """Extrapolation to zero rate; units are those of the viscosities and rates given.

    viscosity, error: mean and standard deviation over the forms; chi2, dof, p_value: of the best form; exponent, time,
    sharpness: means (the time geometric) over the forms; ratio: viscosity over that at the lowest rate; lower_bound:
    see `extrapolate`; reliable: whether the data carry the extrapolation.
    """

    viscosity: float
    error: float
    chi2: float
    dof: int
    p_value: float
    exponent: float
    time: float
    sharpness: float
    ratio: float
    lower_bound: float | None
    reliable: bool


def carreau(
    rate: NDArray[np.float64],
    zero: float,
    time: NDArray[np.float64] | float,
    exponent: NDArray[np.float64] | float,
    sharpness: NDArray[np.float64] | float = 2.0,
) -> NDArray[np.float64]:
    """Return the viscosity zero x (1 + (time x rate)^a)^((exponent - 1)/a), a = sharpness.

    Carreau (1972, 10.1122/1.549276) has a = 2; Yasuda, Armstrong and Cohen (1981, 10.1007/BF01513059) leave it open.
    """
    return np.asarray(zero * (1.0 + (time * rate) ** sharpness) ** ((exponent - 1.0) / sharpness))


def extrapolate(rates: Sequence[float], viscosities: Sequence[float], errors: Sequence[float]) -> ZeroShear:
    """Return the viscosity at zero rate, from at least one rate; rates ascend, errors are positive.

    The forms hold what a melt can do: Newtonian at rates below 1/time, a power law above, and a change from one to
    the other as sharp as Carreau's or as slow as that of Cross. Few rates do not fix exponent, time and sharpness, and
    a choice between forms by chi-square would leave the error of the choice out. So for every point of a grid the
    zero-rate viscosity follows by linear least
    squares, and enters the mean with weight exp(-chi2/2); error**2 is the mean of its variance plus the variance of
    the means. No optimiser, no start values: equal data give equal numbers.

    Shear thinning makes every measured viscosity a bound from below: lower_bound is the largest of value - 2 errors,
    None if that is not above 0.
    Reliable are at least four rates, a chi-square with p > 0.01, and a result that lies at most three tenths above the
    viscosity at the lowest rate, with an error of at most a fifth.
    """
    rate, value, error = (np.asarray(numbers, dtype=np.float64) for numbers in (rates, viscosities, errors))
    if not (rate.shape == value.shape == error.shape and rate.size and np.all(np.diff(rate) > 0) and np.all(error > 0)):
        raise ValueError("ascending rates, and as many viscosities and positive errors, are needed")
    if not (rate[0] > 0 and np.all(np.isfinite([rate, value, error]))):
        raise ValueError("rates must be positive, and rates, viscosities and errors finite")
    time, exponent, sharpness = _grid(rate)
    shape = carreau(rate, 1.0, time[:, None], exponent[:, None], sharpness[:, None]) / error
    precision = (shape**2).sum(axis=1)
    zero = shape @ (value / error) / precision
    chi2 = ((value / error - zero[:, None] * shape) ** 2).sum(axis=1)
    weight = np.exp(-0.5 * (chi2 - chi2.min()))
    weight /= weight.sum()
    mean = float(weight @ zero)
    spread = math.sqrt(float(weight @ (1.0 / precision + (zero - mean) ** 2)))
    dof = max(rate.size - PARAMETERS, 0)
    p_value = chi2_p_value(float(chi2.min()), dof)
    ratio = mean / float(value[0]) if value[0] else math.inf
    bound = float((value - 2.0 * error).max())
    carried = rate.size >= LEAST_RATES and p_value > LEAST_P_VALUE
    return ZeroShear(
        viscosity=mean,
        error=spread,
        chi2=float(chi2.min()),
        dof=dof,
        p_value=p_value,
        exponent=float(weight @ exponent),
        time=float(np.exp(weight @ np.log(time))),
        sharpness=float(weight @ sharpness),
        ratio=ratio,
        lower_bound=bound if bound > 0 else None,
        reliable=bool(carried and 0.0 < ratio <= LARGEST_STEP and spread <= LARGEST_ERROR * mean),
    )


def _grid(rate: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Times, exponents and sharpness of all forms, each shape (forms,)."""
    low, high = FASTEST / rate[-1], SLOWEST / rate[0]
    times = np.geomspace(low, high, int(TIMES_A_DECADE * math.log10(high / low)) + 1)
    time, exponent, sharpness = np.meshgrid(times, EXPONENTS, SHARPNESS, indexing="ij")
    return time.ravel(), exponent.ravel(), sharpness.ravel()
