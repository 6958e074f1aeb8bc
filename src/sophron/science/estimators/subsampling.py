"""Subsample a run: discard its equilibration, keep samples so far apart that they are independent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sophron.science.estimators.statistics import statistical_inefficiency

if TYPE_CHECKING:
    from numpy.typing import NDArray

ORIGINS = 20
"""Starts that are tried, equally spaced over the first half."""


@dataclass(frozen=True)
class Kept:
    """indices: samples that count, ascending; start: first equilibrated one; inefficiency: samples worth one."""

    indices: NDArray[np.intp]
    start: int
    inefficiency: float


def independent(series: NDArray[np.float64]) -> Kept:
    """Choose start and spacing from `series`, shape (quantities, samples), with at least 8 samples.

    For each start the slowest quantity counts; the start that leaves most independent samples is taken (Chodera 2016,
    10.1021/acs.jctc.5b00784), within the first half: what needs longer has not equilibrated, and the guards see it.
    """
    samples = series.shape[1]
    starts = sorted({samples * origin // (2 * ORIGINS) for origin in range(ORIGINS + 1)})
    slowest = [max(1.0, *(statistical_inefficiency(each[start:]) for each in series)) for start in starts]
    best = max(range(len(starts)), key=lambda place: (samples - starts[place]) / slowest[place])
    indices = np.unique(np.arange(starts[best], samples, slowest[best]).astype(np.intp))
    return Kept(indices, starts[best], slowest[best])
