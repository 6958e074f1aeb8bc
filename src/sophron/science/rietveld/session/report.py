"""The report of a refinement (`schemas/agents/refinement.schema.yaml`): what its tool fills in, and its check reads.

What an agent adds in words (caveats, alternatives, summary) is not in these types: no number rests on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sophron.interfaces.rietveld import Freed, Parameter
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
