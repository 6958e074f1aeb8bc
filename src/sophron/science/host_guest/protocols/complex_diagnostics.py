"""Diagnostics of a complex's seeding and windows, from what the samples say; names as in `schemas/debate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sophron.science.estimators.correlated_series import independent
from sophron.science.estimators.mbar import SHORTEST_RUN
from sophron.science.host_guest.protocols.apr_setup import Experiment
from sophron.science.host_guest.protocols.decoupling_legs import Leg
from sophron.science.host_guest.protocols.seeding import Seeded
from sophron.science.host_guest.sampling.equilibration import slope_per_ns
from sophron.science.host_guest.sampling.samples import Sampled
from sophron.science.host_guest.sampling.window_sampling import COLUMNS, Plan, WindowT

if TYPE_CHECKING:
    from numpy.typing import NDArray

ENERGY, TEMPERATURE = COLUMNS.index("potential_kcal_per_mol"), COLUMNS.index("temperature_k")
WORST = {"dwell_within_target": min, "statistical_inefficiency": max}
"""Of the windows of one step, what counts."""


def of_seeding(seeded: Seeded[WindowT]) -> dict[str, object]:
    """Windows in all, and those that still overlap too little with the next, by short runs."""
    return {"window_count": len(seeded.windows), "thin_windows": list(seeded.thin)}


def of_window(experiment: Experiment, sampled: Sequence[Sampled], plan: Plan) -> dict[str, float]:
    """What the samples of one window, from each of its starts, say of it; at least two samples each."""
    place, values = sampled[0].window, [each.values for each in sampled]
    distances = np.concatenate([each[0] for each in values])
    target = experiment.windows[place].frame.distance.target
    targets = [window.frame.distance.target for window in experiment.windows]
    beside = {targets[at] for at in (place - 1, place + 1) if 0 <= at < len(targets)} - {target}
    nearest = [np.abs(distances - target) < np.abs(distances - other) for other in beside]
    found = of_bath(values, plan) | {
        "distance_mean_a": float(distances.mean()),
        "distance_deviation_a": float(distances.std()),
        "dwell_within_target": float(np.all(nearest, axis=0).mean()) if nearest else 1.0,
    }
    # Slowest of distance, theta and beta, over all starts: the one that subsampling goes by.
    return found | inefficiency([each[:3] for each in values])


def of_stage(leg: Leg, sampled: Sequence[Sampled], plan: Plan) -> dict[str, float]:
    """The same of a window of double decoupling, which is at no distance."""
    return of_bath([each.values for each in sampled], plan) | inefficiency([run.slow for run in leg.runs(sampled)])


def of_bath(values: Sequence[NDArray[np.float64]], plan: Plan) -> dict[str, float]:
    """Length, temperature and drifts; values: of each start, shape (columns, samples)."""
    interval_ps = plan.interval * plan.time_step_ps
    return {
        "sampled_ns": len(values) * plan.nanoseconds,
        "temperature_k": float(np.concatenate([each[TEMPERATURE] for each in values]).mean()),
        "energy_drift_kcal_per_mol_per_ns": _drift(values, ENERGY, interval_ps),
        "temperature_drift_k_per_ns": _drift(values, TEMPERATURE, interval_ps),
    }


def inefficiency(series: Sequence[NDArray[np.float64]]) -> dict[str, float]:
    """Samples worth one, of the slowest of all; series: of each start, shape (quantities, samples)."""
    if min(each.shape[1] for each in series) < SHORTEST_RUN:
        return {}
    return {"statistical_inefficiency": max(independent(each).inefficiency for each in series)}


def of_block(windows: Sequence[Mapping[str, float]], places: range, accepted: Sequence[float]) -> dict[str, object]:
    """Of all windows that one step has run: the worst if one is worst, else sum or mean.

    windows: of each; places: theirs in the chain; accepted: part of the swaps between neighbours that were made.
    """
    if len(windows) == 1:
        return {"window": places.start, **windows[0]}
    found: dict[str, object] = {
        "window": places.start,
        "windows_in_step": len(windows),
        "accepted_swaps": list(accepted),
    }
    for name in windows[0]:
        values = [each[name] for each in windows if name in each]
        if name in WORST:
            found[name] = WORST[name](values)
        elif not name.startswith("distance_"):  # of several windows, it has no meaning
            found[name] = float(np.sum(values) if name == "sampled_ns" else np.mean(values))
    return found


def _drift(values: Sequence[NDArray[np.float64]], column: int, interval_ps: float) -> float:
    """Mean slope over the starts: each settles by itself."""
    return float(np.mean([slope_per_ns(each[column], interval_ps) for each in values]))
