"""Statistical power: of the test that two values agree, and of the test of homogeneity of several.

Two values: Welch's t (1947, 10.1093/biomet/34.1-2.28). Several: with weights w = 1 / error^2 and W their sum, values of
which value i is shifted by d have a Q that follows a noncentral chi-square with d^2 w_i (1 - w_i / W) if errors are
known (Cochran 1954, 10.2307/3001666, for the test; noncentrality by direct expansion), and so Welch's F a noncentral F
if they are not. That takes the stated errors for right: where they have 1 or 2 degrees of freedom, they are so noisy
that less is found than is said (`bench/coverage.py` counts it).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from sophron.science.estimators.statistics import Estimated, f_denominator

if TYPE_CHECKING:
    from collections.abc import Sequence

SIGNIFICANCE = 0.05
"""Chance that two values with one truth are said to differ."""
CHANCE = 0.8
"""Chance with which the detectable difference is found."""
LARGEST_DIFFERENCE = 0.2
"""Largest detectable difference, relative, of two values that agree, unless another is signed."""


class Agreement(StrEnum):
    """What a comparison of two values says."""

    AGREE = "agree"
    DIFFER = "differ"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True)
class Comparison:
    """Test of the hypothesis that two estimates have one truth.

    difference: first less second, combined_error: its standard error, both in the unit of the values;
    degrees_of_freedom: of combined_error by Welch and Satterthwaite, None if it is known; p_value: chance of a larger
    difference, by Student's t; z: normal deviate of that p-value, with the sign of the difference.
    detectable_difference: smallest true difference that the test finds with a chance of `CHANCE`, over the mean of both
    magnitudes, if the errors are right; of errors with 2 degrees of freedom each 0.7 of such differences are found.
    """

    difference: float
    combined_error: float
    degrees_of_freedom: float | None
    z: float
    p_value: float
    detectable_difference: float

    def agreement(self, largest_difference: float = LARGEST_DIFFERENCE) -> Agreement:
        """Return agree only if they do not differ, and a relative difference of that size would have been found."""
        if self.p_value < SIGNIFICANCE:
            return Agreement.DIFFER
        return Agreement.AGREE if self.detectable_difference <= largest_difference else Agreement.CANNOT_TELL


def compare_two(first: Estimated, second: Estimated) -> Comparison:
    """Test by Welch's t whether two independent estimates have one truth, and how small a difference would be found.

    ValueError unless both values are finite and both errors positive and finite.
    """
    if not (first.error > 0 and second.error > 0):
        raise ValueError("errors must be positive")
    if not all(map(math.isfinite, (first.value, second.value, first.error, second.error))):
        raise ValueError("values and errors must be finite")
    difference, combined = first.value - second.value, math.hypot(first.error, second.error)
    spread = sum(one.error**4 / one.degrees_of_freedom for one in (first, second) if one.degrees_of_freedom)
    freedom = combined**4 / spread if spread else math.inf
    t = difference / combined
    # below 1e-300 the normal deviate would be infinite
    p_value = max(2 * float(special.stdtr(freedom, -abs(t))), 1e-300)
    critical = float(special.stdtrit(freedom, 1 - SIGNIFICANCE / 2))
    noncentrality = float(special.nctdtrinc(freedom, 1 - CHANCE, critical))
    size = (abs(first.value) + abs(second.value)) / 2
    return Comparison(
        difference=difference,
        combined_error=combined,
        degrees_of_freedom=freedom if spread else None,
        z=math.copysign(float(special.ndtri(p_value / 2)), t),
        p_value=p_value,
        detectable_difference=noncentrality * combined / size if size else math.inf,
    )


def power(errors: Sequence[float], shift: float, significance: float, freedoms: Sequence[float] | None = None) -> float:
    """Chance that the test at `significance` finds one value shifted by `shift`, whichever it is: the least over them.

    errors: standard errors of two values at least, in the unit of shift; freedoms: their degrees of freedom, None if
    they are known. ValueError for fewer.
    """
    return 1.0 - _missed(shift**2 * _leverage(errors), errors, significance, freedoms)


def detectable_shift(
    errors: Sequence[float], significance: float, chance: float = 0.9, freedoms: Sequence[float] | None = None
) -> float:
    """Shift of one value, whichever it is, that the test at `significance` finds with `chance`, in the errors' unit."""
    from scipy.optimize import brentq  # costs 0.1 s to load; ncfdtrinc ends at 1e4

    leverage, above = _leverage(errors), 1.0
    while _missed(above**2, errors, significance, freedoms) > 1 - chance:
        above *= 2
    root = brentq(lambda root: _missed(root**2, errors, significance, freedoms) - 1 + chance, 0.0, above, rtol=1e-9)
    return float(root / math.sqrt(leverage))


def _missed(
    noncentrality: float, errors: Sequence[float], significance: float, freedoms: Sequence[float] | None
) -> float:
    """Chance that the test does not reject at that noncentrality of Q."""
    dof = len(errors) - 1
    scale, freedom = f_denominator(errors, freedoms)
    if math.isinf(freedom):
        return float(special.chndtr(special.chdtri(dof, significance), dof, noncentrality))
    critical = special.fdtri(dof, freedom, 1 - significance)
    missed = float(special.ncfdtr(dof, freedom, noncentrality / scale, critical))
    if math.isnan(missed):  # it ends near a noncentrality of 1e3, where nothing is missed but for noise in the errors
        missed = float(special.chndtr(dof * critical, dof, noncentrality / scale))
    return missed


def _leverage(errors: Sequence[float]) -> float:
    """Least noncentrality of a shift by 1, over the value that is shifted; ValueError unless a test is possible."""
    widths = np.asarray(errors, dtype=np.float64)
    if widths.size < 2:
        raise ValueError("a test of homogeneity needs two values at least")
    if not np.all(widths > 0):
        raise ValueError("errors must be positive")
    weights = widths**-2
    return float((weights * (1 - weights / weights.sum())).min())
