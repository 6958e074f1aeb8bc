"""What to evaluate next: noisy expected improvement or Thompson sampling over a joint posterior, and what to repeat.

With noisy values nobody knows which sequence is the best so far, so the improvement is averaged over draws of all
values together (Letham et al. 2019, 10.1214/18-BA1110). A batch is filled greedily: what is chosen counts as known in
each draw. A repeat never improves on the best that was seen; how many evaluations of a round go to repeats is therefore
a number of the definition, and they go where they tell most about which sequence is the best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg, special

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Rows = NDArray[np.float64]

JITTER = 1e-6


def expected_improvement(mean: Rows, deviation: Rows, best: float) -> Rows:
    """Return E[max(f - best, 0)] of normal f, each of shape (n,)."""
    deviation = np.maximum(deviation, np.finfo(float).tiny)
    z = np.clip((mean - best) / deviation, -1e100, 1e100)
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    return np.asarray((mean - best) * special.ndtr(z) + deviation * density)


def draws(mean: Rows, covariance: Rows, count: int, rng: Generator) -> Rows:
    """Draw `count` joint values, shape (count, n)."""
    size = mean.size
    jitter = JITTER * float(np.mean(np.diag(covariance))) + 1e-300
    factor = linalg.cholesky(covariance + jitter * np.eye(size), lower=True, check_finite=False)
    return np.asarray(mean + rng.standard_normal((count, size)) @ factor.T)


def noisy_expected_improvement(observed: Rows, candidates: Rows, count: int) -> tuple[list[int], list[float]]:
    """Choose `count` candidates, one after the other; return their places, and what each adds to the best on average.

    observed, candidates: draws of shape (draws, observed), (draws, candidates), drawn jointly.
    """
    best = observed.max(axis=1)
    chosen: list[int] = []
    gains: list[float] = []
    for _ in range(min(count, candidates.shape[1])):
        gain = np.maximum(candidates - best[:, None], 0.0).mean(axis=0)
        gain[chosen] = -1.0
        chosen.append(int(gain.argmax()))
        gains.append(float(gain[chosen[-1]]))
        best = np.maximum(best, candidates[:, chosen[-1]])
    return chosen, gains


def thompson(candidates: Rows, count: int) -> list[int]:
    """Choose the best candidate of one draw after the other, each candidate once; in the order of the draws."""
    chosen: list[int] = []
    for row in candidates:
        if len(chosen) == min(count, candidates.shape[1]):
            break
        order = np.argsort(-row, kind="stable")
        chosen.append(next(int(place) for place in order if int(place) not in chosen))
    return chosen


def repeats(observed: Rows, count: int) -> list[int]:
    """Choose what to evaluate again: by the chance to be the best of all, times the standard deviation that is left.

    observed: draws of shape (draws, observed). A sequence may be chosen more than once, as half its variance is then
    counted as gone.
    """
    chance = np.bincount(observed.argmax(axis=1), minlength=observed.shape[1]) / observed.shape[0]
    left = observed.std(axis=0)
    chosen = []
    for _ in range(count):
        place = int((chance * left).argmax())
        chosen.append(place)
        left[place] /= np.sqrt(2.0)
    return chosen
