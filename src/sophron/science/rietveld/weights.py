"""Weights of counts: from what a model expects, not from what was counted, because that is biased if counts are few.

A point that by chance counted less would be weighted more, and the fit be drawn below the truth: at a mean of four
counts by 29 % of the background. With variances of the expected counts, worked out anew after each fit until nothing
moves, least squares come to the maximum of the Poisson likelihood (10.1080/01621459.1976.10481508).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sophron.interfaces.rietveld import Cycle, Fit, Pattern, Request
from sophron.science.rietveld.refinement import Refinement

LEAST_SHARE = 0.01
"""Of the mean: a background that dips below zero on its way must not get all the weight."""

STILL = 0.1
"""Of an esd: parameters that move less from one set of weights to the next have settled."""

MOST_ROUNDS = 6


def even(pattern: Pattern) -> Pattern:
    """Return the same weight everywhere, to begin with: far from the best, but without bias."""
    return replace(pattern, sigma=np.full_like(pattern.intensity, np.sqrt(pattern.intensity.mean())))


def from_model(pattern: Pattern, fit: Fit) -> Pattern:
    """Return the variances of the counts that `fit` expects; outside its range, if nothing is fitted, even ones."""
    calculated = fit.curves.calculated
    variance = np.full_like(pattern.intensity, pattern.intensity.mean())
    inside = np.isin(pattern.two_theta_deg, fit.curves.two_theta_deg)
    variance[inside] = np.maximum(calculated, LEAST_SHARE * calculated.mean())
    return replace(pattern, sigma=np.sqrt(variance))


def settle(refinement: Refinement, request: Request, label: str) -> Cycle:
    """Refine and weigh by turns until no parameter moves by a tenth of its esd; the last cycle, well ended or not.

    If the current state was refined with the same freedom, one cycle that moves nothing is enough. It leaves
    `refinement.pattern` with the weights that the last cycle had.
    """
    before = refinement.current.fit
    cycle = refinement.refine(request, label)
    for turn in range(2, MOST_ROUNDS + 1):
        if cycle.fit is None or (before is not None and _still(before, cycle.fit)):
            break
        before = cycle.fit
        refinement.pattern = from_model(refinement.pattern, before)
        cycle = refinement.refine(replace(request, values={}), f"{label}, weights {turn}")
    return cycle


def _still(before: Fit, after: Fit) -> bool:
    """Whether the same parameters were free, and are where they were."""
    values = {one.name: one.value for one in before.parameters if one.esd_counting is not None}
    free = [one for one in after.parameters if one.esd_counting is not None]
    return values.keys() == {one.name for one in free} and all(
        abs(one.value - values[one.name]) <= STILL * one.esd_counting for one in free if one.esd_counting is not None
    )
