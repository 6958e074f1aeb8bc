"""Corrections of a binding free energy: equivalent sites, and protonation at the pH of the experiment."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sophron.science.estimators.refusal import Reason, Refusal
from sophron.science.estimators.restraints import rt
from sophron.science.estimators.thermodynamic_cycle import Term

CONFIDENCE = 0.95
TOLERANCE = 0.2
"""kcal/mol by which the shares of equivalent sites may be wrong; half of RT ln 2 would hide which case it is."""


def locked_symmetry(sites: int, temperature_k: float) -> float:
    """Return -RT ln n in kcal/mol: what n equivalent sites add if restraints kept the guest to one of them."""
    return -rt(temperature_k) * math.log(sites)


def symmetry(visits: Sequence[int], temperature_k: float) -> Term | Refusal:
    """Return what equivalent sites of the host add to the binding simulated without a lock: -RT ln n, or 0, or none.

    visits: independent samples of the fully bound window in each of the n equivalent sites. The guest that stayed in
    one gets -RT ln n; one that changed between them has counted all sites already. Either is claimed only if the exact
    95 % interval of each share (Clopper and Pearson, Bonferroni over the independent shares) excludes whatever would
    shift the result by more than `TOLERANCE`: shares that do shift it by more pass in at most 2.5 % of cases, however
    few the samples are. That shift at the end of the interval is the systematic error. ValueError without samples.
    """
    total, sites = sum(visits), len(visits)
    if not total or min(visits) < 0:
        raise ValueError("a symmetry term needs samples of the bound window in at least one site")
    if sites == 1:
        return Term("symmetry", 0.0)
    stayed = max(visits) == total
    shift = _largest_shift([total] if stayed else visits, total, sites, rt(temperature_k))
    if shift <= TOLERANCE:
        return Term("symmetry", locked_symmetry(sites, temperature_k) if stayed else 0.0, systematic=shift)
    seen = ", ".join(str(count) for count in visits)
    sentence = (
        f"equivalent sites were visited {seen} times, which shows neither one alone nor all alike: the result may be "
        f"off by {shift:.2g} kcal/mol ({TOLERANCE:g} are allowed); lock one or run longer."
    )
    return Refusal(Reason.SITES_UNEQUAL, sentence)


def _largest_shift(visits: Sequence[int], total: int, sites: int, unit: float) -> float:
    """RT times the largest |ln(share / expected share)| over the intervals of the shares; infinite if one may be 0.

    visits: of one site, if the guest stayed there and all samples are expected in it, else of all.
    """
    from scipy.stats import binomtest

    expected = 1 / len(visits)
    confidence = 1 - (1 - CONFIDENCE) / (sites - 1)
    intervals = [binomtest(count, total).proportion_ci(confidence, method="exact") for count in visits]
    ends = [end for interval in intervals for end in (float(interval.low), float(interval.high))]
    return unit * max(abs(math.log(end / expected)) if end > 0 else math.inf for end in ends)


def protonation(
    ph: float, pka_free: float, temperature_k: float, *, simulated_protonated: bool, pka_bound: float | None = None
) -> float:
    """Return the free energy in kcal/mol that one titrating site adds to the binding of the form simulated, at `ph`.

    RT ln of (all forms / the simulated form) of the free guest over the same of the bound one; for a protonated guest
    with pka_bound infinite: RT ln(1 + 10^(ph - pka_free)). pka_bound None: the host binds the simulated form alone.
    """
    sign = 1.0 if simulated_protonated else -1.0
    free = _log1p_ten(sign * (ph - pka_free))
    bound = 0.0 if pka_bound is None else _log1p_ten(sign * (ph - pka_bound))
    return rt(temperature_k) * (free - bound)


def _log1p_ten(exponent: float) -> float:
    """ln(1 + 10^exponent) without overflow."""
    power = exponent * math.log(10)
    return max(power, 0.0) + math.log1p(math.exp(-abs(power)))
