"""Whether a pattern supports that a minor phase is there, and that the main one is the right one: typed verdicts.

Thresholds are data (`phase_significance.yaml`), frozen over many seeds of simulated series
before anything was judged by them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import yaml

from sophron.interfaces.rietveld import Fit
from sophron.records.errors import UserError, shown

Verdict = Literal[
    "claimed",  # it is there
    "not claimed",  # nothing says that it is there; no proof that it is not
    "nothing asserted",  # too much for chance, too little for a claim: count longer
]


@dataclass(frozen=True)
class Thresholds:
    """significance: of a scale over its uncorrected esd; claimed from the second on, not claimed below the first.

    misfit_percent: most that may be left of Rwp after counting statistics, for a model that may be right.
    source: what they were frozen with.
    """

    not_claimed_below: float
    claimed_from: float
    misfit_percent: float
    source: str


@dataclass(frozen=True)
class Evidence:
    """What there is for one minor phase. significance: its scale over its uncorrected esd (dimensionless).

    weight_fraction: and its esd as the engine gives them; a claim carries them, nothing else does.
    """

    phase: str
    significance: float
    verdict: Verdict
    weight_fraction: float | None
    weight_fraction_esd: float | None


@cache
def thresholds() -> Thresholds:
    """Return those in `phase_significance.yaml`."""
    return Thresholds(**yaml.safe_load((Path(__file__).parent / "phase_significance.yaml").read_text(encoding="utf-8")))


def significance(fit: Fit, phase: str) -> float:
    """Return the scale of `phase` over its uncorrected esd, 0 if the engine took it out.

    Raise UserError if it was not free.
    """
    free = {one.name: one for one in fit.parameters}
    scale = free.get(f"scale/{phase}")
    if scale is None:
        raise UserError(f'the scale of "{shown(phase)}" was not free in this fit; free it, or give another phase')
    return max(scale.value, 0.0) / scale.esd_counting if scale.esd_counting else 0.0


def of_minor_phase(fit: Fit, phase: str, by: Thresholds) -> Evidence:
    """Return the verdict on a phase whose scale was free beside that of the main one."""
    found = significance(fit, phase)
    if found >= by.claimed_from and is_adequate(fit, by):
        share = next(one for one in fit.phases if one.name == phase)
        return Evidence(phase, found, "claimed", share.weight_fraction, share.weight_fraction_esd)
    verdict: Verdict = "not claimed" if found < by.not_claimed_below else "nothing asserted"
    return Evidence(phase, found, verdict, None, None)


def is_adequate(fit: Fit, by: Thresholds) -> bool:
    """Return whether the model as a whole may be right: a wrong main phase leaves more than any minor one explains."""
    return fit.misfit_percent <= by.misfit_percent
