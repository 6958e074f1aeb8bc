"""A number that is not given: why, as a type and as a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why no number is given."""

    NO_OVERLAP = "no_overlap"
    FEW_SAMPLES = "few_samples"
    SHORT_SERIES = "short_series"
    HEAVY_TAIL = "heavy_tail"
    NOT_SOLVED = "not_solved"
    BLOCKS_DIFFER = "blocks_differ"
    HYSTERESIS = "hysteresis"
    SITES_UNEQUAL = "sites_unequal"
    STILL_INTERACTING = "still_interacting"
    CYCLE_OPEN = "cycle_open"
    NO_PREDICTION = "no_prediction"
    DISAGREEMENT = "disagreement"
    NO_ERROR = "no_error"
    NOT_LINEAR = "not_linear"
    NOISE = "noise"


@dataclass(frozen=True)
class Refusal:
    """A number that is not given. windows: those to blame, counted from 0; empty if it is all of them."""

    reason: Reason
    sentence: str
    windows: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Typed reason and sentence, in one line."""
        return f"{self.reason}: {self.sentence}"
