"""Gaussian process of a value over features, with the measured error of each value as its noise.

Covariance of two sequences: `signal^2 ((1 - own) exp(-d^2 / (2 length^2)) + own [same sequence])`, d the distance of
their features; `own` is what features do not tell. The mean is a constant with a wide prior. The three hyperparameters
maximise the likelihood of the data times a prior, wide in their logarithms, which was written down before any sequence
was measured (`bench/sequence_bo.py` judges it).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy import linalg, optimize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.float64]

MEAN_PRIOR = 10.0
"""Standard deviation of the constant mean, in spreads of the values."""
JITTER = 1e-8


@dataclass(frozen=True)
class Hyperparameters:
    """length: in units of features; signal: in spreads of the values; own: share of the variance of one sequence."""

    length: float
    signal: float
    own: float


CENTRE = Hyperparameters(length=4.0, signal=1.0, own=0.1)
WIDTH = Hyperparameters(length=0.5, signal=0.5, own=1.0)
"""Standard deviations of the logarithms (of the odds for `own`)."""


def covariance(first: Rows, second: Rows, h: Hyperparameters) -> Rows:
    """Return the covariance between rows of features, without the mean: shapes (n, d), (m, d) -> (n, m)."""
    return _covariance(_squared_distances(first, second), h)


def _covariance(squared: Rows, h: Hyperparameters) -> Rows:
    same = squared < JITTER
    return h.signal**2 * ((1.0 - h.own) * np.exp(-0.5 * squared / h.length**2) + h.own * same)


def _squared_distances(first: Rows, second: Rows) -> Rows:
    squared = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1)[None, :] - 2.0 * first @ second.T
    return np.asarray(np.maximum(squared, 0.0))


@dataclass(frozen=True)
class Model:
    """A fitted process: features of the n sequences that were observed, and what was solved for them.

    centre, spread: values are `centre + spread * y`; factor: Cholesky factor of the covariance with noise;
    weights: its solution for y.
    """

    features: Rows
    centre: float
    spread: float
    hyperparameters: Hyperparameters
    factor: Rows
    weights: Rows

    @classmethod
    def fit(cls, features: Rows, values: Rows, errors: Rows, hyperparameters: Hyperparameters | None = None) -> Self:
        """Fit to values with their standard errors, one a distinct sequence; `hyperparameters` keeps them fixed.

        features: (n, d); values, errors: (n,). ValueError if an error is not positive.
        """
        if not np.all(errors > 0):
            raise ValueError("each value needs a positive error")
        centre, spread = _units(values, errors)
        y, noise = (values - centre) / spread, (errors / spread) ** 2
        squared = _squared_distances(features, features)
        best = hyperparameters or _most_likely(squared, y, noise)
        factor = _factor(squared, noise, best)
        weights = linalg.cho_solve((factor, True), y, check_finite=False)
        return cls(features, centre, spread, best, factor, weights)

    def posterior(self, features: Rows) -> tuple[Rows, Rows]:
        """Return mean and covariance of the values without noise at rows of features: (m,), (m, m)."""
        between = covariance(self.features, features, self.hyperparameters) + MEAN_PRIOR**2
        solved = linalg.solve_triangular(self.factor, between, lower=True, check_finite=False)
        prior = covariance(features, features, self.hyperparameters) + MEAN_PRIOR**2
        mean = self.centre + self.spread * (between.T @ self.weights)
        return mean, self.spread**2 * (prior - solved.T @ solved)


def merged(observations: Sequence[tuple[str, float, float]]) -> tuple[list[str], Rows, Rows, list[int]]:
    """Return distinct sequences, the means of their values, the errors of these, and how many there were.

    observations: sequence, value, standard error. The mean is plain: a run that happens to be small has a small error
    too, so that weights by errors would favour it.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for sequence, value, error in observations:
        found.setdefault(sequence, []).append((value, error))
    means = np.array([np.mean([value for value, _ in runs]) for runs in found.values()])
    errors = np.array([np.linalg.norm([error for _, error in runs]) / len(runs) for runs in found.values()])
    return list(found), means, errors, [len(runs) for runs in found.values()]


def _units(values: Rows, errors: Rows) -> tuple[float, float]:
    """Mean of the values and their spread beyond their errors, which is at least a quarter of their spread."""
    variance = float(values.var()) if values.size > 1 else 0.0
    beyond = max(variance - float(np.mean(errors**2)), variance / 16)
    return float(values.mean()), math.sqrt(beyond) if beyond > 0 else float(errors.mean())


def _factor(squared: Rows, noise: Rows, h: Hyperparameters) -> Rows:
    total = _covariance(squared, h) + MEAN_PRIOR**2 + np.diag(noise + JITTER)
    return np.asarray(linalg.cholesky(total, lower=True, check_finite=False))


def _most_likely(squared: Rows, y: Rows, noise: Rows) -> Hyperparameters:
    """Maximise likelihood times prior, from the centre of the prior on."""
    found = optimize.minimize(
        _objective, np.zeros(3), (squared, y, noise), jac=True, method="L-BFGS-B", bounds=[(-3.0, 3.0)] * 3,
        options={"maxiter": 25, "ftol": 1e-5},
    )  # fmt: skip
    return _of_steps(found.x)


def _of_steps(steps: Rows) -> Hyperparameters:
    """Hyperparameters that many standard deviations of the prior from its centre."""
    odds = math.log(CENTRE.own / (1 - CENTRE.own)) + WIDTH.own * steps[2]
    return Hyperparameters(
        length=CENTRE.length * math.exp(WIDTH.length * steps[0]),
        signal=CENTRE.signal * math.exp(WIDTH.signal * steps[1]),
        own=1.0 / (1.0 + math.exp(-odds)),
    )


def _objective(steps: Rows, squared: Rows, y: Rows, noise: Rows) -> tuple[float, Rows]:
    """Negative logarithm of likelihood times prior, and its derivatives (Rasmussen and Williams 2006, eq. 5.9)."""
    h = _of_steps(steps)
    smooth = h.signal**2 * np.exp(-0.5 * squared / h.length**2)
    own = h.signal**2 * (squared < JITTER)
    factor = _factor(squared, noise, h)
    solved = linalg.cho_solve((factor, True), y, check_finite=False)
    inverse = linalg.cho_solve((factor, True), np.eye(y.size), check_finite=False)
    value = 0.5 * float(y @ solved) + float(np.log(np.diag(factor)).sum()) + 0.5 * float(steps @ steps)
    parts = (
        WIDTH.length * (1 - h.own) * smooth * squared / h.length**2,
        2 * WIDTH.signal * ((1 - h.own) * smooth + h.own * own),
        WIDTH.own * h.own * (1 - h.own) * (own - smooth),
    )
    outer = inverse - np.outer(solved, solved)
    return value, np.array([0.5 * float((outer * part).sum()) for part in parts]) + steps
