"""Expected Rwp of a simulated series: the counting-statistics floor plus the model's own misfit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sophron.interfaces.rietveld import Fit


@dataclass(frozen=True)
class Floor:
    """Sums over a fit without noise at `time_s`, from which Rwp follows for any other time.

    misfit: of (truth - model)^2 / model; signal: of truth^2 / model; both grow as the time; variance: of truth / model.
    """

    time_s: float
    misfit: float
    signal: float
    variance: float

    @property
    def percent(self) -> float:
        """Rwp without noise: the floor of the model."""
        return 100.0 * math.sqrt(self.misfit / self.signal)

    def rwp_percent(self, time_s: float, variables: int) -> float:
        """Return the expected Rwp of a fit with so many variables to Poisson counts, weighted by its model.

        From the expectations of sum w (y - m)^2 and of sum w y^2 with w = 1/m: the variance of y is its mean, and
        each variable takes up one squared deviation. To first order, so the two are taken apart.
        """
        longer = time_s / self.time_s
        above = self.variance - variables + longer * self.misfit
        below = self.variance + longer * self.signal
        return 100.0 * math.sqrt(above / below)


def floor(fit: Fit, time_s: float) -> Floor:
    """Return the floor of the model in `fit`, refined against expected counts of `time_s` with their own variances."""
    truth, model = fit.curves.observed, fit.curves.calculated
    return Floor(
        time_s,
        misfit=float(np.sum((truth - model) ** 2 / model)),
        signal=float(np.sum(truth**2 / model)),
        variance=float(np.sum(truth / model)),
    )
