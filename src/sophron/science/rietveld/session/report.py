"""The report of a refinement (`schemas/agents/refinement.schema.yaml`): what its tool fills in, and its check reads.

Numbers of a fit are rounded: an agent reads them, and a replay has to meet the same ones.

What an agent adds in words (caveats, alternatives, summary) is not in these types: no number rests on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sophron.interfaces.rietveld import Fit, Freed, Parameter
from sophron.science.rietveld.session.sample import Role


@dataclass(frozen=True)
class Value:
    """A number of the model. esd: as the engine reports it; esd_counting: from counting statistics alone."""

    value: float | None
    esd: float | None
    esd_counting: float | None


@dataclass(frozen=True)
class BackgroundKind:
    """Function of the background and its number of coefficients."""

    kind: str
    count: int


@dataclass(frozen=True)
class FitNumbers:
    """How well the reported model fits. limits_deg: of the refined range, in degrees 2 theta."""

    rwp_percent: float
    rp_percent: float
    r_expected_percent: float
    chi2: float
    gof: float
    observations: int
    variables: int
    largest_shift_over_esd: float | None
    rwp_engine: str
    weights: str
    limits_deg: tuple[float, float]
    background: BackgroundKind


@dataclass(frozen=True)
class ReportedPhase:
    """A phase that was considered. cell: by letter, empty if it is not in the model."""

    name: str
    role: Role
    in_model: bool
    claimed: bool
    weight_fraction: float | None
    weight_fraction_esd: float | None
    significance: float | None
    r_f_percent: float | None
    reflections: int | None
    cell: Mapping[str, Value]


@dataclass(frozen=True)
class Refined:
    """What was free in the reported model."""

    count: int
    groups: tuple[Freed, ...]
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class HeldGroup:
    """A group that was left fixed although the engine could free it, and why; phase: None for all of them or none."""

    group: str
    phase: str | None
    reason: str


@dataclass(frozen=True)
class Reading:
    """A plot that was looked at, from low_deg to high_deg, and what it showed of a state."""

    low_deg: float
    high_deg: float
    whole: bool
    state: int | None
    reading: str


@dataclass(frozen=True)
class Report:
    """state: number of the reported one; fit: None if no cycle ended well."""

    pattern: str
    engine: str
    engine_version: str
    state: int
    converged: bool
    fit: FitNumbers | None
    phases: tuple[ReportedPhase, ...]
    refined: Refined
    held: tuple[HeldGroup, ...]
    decisions: tuple[str, ...]
    plots: tuple[Reading, ...]


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
