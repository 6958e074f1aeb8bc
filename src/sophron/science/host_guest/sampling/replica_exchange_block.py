"""Neighbouring windows of a chain in one process, in segments; between samples, neighbours may swap configurations.

A block of one window is a window by itself. Swaps are Hamiltonian replica exchange (10.1063/1.3660669), which helps
if a guest is trapped in some windows and not in others; it reaches as far as the block does.

A segment is a function of where the one before it ended and of its own seed. So a killed block goes on after its last
whole segment, and ends in the samples that it would have given unharmed. Of where segments ended, the last is kept: in
water, all of them would be hundreds of megabytes a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.records import step_progress
from sophron.science.host_guest.sampling import npz
from sophron.science.host_guest.sampling.window_sampling import Engine, Plan, State, WindowT, segment_seed

if TYPE_CHECKING:
    from numpy.typing import NDArray

STATE = ("positions_a", "velocities")


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

    def write(self, path: Path) -> None:
        """Keep it; states have velocities by now."""
        positions, velocities = (np.array([getattr(each, name) for each in self.states]) for name in STATE)
        count = np.array(self.samples)
        npz.write(
            path, {"positions_a": positions, "velocities": velocities, "replicas": self.replicas, "samples": count}
        )

    @classmethod
    def read(cls, path: Path) -> _Begun:
        """What `write` kept."""
        kept = npz.read(path)
        states = [State(*each) for each in zip(*(kept[name] for name in STATE), strict=True)]
        return cls(states, kept["replicas"], int(kept["samples"]))


def places(step: int, together: int, windows: int) -> range:
    """Windows of one production step where each runs `together` of them; empty beyond the last one."""
    return range(min(step * together, windows), min((step + 1) * together, windows))


def run(engine: Engine[WindowT], block: range, starts: Sequence[State], plan: Plan, *, seed: int, folder: Path) -> Ran:
    """Sample the windows of `block` from one start each; segments are kept in `folder` and never repeated.

    EngineFailure where a run breaks.
    """
    first, begun = _resumed(folder) or (0, _Begun(starts, np.arange(len(block)), 0))
    paths = [folder / f"segment_{number:04d}.npz" for number in range(-(-plan.samples // plan.segment))]
    with step_progress.Meter(folder, plan.samples, begun.samples) as meter:
        for number, path in enumerate(paths[first:], first):
            left = min(plan.segment, plan.samples - begun.samples)
            work = replace(plan, samples=left, settle=0 if number else plan.settle)
            made, begun = _segment(engine, block, begun, work, segment_seed(seed, number))
            npz.write(path, made)
            begun.write(folder / f"state_{number + 1:04d}.npz")
            (folder / f"state_{number:04d}.npz").unlink(missing_ok=True)
            meter.at(begun.samples)
    parts = [npz.read(path) for path in paths]
    tried, made_ = np.sum([part["swaps"] for part in parts], axis=0)
    return Ran(
        np.concatenate([part["values"] for part in parts], axis=2),
        np.concatenate([part["replicas"] for part in parts]),
        tuple(map(float, made_ / np.maximum(tried, 1))),
    )


def _resumed(folder: Path) -> tuple[int, _Begun] | None:
    """How many segments are there whole, and where the last of them ended."""
    for path in sorted(folder.glob("state_*.npz"), reverse=True):
        number = int(path.stem.rpartition("_")[2])
        if all((folder / f"segment_{each:04d}.npz").is_file() for each in range(number)):
            return number, _Begun.read(path)
    return None


def _segment(
    engine: Engine[WindowT], block: range, begun: _Begun, plan: Plan, seed: int
) -> tuple[dict[str, NDArray[Any]], _Begun]:
    """Samples and replicas as in `Ran`, swaps tried and made of each pair, shape (2, pairs); and where it ended."""
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
        if len(windows) == 1:
            continue
        energies = engine.experiment.reduced(np.array([each[-1] for each in rows]).T)[list(block)]
        for first in range((begun.samples + sample) % 2, len(windows) - 1, 2):
            pair = [first, first + 1]
            swaps[0, first] += 1
            if source.random() < np.exp(min(0.0, -_cost(energies[np.ix_(pair, pair)]))):
                swaps[1, first] += 1
                states[first], states[first + 1] = states[first + 1], states[first]
                replicas[pair] = replicas[pair[::-1]]
    found = {"values": np.array(rows).transpose(0, 2, 1), "replicas": np.array(kept), "swaps": swaps}
    return found, _Begun(states, replicas, begun.samples + plan.samples)


def _cost(energies: NDArray[np.float64]) -> float:
    """Reduced energy that a swap costs; energies: of two samples (columns) in their windows (rows), shape (2, 2)."""
    return float(energies[0, 1] + energies[1, 0] - energies[0, 0] - energies[1, 1])
