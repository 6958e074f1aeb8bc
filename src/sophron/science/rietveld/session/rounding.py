"""Numbers of a fit as plain data, rounded: an agent reads them, and a replay has to meet the same ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sophron.interfaces.rietveld import Fit
from sophron.science.rietveld.session.report import Value

DIGITS = 8
CELL = ("a", "b", "c", "alpha", "beta", "gamma")


def rounded(value: float | None) -> float | None:
    """Return a number with as many digits as repeat on one machine."""
    return None if value is None else float(f"{value:.{DIGITS}g}")


def fit_numbers(fit: Fit) -> dict[str, float | None]:
    """Return the agreement indices by name, in the units of the report."""
    values = {
        "rwp_percent": fit.rwp.percent,
        "rp_percent": fit.rp_percent,
        "r_expected_percent": fit.r_expected_percent,
        "chi2": fit.chi2,
        "gof": fit.gof,
        "observations": float(fit.observations),
        "variables": float(fit.variables),
        "largest_shift_over_esd": fit.largest_shift_over_esd,
    }
    return {name: rounded(value) for name, value in values.items()}


def significance(fit: Fit, phase: str) -> float | None:
    """Return the scale of a phase over its standard deviation from counting alone; None if the scale was not free."""
    found = next((one for one in fit.parameters if one.name == f"scale/{phase}"), None)
    if found is None:
        return None
    # An engine that inflates its esd for misfit would hide a weak phase, one that does not has a single esd.
    esd = found.esd_counting if found.esd_counting is not None else found.esd
    return rounded(found.value / esd) if esd else None


def cell(fit: Fit, values: Mapping[str, float], phase: str) -> dict[str, Value]:
    """Return the cell parameters of a phase with their standard deviations (None if they were not refined)."""
    refined = {one.name: one for one in fit.parameters}
    found = {}
    for letter in CELL:
        name = f"cell/{phase}/{letter}"
        if name in values:
            one = refined.get(name)
            esd, counting = (None, None) if one is None else (one.esd, one.esd_counting)
            found[letter] = Value(rounded(values[name]), rounded(esd), rounded(counting))
    return found


@dataclass(frozen=True)
class PhaseNumbers:
    """What one phase came to, rounded."""

    name: str
    weight_fraction: float | None
    weight_fraction_esd: float | None
    significance: float | None
    r_f_percent: float | None
    reflections: int
    size_nm: float | None
    microstrain: float | None


def phase_numbers(fit: Fit, phase: str) -> PhaseNumbers:
    """Return what one phase came to."""
    one = next(found for found in fit.phases if found.name == phase)
    alone = len(fit.phases) == 1
    return PhaseNumbers(
        name=phase,
        weight_fraction=1.0 if alone else rounded(one.weight_fraction),
        weight_fraction_esd=None if alone else rounded(one.weight_fraction_esd),
        significance=significance(fit, phase),
        r_f_percent=rounded(one.r_f_percent),
        reflections=one.reflections,
        size_nm=rounded(one.size_nm),
        microstrain=rounded(one.microstrain),
    )
