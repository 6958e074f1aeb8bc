"""Neighbouring windows of a chain in one process, in segments; between samples, neighbours may swap configurations.

A block of one window is a window by itself. Swaps are Hamiltonian replica exchange (10.1063/1.3660669), which helps
where a guest is trapped in some windows and not in others; it reaches as far as the block does.

A segment is a function of the one before it and of its own seed. So a killed block goes on after its last whole
segment, and ends in the samples that it would have given unharmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sophron.science.host_guest import arrays
from sophron.science.host_guest.sampling import Engine, Plan, State, W, segment_seed

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Ran:
    """values: of each window, shape (windows, columns, samples), each in the order of time.

    replicas: which start's configuration each window held, shape (samples, windows); accepted: part of the swaps of
    each window with the next that were made.
    """

    values: NDArray[np.float64]
    replicas: NDArray[np.intp]
    accepted: tuple[float, ...]


@dataclass(frozen=True)
class _Begun:
    """Where a segment begins. samples: taken before it, which say whose turn to swap it is."""

    states: Sequence[State]
    replicas: NDArray[np.intp]
    samples: int


@dataclass(frozen=True)
class _Segment:
    """As it is kept: samples as in `Ran`, and where it ended, of each window."""

    values: NDArray[np.float64]
    replicas: NDArray[np.intp]
    swaps: NDArray[np.intp]
    positions_a: NDArray[np.float64]
    velocities: NDArray[np.float64]

    def end(self, samples: int) -> _Begun:
        """Where the next one begins."""
        states = [State(*each) for each in zip(self.positions_a, self.velocities, strict=True)]
        return _Begun(states, self.replicas[-1], samples)


def places(step: int, together: int, windows: int) -> range:
    """Windows of one production step where each runs `together` of them; empty beyond the last one."""
    return range(min(step * together, windows), min((step + 1) * together, windows))


def run(engine: Engine[W], block: range, starts: Sequence[State], plan: Plan, *, seed: int, folder: Path) -> Ran:
    """Sample the windows of `block` from one start each; segments are kept in `folder` and never repeated.

    EngineFailure where a run breaks.
    """
    begun = _Begun(starts, np.arange(len(block)), 0)
    parts = []
    for number in range(-(-plan.samples // plan.segment)):
        path = folder / f"segment_{number:04d}.npz"
        if not path.is_file():
            left = min(plan.segment, plan.samples - begun.samples)
            work = replace(plan, samples=left, settle=0 if number else plan.settle)
            arrays.write(path, vars(_segment(engine, block, begun, work, segment_seed(seed, number))))
        with np.load(path) as kept:
            parts.append(_Segment(**{name: kept[name] for name in kept.files}))
        begun = parts[-1].end(begun.samples + parts[-1].values.shape[2])
    swaps = sum(part.swaps for part in parts)
    accepted = np.asarray(swaps)[1] / np.maximum(np.asarray(swaps)[0], 1)
    return Ran(
        np.concatenate([part.values for part in parts], axis=2),
        np.concatenate([part.replicas[:-1] for part in parts]),
        tuple(map(float, accepted)),
    )


def _segment(engine: Engine[W], block: range, begun: _Begun, plan: Plan, seed: int) -> _Segment:
    windows = [engine.experiment.windows[place] for place in block]
    states, replicas, source = list(begun.states), begun.replicas.copy(), np.random.default_rng(seed)
    rows: list[list[tuple[float, ...]]] = [[] for _ in windows]
    kept, swaps = [], np.zeros((2, len(windows) - 1), dtype=np.intp)
    engine.reseed(seed)
    for sample in range(plan.samples):
        for at, window in enumerate(windows):
            if sample == 0 or len(windows) > 1:  # else it stands there
                engine.enter(window, states[at], segment_seed(seed, at))
            engine.step(plan.interval + (plan.settle if sample == 0 else 0))
            rows[at].append(engine.sample())
            if len(windows) > 1 or sample == plan.samples - 1:
                states[at] = engine.state()
        kept.append(replicas.copy())
        energies = engine.experiment.reduced(np.array([each[-1] for each in rows]).T)[list(block)]
        for first in range((begun.samples + sample) % 2, len(windows) - 1, 2):
            pair = [first, first + 1]
            swaps[0, first] += 1
            if source.random() < np.exp(min(0.0, -_cost(energies[np.ix_(pair, pair)]))):
                swaps[1, first] += 1
                states[first], states[first + 1] = states[first + 1], states[first]
                replicas[pair] = replicas[pair[::-1]]
    return _Segment(
        np.array(rows).transpose(0, 2, 1),
        np.array([*kept, replicas]),
        swaps,
        np.array([state.positions_a for state in states]),
        np.array([state.velocities for state in states]),
    )


def _cost(energies: NDArray[np.float64]) -> float:
    """Reduced energy that a swap costs; energies: of two samples (columns) in their windows (rows), shape (2, 2)."""
    return float(energies[0, 1] + energies[1, 0] - energies[0, 0] - energies[1, 1])
