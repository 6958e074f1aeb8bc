"""Corrections of a binding free energy: equivalent sites, and protonation at the pH of the experiment."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sophron.science.estimators.refusal import Reason, Refusal
from sophron.science.estimators.restraints import rt

SIGNIFICANCE = 3.0


def symmetry(visits: Sequence[int], temperature_k: float) -> float | Refusal:
    """Free energy in kcal/mol that equivalent sites of the host add to the binding simulated: -RT ln n, or 0, or none.

    visits: independent samples of the fully bound window in each of the n equivalent sites. The condition of -RT ln n
    is that restraints kept the guest to one site; if it changed sites, the simulation has counted all of them
    already, and equally often within 3 standard deviations. Anything between is refused. ValueError without samples.
    """
    total, sites = sum(visits), len(visits)
    if not total or min(visits) < 0:
        raise ValueError("a symmetry term needs samples of the bound window in at least one site")
    if max(visits) == total:
        return -rt(temperature_k) * math.log(sites)
    allowed = SIGNIFICANCE * math.sqrt(total * (1 / sites) * (1 - 1 / sites))
    if all(abs(count - total / sites) <= allowed for count in visits):
        return 0.0
    seen = ", ".join(str(count) for count in visits)
    sentence = f"equivalent sites were visited {seen} times, neither one alone nor all alike; lock one or run longer."
    return Refusal(Reason.SITES_UNEQUAL, sentence)


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
