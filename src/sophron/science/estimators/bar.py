"""Bennett's acceptance ratio between two neighbouring windows, and the overlap of their distributions.

Cheap and always finite, so it comes first: on windows that no sample connects, a multistate solver finds no end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize, special

if TYPE_CHECKING:
    from numpy.typing import NDArray

FAR = 50.0
"""Distance in kT at which a Fermi function is 0 or 1 to machine precision, even summed over samples."""


MOST_ITERATIONS = 2000
"""Windows that nothing connects have a flat function between ends that are thousands of kT apart."""


@dataclass(frozen=True)
class Pair:
    """difference: reduced free energy of the second window less that of the first; overlap: from 0 to 0.5."""

    difference: float
    overlap: float


def compare(first: NDArray[np.float64], second: NDArray[np.float64]) -> Pair:
    """Bennett acceptance ratio (10.1016/0021-9991(76)90078-4) and overlap of two windows.

    first, second: u_2 - u_1, reduced, of samples drawn from window 1 and of samples drawn from window 2, shapes (n1,)
    and (n2,). The overlap is the chance to take a sample of one window for one of the other, as in the overlap matrix
    of Klimovich, Shirts and Mobley (2015, 10.1007/s10822-015-9840-9) of these two alone, as if both had equally many
    samples: how many there are is another guard's question. Other windows can only lower it.
    """
    shift = math.log(first.size / second.size)
    both = np.concatenate([first, second])

    def imbalance(difference: float) -> float:
        forth = special.expit(difference - shift - first).sum()
        return float(forth - special.expit(shift + second - difference).sum())

    margin = FAR + math.log(both.size)
    low, high = float(both.min()) + shift - margin, float(both.max()) + shift + margin
    difference = float(optimize.brentq(imbalance, low, high, xtol=1e-10, maxiter=MOST_ITERATIONS))
    forth = float(special.expit(difference - first).mean())
    back = float(special.expit(second - difference).mean())
    # Of two distributions it is a half at most, if they are equal; a sample of them may show a little more.
    return Pair(difference, min(forth, back, 0.5))


STEEPEST = 30.0
"""Size of a logit beyond which a sample tells nothing of the slope."""
SLOPE_ITERATIONS = 50


def ensemble_slope(first: NDArray[np.float64], second: NDArray[np.float64]) -> tuple[float, float] | None:
    """Return by how many kT two distributions differ for each kT that their energies do, with its error; 1 if right.

    Shirts (2013, 10.1021/ct300688p): the odds of having been drawn in window 2 fall as exp(-(u_2 - u_1)), whatever the
    system. Another temperature, energies in another unit or of another potential, and an integrator that heats make
    another slope. Arguments as in `compare`, of independent samples; None where they do not tell a slope.
    """
    x = np.concatenate([first, second])
    drawn = np.concatenate([np.zeros(first.size), np.ones(second.size)])
    centre = float(np.median(x))
    design = np.stack([np.ones_like(x), centre - x])
    found = np.array([math.log(second.size / first.size), 1.0])
    for _ in range(SLOPE_ITERATIONS):
        chance = special.expit(np.clip(found @ design, -STEEPEST, STEEPEST))
        curvature = (design * (chance * (1.0 - chance))) @ design.T
        if not np.linalg.cond(curvature) < 1e12:
            return None
        step = np.linalg.solve(curvature, design @ (drawn - chance))
        found = found + np.clip(step, -1.0, 1.0)
        if float(np.abs(step).max()) < 1e-8:
            return float(found[1]), math.sqrt(float(np.linalg.inv(curvature)[1, 1]))
    return None
