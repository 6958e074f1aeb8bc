"""Statistical power of a chi-square test of homogeneity: against one shifted value, and the shift that it detects.

With weights w = 1 / error^2 and W their sum, values of which value i is shifted by d follow a noncentral chi-square
with d^2 w_i (1 - w_i / W) (Cochran 1954, 10.2307/3001666, for the test; noncentrality by direct expansion).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Sequence


def power(errors: Sequence[float], shift: float, significance: float) -> float:
    """Chance that the test at `significance` finds one value shifted by `shift`, whichever it is: the least over them.

    errors: standard errors of two values at least, in the unit of shift. ValueError for fewer.
    """
    dof, critical = _critical(errors, significance)
    return 1.0 - float(special.chndtr(critical, dof, shift**2 * _leverage(errors)))


def detectable_shift(errors: Sequence[float], significance: float, chance: float = 0.9) -> float:
    """Shift of one value, whichever it is, that the test at `significance` finds with `chance`, in the errors' unit."""
    dof, critical = _critical(errors, significance)
    return math.sqrt(float(special.chndtrinc(critical, dof, 1.0 - chance)) / _leverage(errors))


def _critical(errors: Sequence[float], significance: float) -> tuple[int, float]:
    """Degrees of freedom, and the chi-square beyond which homogeneity is rejected."""
    if len(errors) < 2:
        raise ValueError("a test of homogeneity needs two values at least")
    dof = len(errors) - 1
    return dof, float(special.chdtri(dof, significance))


def _leverage(errors: Sequence[float]) -> float:
    """Least noncentrality of a shift by 1, over the value that is shifted; ValueError unless errors are positive."""
    widths = np.asarray(errors, dtype=np.float64)
    if not np.all(widths > 0):
        raise ValueError("errors must be positive")
    weights = widths**-2
    return float((weights * (1 - weights / weights.sum())).min())
