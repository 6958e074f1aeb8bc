"""Diagnostics of the Lennard-Jones dimer, from what OpenMM and the samples say; names as in `schemas/debate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.science.estimators.bar import compare
from sophron.science.estimators.correlated_series import independent
from sophron.science.estimators.mbar import Estimate, Run
from sophron.science.estimators.restraints import Frame
from sophron.science.host_guest.protocols.apr import Window
from sophron.science.host_guest.protocols.lj_dimer import BOLTZMANN_KJ_PER_MOL_K, MOVING
from sophron.science.host_guest.sampling.openmm_system import described

if TYPE_CHECKING:
    from numpy.typing import NDArray


def engine(context: Any) -> str:
    """Program, version and platform."""
    return described(context)


def temperature_k(context: Any) -> float:
    """Return the kinetic temperature of the guest at this moment; it scatters by four fifths of itself."""
    state = context.getState(getEnergy=True)
    kinetic: float = state.getKineticEnergy()._value  # noqa: SLF001 - in kJ/mol
    return 2 * kinetic / (MOVING * BOLTZMANN_KJ_PER_MOL_K)


def of_window(
    windows: Sequence[Window], place: int, distances_a: Mapping[str, NDArray[np.float64]]
) -> dict[str, float | int]:
    """Return what the samples of one window, an array for each start, say of it."""
    both = np.concatenate(list(distances_a.values()))
    targets = [window.frame.distance.target for window in windows]
    beside = [targets[at] for at in (place - 1, place + 1) if 0 <= at < len(windows) and targets[at] != targets[place]]
    near = np.abs(both - targets[place])
    nearest = [near < np.abs(both - target) for target in beside]
    return {
        "window": place,
        "statistical_inefficiency": max(independent(each[None]).inefficiency for each in distances_a.values()),
        "distance_mean_a": float(both.mean()),
        "distance_deviation_a": float(both.std()),
        "dwell_within_target": float(np.all(nearest, axis=0).mean()) if nearest else 1.0,
    }


def of_overlaps(runs: Sequence[Run]) -> dict[str, object]:
    """Return the overlap of each window with the next alone; it is known even if MBAR refuses."""
    count = max(run.window for run in runs) + 1
    parts = [np.concatenate([run.reduced for run in runs if run.window == place], axis=1) for place in range(count)]
    overlaps = [
        compare(first[place + 1] - first[place], second[place + 1] - second[place]).overlap
        for place, (first, second) in enumerate(pairwise(parts))
    ]
    return {"window_count": count, "overlaps": overlaps, "minimum_overlap": min(overlaps)}


def of_estimate(found: Estimate) -> dict[str, object]:
    """Return what MBAR and its guards measured."""
    return {
        "overlaps": list(found.overlaps),
        "minimum_overlap": min(found.overlaps),
        "samples": list(found.samples),
        "effective_samples": list(found.effective_samples),
        "inefficiencies": list(found.inefficiencies),
        "block_difference_kcal_per_mol": found.block_difference,
        "hysteresis_kcal_per_mol": found.hysteresis,
    }


def of_release(frame: Frame) -> dict[str, float]:
    """Return the restraint of the distance that is released, so that the term can be computed again."""
    return {"release_target_a": frame.distance.target, "release_k_kcal_per_mol_a2": frame.distance.k}
