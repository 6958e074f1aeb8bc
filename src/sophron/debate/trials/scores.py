"""How predicted free energies of several guests compare with their references (MDForge, table 1)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]

Numbers = Mapping[str, float | None]
"""Guest -> standard binding free energy in kcal/mol; None, or what is not finite, if there is none."""
Interval: TypeAlias = tuple[float, ...]
"""Lower and upper end of a bootstrap interval."""
LEAST_GUESTS = 4
"""Two guests correlate perfectly whatever is predicted, and three do by chance once in six times."""
RESAMPLES, SEED = 10_000, 20_160_301
TAILS = (0.025, 0.975)


@dataclass(frozen=True)
class Scores:
    """guests: with a number; unanswered: without one; mae_kcal_per_mol: over those with one, None without any.

    mae_standard_error_kcal_per_mol: standard error of it, from its scatter over the guests; None for fewer than two.

    r2: squared correlation with the sign of the correlation; spearman: rank correlation. Both are over the guests with
    a number; None if undefined, or for fewer than `LEAST_GUESTS`.

    kendall: over the pairs of all guests: one with a missing number counts neither as right nor as wrong, so that
    refusing to answer never raises it. None for fewer than `LEAST_GUESTS` guests, those without a number counted.

    Each interval holds the central 95 % of the statistic over resampled guests; None for fewer than `LEAST_GUESTS`.
    """

    guests: int
    mae_kcal_per_mol: float | None
    mae_standard_error_kcal_per_mol: float | None
    r2: float | None
    spearman: float | None
    kendall: float | None
    unanswered: int = 0
    mae_interval_kcal_per_mol: Interval | None = None
    r2_interval: Interval | None = None
    spearman_interval: Interval | None = None
    kendall_interval: Interval | None = None


def compare(predicted: Numbers, references: Mapping[str, float]) -> Scores:
    """Return the scores of `predicted` for the guests of `references`."""
    import numpy as np

    names = sorted(references)
    values = [predicted.get(guest) for guest in names]
    numbers = [value if value is not None and math.isfinite(value) else math.nan for value in values]
    asked = np.array([numbers, [references[each] for each in names]])
    answered = asked[:, ~np.isnan(asked[0])]
    errors = np.abs(answered[0] - answered[1]).tolist()
    r2, r2_interval = _with_interval(_signed_r2, answered)
    spearman, spearman_interval = _with_interval(_spearman, answered)
    kendall, kendall_interval = _with_interval(_kendall, asked)
    return Scores(
        guests=len(errors),
        mae_kcal_per_mol=statistics.fmean(errors) if errors else None,
        mae_standard_error_kcal_per_mol=statistics.stdev(errors) / math.sqrt(len(errors)) if len(errors) > 1 else None,
        r2=r2,
        spearman=spearman,
        kendall=kendall,
        unanswered=len(names) - len(errors),
        mae_interval_kcal_per_mol=_with_interval(_mean_error, answered)[1],
        r2_interval=r2_interval,
        spearman_interval=spearman_interval,
        kendall_interval=kendall_interval,
    )


def _with_interval(statistic: Callable[[Array, Array], Array], pairs: Array) -> tuple[float | None, Interval | None]:
    """Return a statistic of `pairs`, shape (2, n), and its percentile interval over resampled guests.

    A resample for which it is undefined, such as one guest n times, is left out. None below `LEAST_GUESTS` guests.
    """
    import numpy as np

    count = pairs.shape[1]
    if count < LEAST_GUESTS:
        return None, None
    everyone = np.arange(count)
    value = statistic(pairs, everyone).item()
    if math.isnan(value):
        return None, None
    drawn = statistic(pairs, np.random.default_rng(SEED).integers(count, size=(RESAMPLES, count)))
    return value, tuple(np.quantile(drawn[~np.isnan(drawn)], TAILS).tolist())


def _mean_error(pairs: Array, guests: Array) -> Array:
    import numpy as np

    return np.asarray(np.abs(pairs[0] - pairs[1])[guests].mean(axis=-1))


def _signed_r2(pairs: Array, guests: Array) -> Array:
    import numpy as np

    correlation = _pearson(*pairs[:, guests])
    return np.asarray(np.sign(correlation) * correlation**2)


def _spearman(pairs: Array, guests: Array) -> Array:
    return _pearson(*(_ranks(values) for values in pairs[:, guests]))


def _kendall(pairs: Array, guests: Array) -> Array:
    """Concordant less discordant pairs, over all pairs of guests that differ; ties count neither way (tau-a)."""
    import numpy as np

    ours, theirs = (np.sign(values[:, None] - values) for values in pairs)
    one, other = guests[..., :, None], guests[..., None, :]
    with np.errstate(invalid="ignore"):
        agreement = np.nan_to_num(ours * theirs)[one, other].sum(axis=(-2, -1))
        return np.asarray(agreement / (one != other).sum(axis=(-2, -1)))


def _ranks(values: Array) -> Array:
    """Ranks from 0 along the last axis; equal values share their mean."""
    import numpy as np

    difference = values[..., :, None] - values[..., None, :]
    return np.asarray((np.sign(difference).sum(axis=-1) + values.shape[-1] - 1) / 2)


def _pearson(ours: Array, theirs: Array) -> Array:
    """Return the correlation along the last axis; NaN where all values are equal."""
    import numpy as np

    # Equal values less their mean may leave rounding, less the first of them they are exactly 0.
    deviations, others = ((values - values[..., :1]) for values in (ours, theirs))
    deviations = deviations - deviations.mean(axis=-1, keepdims=True)
    others = others - others.mean(axis=-1, keepdims=True)
    norm = np.sqrt((deviations**2).sum(axis=-1) * (others**2).sum(axis=-1))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.clip((deviations * others).sum(axis=-1) / norm, -1.0, 1.0))
