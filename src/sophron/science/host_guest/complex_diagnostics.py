"""Diagnostics of a complex's seeding and windows, from what the samples say; names as in `schemas/debate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.science.estimators.decorrelate import independent
from sophron.science.host_guest.analysis import Way
from sophron.science.host_guest.experiment import Experiment
from sophron.science.host_guest.relax import slope_per_ns
from sophron.science.host_guest.sampling import COLUMNS, Plan
from sophron.science.host_guest.seeding import Seeded

if TYPE_CHECKING:
    from numpy.typing import NDArray

ENERGY, TEMPERATURE = COLUMNS.index("potential_kcal_per_mol"), COLUMNS.index("temperature_k")


def of_seeding(seeded: Seeded) -> dict[str, Any]:
    """Windows in all, and those that still overlap too little with the next, by short runs."""
    return {"window_count": len(seeded.windows), "thin_windows": list(seeded.thin)}


def of_window(
    experiment: Experiment, place: int, samples: Mapping[Way, NDArray[np.float64]], plan: Plan
) -> dict[str, float | int]:
    """What the samples of one window say of it; samples: of each start, shape (columns, samples), at least two."""
    both = np.concatenate(list(samples.values()), axis=1)
    target = experiment.windows[place].frame.distance.target
    targets = [window.frame.distance.target for window in experiment.windows]
    beside = {targets[at] for at in (place - 1, place + 1) if 0 <= at < len(targets)} - {target}
    nearest = [np.abs(both[0] - target) < np.abs(both[0] - other) for other in beside]
    interval_ps = plan.interval * plan.time_step_ps
    found: dict[str, float | int] = {
        "window": place,
        "sampled_ns": len(samples) * plan.nanoseconds,
        "distance_mean_a": float(both[0].mean()),
        "distance_deviation_a": float(both[0].std()),
        "dwell_within_target": float(np.all(nearest, axis=0).mean()) if nearest else 1.0,
        "temperature_k": float(both[TEMPERATURE].mean()),
        "energy_drift_kcal_per_mol_per_ns": _drift(samples, ENERGY, interval_ps),
        "temperature_drift_k_per_ns": _drift(samples, TEMPERATURE, interval_ps),
    }
    if min(each.shape[1] for each in samples.values()) >= 8:
        # Slowest of distance, theta and beta, over both starts: the one that subsampling goes by.
        found["statistical_inefficiency"] = max(independent(each[:3]).inefficiency for each in samples.values())
    return found


def _drift(samples: Mapping[Way, NDArray[np.float64]], column: int, interval_ps: float) -> float:
    """Mean slope over the starts: each settles by itself."""
    return float(np.mean([slope_per_ns(each[column], interval_ps) for each in samples.values()]))
