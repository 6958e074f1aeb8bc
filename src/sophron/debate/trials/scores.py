"""How predicted free energies of several guests compare with their references (MDForge, table 1)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

Numbers = Mapping[str, float | None]
"""Guest -> standard binding free energy in kcal/mol; None if there is none."""


@dataclass(frozen=True)
class Scores:
    """guests: with a number; mae_kcal_per_mol: over these, None without any; r2, spearman: None if undefined.

    mae_standard_error_kcal_per_mol: standard error of it, from its scatter over the guests; None for fewer than two.

    kendall: over the pairs of all guests: one with a missing number counts neither as right nor as wrong, so that
    refusing to answer never raises it. None for fewer than two guests.
    """

    guests: int
    mae_kcal_per_mol: float | None
    mae_standard_error_kcal_per_mol: float | None
    r2: float | None
    spearman: float | None
    kendall: float | None


def compare(predicted: Numbers, references: Mapping[str, float]) -> Scores:
    """Return the scores of `predicted` for the guests of `references`."""
    pairs = [(value, references[guest]) for guest in sorted(references) if (value := predicted.get(guest)) is not None]
    ours, theirs = [one for one, _ in pairs], [other for _, other in pairs]
    correlation, errors = _pearson(ours, theirs), [abs(one - other) for one, other in pairs]
    return Scores(
        guests=len(pairs),
        mae_kcal_per_mol=statistics.fmean(errors) if errors else None,
        mae_standard_error_kcal_per_mol=statistics.stdev(errors) / math.sqrt(len(errors)) if len(errors) > 1 else None,
        r2=None if correlation is None else correlation**2,
        spearman=_pearson(_ranks(ours), _ranks(theirs)),
        kendall=_kendall(pairs, len(references)),
    )


def _kendall(pairs: Sequence[tuple[float, float]], guests: int) -> float | None:
    """Concordant less discordant pairs, over all pairs of guests; ties count neither way (tau-a)."""
    if guests < 2:
        return None
    agreements = (_sign(a - c) * _sign(b - d) for (a, b), (c, d) in combinations(pairs, 2))
    return sum(agreements) / math.comb(guests, 2)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; equal values share their mean."""
    return [
        1 + sum(other < value for other in values) + 0.5 * (sum(other == value for other in values) - 1)
        for value in values
    ]


def _pearson(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    if len(ours) < 2:
        return None
    mean, other_mean = math.fsum(ours) / len(ours), math.fsum(theirs) / len(theirs)
    spread = math.fsum((each - mean) ** 2 for each in ours)
    other_spread = math.fsum((each - other_mean) ** 2 for each in theirs)
    if not (spread and other_spread):
        return None
    shared = math.fsum((one - mean) * (other - other_mean) for one, other in zip(ours, theirs, strict=True))
    return max(-1.0, min(1.0, shared / math.sqrt(spread * other_spread)))
