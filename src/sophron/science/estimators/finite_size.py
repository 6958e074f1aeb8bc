"""Conductivity of an infinite box from boxes of a few lengths: 1/conductivity against 1/length."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sophron.science.estimators.statistics import NORMAL, chi2_p_value, t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

LEAST_LENGTHS = 3
LARGEST_RATIO = 1.3
"""Largest conductivity of an infinite box, in units of that of the longest box, that is still given."""
LEAST_P_VALUE = 0.01
"""Least p-value at which the data allow a form."""
MANY_PATHS = 0.5
"""Power of 1/length by which boxes approach the bulk if mean free paths are spread over decades."""
LEAST_SIGNIFICANCE = 2.0
"""Least intercept, in its standard errors, that gives a conductivity."""


@dataclass(frozen=True)
class Extrapolation:
    """The straight line 1/conductivity = intercept + slope / length; units are those of the values given.

    intercept_error, slope_error: standard errors, widened by sqrt(chi2 / degrees_of_freedom) if the points scatter
    more than their errors say. conductivity, standard_error: 1/intercept and its error to first order; low, high: the
    95 % t interval of the intercept, inverted; high None if that interval holds 0. ratio: conductivity over that
    of the longest box. curvature_z: coefficient of 1/length**2, when it is fitted too, in its standard errors.
    other_conductivity: 1/intercept of the other form, None if the data reject that or its intercept is not positive;
    low and high hold its interval too. lower_bound: lower end of the 95 % interval of the longest box: as boxes
    approach the bulk from below, it stands whatever the form; None if it is not above 0. refusal: why there is no
    conductivity, else None.
    """

    intercept: float
    intercept_error: float
    slope: float
    slope_error: float
    r_squared: float
    chi2: float
    degrees_of_freedom: int
    p_value: float
    curvature_z: float
    conductivity: float
    standard_error: float
    low: float
    high: float | None
    ratio: float
    other_conductivity: float | None
    lower_bound: float | None
    refusal: str | None


def extrapolate(lengths: Sequence[float], conductivities: Sequence[float], errors: Sequence[float]) -> Extrapolation:
    """Fit 1/conductivity against 1/length by weighted least squares, and read it at an infinite length.

    At least three ascending lengths, with positive conductivities and errors. The form (Schelling, Phillpot and
    Keblinski 2002, 10.1103/PhysRevB.65.144306) is Matthiessen's rule for one mean free path. Phonons have many, the
    true curve bends, and boxes that are all shorter than the long ones extrapolate too low (Sellan et al. 2010,
    10.1103/PhysRevB.81.214305). With mean free paths spread over decades, as the Boltzmann equation has them in
    crystals, 1/conductivity approaches the bulk as length^-1/2; few lengths cannot tell this from a straight line. So
    the conductivity is refused if the intercept is not twice its error, if a form that the data allow lies more than
    `LARGEST_RATIO` times above the longest box, if the line ends below the lower bound, or if the lengths scatter about
    the line.
    """
    length, value, error = _boxes(lengths, conductivities, errors)
    x, y, width = 1 / length, 1 / value, error / value**2
    (intercept, slope), covariance, chi2 = _fit(x, y, width, 1)
    (_, _, bend), bent_covariance, _ = _fit(x, y, width, 2)
    dof = length.size - 2
    wider = math.sqrt(max(1.0, chi2 / dof))
    intercept_error = wider * math.sqrt(covariance[0, 0])
    low, high = (intercept + side * t_quantile(dof) * intercept_error for side in (-1, 1))
    other = _other(x, y, width)
    ratio = 1 / (intercept * float(value[-1]))
    p_value = chi2_p_value(chi2, dof)
    least = float(value[-1] - NORMAL * error[-1])
    bound = least if least > 0 else None
    reason: str | None
    if intercept <= LEAST_SIGNIFICANCE * intercept_error:
        reason = f"no_intercept: the intercept {intercept:.3g} +- {intercept_error:.3g} may be 0"
    else:
        reason = _unreliable(p_value, ratio, 1 / (other[0] * float(value[-1])) if other else None)
    if reason is None and bound is not None and 1 / intercept < bound:
        reason = f"longer_conduct_less: the line ends at {1 / intercept:.3g}, below the longest box"
    refusal = reason and f"{reason}; take longer boxes. {_bound_sentence(bound)}"
    if other is not None and other[0] > 0:
        reach = t_quantile(dof) * other[1]
        low, high = min(low, other[0] - reach), max(high, other[0] + reach)
    return Extrapolation(
        intercept=intercept,
        intercept_error=intercept_error,
        slope=slope,
        slope_error=wider * math.sqrt(covariance[1, 1]),
        r_squared=_r_squared(y, intercept + slope * x, width),
        chi2=chi2,
        degrees_of_freedom=dof,
        p_value=p_value,
        curvature_z=bend / math.sqrt(bent_covariance[2, 2]),
        conductivity=1 / intercept,
        standard_error=intercept_error / intercept**2,
        low=1 / high,
        high=1 / low if low > 0 else None,
        ratio=ratio,
        other_conductivity=1 / other[0] if other and other[0] > 0 else None,
        lower_bound=bound,
        refusal=refusal,
    )


def _boxes(*series: Sequence[float]) -> list[NDArray[np.float64]]:
    """Lengths, conductivities and errors as arrays; ValueError if they are not those of boxes."""
    length, value, error = boxes = [np.asarray(numbers, dtype=np.float64) for numbers in series]
    if not (length.shape == value.shape == error.shape and length.size >= LEAST_LENGTHS):
        raise ValueError(f"at least {LEAST_LENGTHS} lengths, and as many conductivities and errors, are needed")
    if not (np.all(np.diff(length) > 0) and length[0] > 0 and np.all(value > 0) and np.all(error > 0)):
        raise ValueError("ascending lengths, positive conductivities and positive errors are needed")
    if not np.all(np.isfinite([length, value, error])):
        raise ValueError("lengths, conductivities and errors must be finite")
    return boxes


def _bound_sentence(bound: float | None) -> str:
    """What a refused extrapolation leaves."""
    if bound is None:
        return "There is no lower bound either: the 95 % interval of the longest box reaches 0; take more replicas"
    return f"The longest box is a lower bound: {bound:.3g}, the lower end of its 95 % interval"


def _unreliable(p_value: float, ratio: float, other_ratio: float | None) -> str | None:
    """Reason why an intercept gives no conductivity, None if it does; ratios: to the longest box, of both forms."""
    if p_value < LEAST_P_VALUE:
        return f"no_line: the lengths scatter about the straight line by more than their errors, p = {p_value:.2g}"
    if not 0 < ratio <= LARGEST_RATIO:
        return f"extrapolated_far: the straight line ends at {ratio:.2g} times the longest box"
    if other_ratio is not None and not 0 < other_ratio <= LARGEST_RATIO:
        return (
            "forms_differ: the lengths allow 1/length and 1/length^(1/2) alike, and the second ends more than "
            f"{LARGEST_RATIO:g} times above the longest box"
        )
    return None


def _other(x: NDArray[np.float64], y: NDArray[np.float64], width: NDArray[np.float64]) -> tuple[float, float] | None:
    """Return the intercept in x^(1/2) and its standard error, widened as that of the line; None if it is rejected."""
    (intercept, _), covariance, chi2 = _fit(x**MANY_PATHS, y, width, 1)
    dof = x.size - 2
    if chi2_p_value(chi2, dof) < LEAST_P_VALUE:
        return None
    return intercept, math.sqrt(covariance[0, 0] * max(1.0, chi2 / dof))


def _fit(
    x: NDArray[np.float64], y: NDArray[np.float64], width: NDArray[np.float64], degree: int
) -> tuple[tuple[float, ...], NDArray[np.float64], float]:
    """Coefficients of a polynomial, lowest power first, their covariance, and chi-square."""
    powers = np.vander(x / x[0], degree + 1, increasing=True)  # x[0] is the largest: well conditioned
    design = powers / width[:, None]
    orthogonal, upper = np.linalg.qr(design)  # errors may differ by many powers of ten
    inverse = np.linalg.inv(upper)
    covariance = inverse @ inverse.T
    coefficients = inverse @ (orthogonal.T @ (y / width))
    chi2 = float(((y / width - design @ coefficients) ** 2).sum())
    scale = x[0] ** -np.arange(degree + 1, dtype=np.float64)
    return tuple((coefficients * scale).tolist()), np.asarray(covariance * np.outer(scale, scale), np.float64), chi2


def _r_squared(y: NDArray[np.float64], line: NDArray[np.float64], width: NDArray[np.float64]) -> float:
    """Share of the weighted variance of `y` that the line explains."""
    weights = width**-2
    mean = (weights * y).sum() / weights.sum()
    spread = float((weights * (y - mean) ** 2).sum())
    return 1.0 - float((weights * (y - line) ** 2).sum()) / spread if spread else 0.0
