"""Hamiltonian replica exchange: neighbouring windows swap their configurations where both distributions allow it.

An option instead of independent windows, where a guest is trapped in some of them: all windows then run in one
process, one after the other, and none of them can be run alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sophron.science.host_guest.analysis import Sampled, reduced
from sophron.science.host_guest.sampling import Engine, Plan, State, segment_seed

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Exchanged:
    """sampled: of each window, in the order of time; accepted: part of the swaps of each window with the next.

    replicas: which start's configuration each window held, shape (samples, windows).
    """

    sampled: tuple[Sampled, ...]
    accepted: tuple[float, ...]
    replicas: NDArray[np.intp]


def run(engine: Engine, starts: Sequence[State], plan: Plan, seed: int) -> Exchanged:
    """Between any two samples, even and odd pairs of neighbours in turn may swap (10.1063/1.3660669).

    starts: one for each window of the engine's experiment. A swap is accepted with min(1, exp(-difference)) of the
    reduced energies; what is common to all windows cancels, so that only restraints and walls count.
    """
    experiment = engine.experiment
    count, source = len(experiment.windows), np.random.default_rng(seed)
    states, replicas = list(starts), np.arange(count)
    rows: list[list[tuple[float, ...]]] = [[] for _ in range(count)]
    held, tried, taken = [], np.zeros(count - 1), np.zeros(count - 1)
    for sample in range(plan.samples):
        for place, window in enumerate(experiment.windows):
            engine.begin(window, states[place], segment_seed(seed, sample * count + place))
            engine.step(plan.interval + (plan.settle if sample == 0 else 0))
            rows[place].append(engine.sample())
            states[place] = engine.state()
        held.append(replicas.copy())
        energies = reduced(experiment, np.array([each[-1] for each in rows]).T)
        for first in range(sample % 2, count - 1, 2):
            second = first + 1
            difference = energies[first, second] + energies[second, first]
            difference -= energies[first, first] + energies[second, second]
            tried[first] += 1
            if source.random() < np.exp(min(0.0, -difference)):
                taken[first] += 1
                states[first], states[second] = states[second], states[first]
                replicas[[first, second]] = replicas[[second, first]]
    sampled = tuple(Sampled(place, None, np.array(each).T) for place, each in enumerate(rows))
    return Exchanged(sampled, tuple(map(float, taken / np.maximum(tried, 1))), np.array(held))
