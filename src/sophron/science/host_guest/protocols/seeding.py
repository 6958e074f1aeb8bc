"""Starts of all windows from both ends of the chain, and windows put in where neighbours would not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Generic

import numpy as np

from sophron.science.estimators.bar import compare
from sophron.science.estimators.mbar import LEAST_OVERLAP
from sophron.science.host_guest.protocols.apr import Window
from sophron.science.host_guest.protocols.apr_setup import at_distance
from sophron.science.host_guest.protocols.decoupling_legs import Leg
from sophron.science.host_guest.protocols.lambda_schedule import Stage
from sophron.science.host_guest.sampling import npz
from sophron.science.host_guest.sampling.equilibration import TIME_STEP_PS
from sophron.science.host_guest.sampling.window_sampling import Chain, Engine, State, WindowT, segment_seed

if TYPE_CHECKING:
    from numpy.typing import NDArray

WANTED_OVERLAP = 2 * LEAST_OVERLAP
"""Of short runs: they have seen less of each window than production will, and neither side of a slope."""
LEAST_PS, MOST_PS = 2.0, 20.0


@dataclass(frozen=True)
class Short:
    """How long each window is run on the way: samples, and time steps between two of them."""

    samples: int = 20
    interval: int = 50

    @classmethod
    def of(cls, nanoseconds: float) -> Short:
        """For windows that will be sampled so long: about a tenth of it, from 2 to 20 ps."""
        picoseconds = min(max(100 * nanoseconds, LEAST_PS), MOST_PS)
        return cls(samples=round(picoseconds / (2 * cls.interval * TIME_STEP_PS)))

    @property
    def picoseconds(self) -> float:
        """Of each window and way: half for moving there, half for its samples."""
        return 2 * self.samples * self.interval * TIME_STEP_PS


@dataclass(frozen=True)
class Seeded(Generic[WindowT]):
    """windows: with those put in; starts: way -> state of each window.

    thin: first ones of pairs that still overlap too little, because there were no more windows to put in.
    """

    windows: tuple[WindowT, ...]
    starts: dict[str, tuple[State, ...]]
    thin: tuple[int, ...]


def seed_windows(engine: Engine[Window], most: int, short: Short, seed: int) -> Seeded[Window]:
    """Pull the guest out, put windows in where neighbours overlap too little, then push it back in.

    most: windows that there may be in all. The way out is repeated from the start of each window that was put in.
    """
    experiment = engine.experiment
    windows = list(experiment.windows)
    walk = Walk(engine, short, seed)
    states, samples = walk.through(windows, State(experiment.positions_a))
    while len(windows) < most:
        overlaps = neighbour_overlaps(experiment.with_windows(windows), samples)
        place = int(np.argmin(overlaps))
        if overlaps[place] >= WANTED_OVERLAP:
            break
        between = halfway(windows[place], windows[place + 1])
        (state,), (sample,) = walk.through([between], states[place])
        windows.insert(place + 1, between)
        states.insert(place + 1, state)
        samples.insert(place + 1, sample)
    overlaps = neighbour_overlaps(experiment.with_windows(windows), samples)
    backward, _ = walk.through(windows[::-1], states[-1])
    thin = tuple(place for place, overlap in enumerate(overlaps) if overlap < LEAST_OVERLAP)
    return Seeded(tuple(windows), {"forward": tuple(states), "backward": tuple(backward[::-1])}, thin)


def seed_leg(leg: Leg, most: int, short: Short, seed: int, asked: str | None = None) -> tuple[Leg, Seeded[Stage]]:
    """A leg of double decoupling, through its windows and back, and the leg with those that were put in.

    Energies in a new window are not known of samples taken before, so that the whole way is repeated with it.
    """
    while True:
        walk = Walk(Engine(leg, asked=asked), short, seed)
        states, samples = walk.through(leg.windows, State(leg.positions_a))
        overlaps = neighbour_overlaps(leg, samples)
        wanting = sorted(
            (place for place, overlap in enumerate(overlaps) if overlap < WANTED_OVERLAP), key=overlaps.__getitem__
        )
        room = max(0, most - len(leg.windows))
        if not wanting[:room]:
            break
        windows = list(leg.windows)
        for place in sorted(wanting[:room], reverse=True):
            windows.insert(place + 1, windows[place].halfway(windows[place + 1]))
        leg = leg.with_windows(windows)
    backward, _ = walk.through(leg.windows[::-1], states[-1])
    thin = tuple(place for place, overlap in enumerate(overlaps) if overlap < LEAST_OVERLAP)
    return leg, Seeded(leg.windows, {"forward": tuple(states), "backward": tuple(backward[::-1])}, thin)


def save(seeded: Seeded[WindowT], path: Path) -> None:
    """Write the starts to an npz file."""
    kept = {
        f"{way}_{what}": np.array([getattr(state, what) for state in states])
        for way, states in seeded.starts.items()
        for what in ("positions_a", "velocities")
    }
    npz.write(path, kept)


def load_start(path: Path, way: str, window: int) -> State:
    """The start of one window that `save` wrote."""
    with np.load(path) as kept:
        return State(kept[f"{way}_positions_a"][window], kept[f"{way}_velocities"][window])


def neighbour_overlaps(experiment: Chain[WindowT], samples: Sequence[NDArray[np.float64]]) -> list[float]:
    """Overlap of each window with the next by themselves, from samples of each, shape (columns, samples)."""
    energies = [experiment.reduced(each) for each in samples]
    return [
        compare(first[place + 1] - first[place], second[place + 1] - second[place]).overlap
        for place, (first, second) in enumerate(pairwise(energies))
    ]


def halfway(first: Window, second: Window) -> Window:
    """The window between two neighbours: half the distance, or a strength between theirs."""
    if first.strength < second.strength:
        # Strengths are spaced about geometrically; from 0 on, there is no ratio to take.
        strength = (first.strength * second.strength) ** 0.5 if first.strength else 0.25 * second.strength
        return Window(first.frame, strength, first.wall)
    middle = 0.5 * (first.frame.distance.target + second.frame.distance.target)
    return Window(at_distance(first.frame, middle), second.strength, second.wall)


class Walk(Generic[WindowT]):
    """From window to window, each begun where the one before has ended."""

    def __init__(self, engine: Engine[WindowT], short: Short, seed: int) -> None:
        self._engine, self._short, self._seed = engine, short, seed
        self._taken = 0

    def through(self, windows: Sequence[WindowT], state: State) -> tuple[list[State], list[NDArray[np.float64]]]:
        """States at the end of each window, and the second half of its samples: the first half moves it there."""
        states, samples = [], []
        for window in windows:
            self._engine.begin(window, state, segment_seed(self._seed, self._taken))
            self._taken += 1
            rows = []
            for _ in range(2 * self._short.samples):
                self._engine.step(self._short.interval)
                rows.append(self._engine.sample())
            state = self._engine.state()
            states.append(state)
            samples.append(np.array(rows[self._short.samples :]).T)
        return states, samples
