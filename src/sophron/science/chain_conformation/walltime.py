"""Wall times of sets of runs: ratios of paired runs, and whether the runs took turns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sophron.science.chain_conformation.run_set_checks import RunSet


@dataclass(frozen=True)
class Ratio:
    """Geometric mean over replicas of paired wall times, and the standard error of it; None for one replica."""

    value: float
    error: float | None


def ratio(one: RunSet, other: RunSet, key: str = "wall_s") -> Ratio:
    """Time of `one` over that of `other`, run by run of the same replica: what the machine does slowly cancels."""
    from sophron.science.estimators.statistics import t_interval

    logs = [math.log(getattr(a.ran, key) / getattr(b.ran, key)) for a, b in zip(one.runs, other.runs, strict=True)]
    value = math.exp(sum(logs) / len(logs))
    return Ratio(value, value * t_interval(logs).standard_error if len(logs) > 1 else None)


def took_turns(sets: Sequence[RunSet]) -> bool:
    """Return whether the runs came one after another, each round of them with one run of every set.

    Times that were not taken so measure the machine's other load as much as the way; clocks are those of the hosts.
    """
    from datetime import datetime

    runs = sorted(
        (datetime.fromisoformat(run.ran.started), datetime.fromisoformat(run.ran.ended), one.way.stage)
        for one in sets
        for run in one.runs
    )
    apart = all(before[1] <= after[0] for before, after in pairwise(runs))
    stages = [stage for _, _, stage in runs]
    rounds = [stages[i : i + len(sets)] for i in range(0, len(stages), len(sets))]
    return apart and all(len(set(one)) == len(sets) for one in rounds)
