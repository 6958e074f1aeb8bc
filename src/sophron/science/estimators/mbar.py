"""Free energies of a chain of windows by MBAR, with guards that refuse a number rather than give a false one.

MBAR itself is pymbar's (Shirts and Chodera 2008, 10.1063/1.2978177). In this order:

1. *Samples.* Each run is cut if it has equilibrated and thinned to independent samples, by the slowest of its
   coordinates and of its energies towards neighbouring windows (`correlated_series`). A window needs `LEAST_SAMPLES`,
   and runs that together hold `LEAST_TIMES` of the longest correlation time that one of them shows.
2. *Neighbours.* Each window is compared with the next alone (`bar`); an overlap under `LEAST_OVERLAP`
   ends here, because a multistate solver need not end. The differences found start the solver.
3. *MBAR* over all windows, bounded in iterations; its equations must hold. Errors come from independent samples, free
   energies from denser ones: thinning to independent samples throws away what averages the fast motion. Then overlap
   again, in the matrix of all windows, and the effective number of samples of every window.
4. *Blocks.* First and second halves of all runs, each analysed alone, may differ by twice the error of the difference,
   or by `TOLERANCE` if that is more. A refusal names the windows between which most of the difference arises.
5. *Hysteresis.* So may the runs that were seeded forward and those seeded backward, if there are both.

Passing is necessary for a right number, not sufficient: no guard sees a state that no run has visited.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sophron.science.estimators.bar import compare
from sophron.science.estimators.correlated_series import LEAST_TIMES, Kept, independent
from sophron.science.estimators.pymbar_solver import Solution, solve
from sophron.science.estimators.refusal import Reason, Refusal
from sophron.science.estimators.restraints import rt

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_OVERLAP = 0.03
LEAST_SAMPLES = 50.0
TOLERANCE = 0.5
"""kcal/mol"""
SHORTEST_RUN = 8

Parts = Sequence["NDArray[np.float64]"]
"""Window -> reduced energies of its samples in all windows, shape (windows, samples)."""


@dataclass(frozen=True)
class Run:
    """One simulation of one window.

    window: its place in the chain, from 0; reduced: reduced energies of its samples in every window of the chain,
    shape (windows, samples), in the order of time, walls and restraints of a window in its row alone, anything that
    is common to all windows left out or in; coordinates: what is restrained, shape (coordinates, samples); seeded:
    from which end of the chain its start came, None if from neither.
    """

    window: int
    reduced: NDArray[np.float64]
    coordinates: NDArray[np.float64]
    seeded: Literal["forward", "backward"] | None = None

    @property
    def slow(self) -> NDArray[np.float64]:
        """Coordinates, and energies towards the neighbours: what MBAR averages; shape (quantities, samples)."""
        beside = [at for at in (self.window - 1, self.window + 1) if 0 <= at < len(self.reduced)]
        return np.concatenate([self.coordinates, self.reduced[beside] - self.reduced[self.window]])


@dataclass(frozen=True)
class Estimate:
    """Free energies of a chain that passed all guards, in kcal/mol.

    free_energies, errors: of each window against the first, with standard errors; overlaps: of each window with the
    next; samples: independent ones a window; effective_samples: of all samples, those that tell about each window;
    inefficiencies: of each run, in the order given; block_difference: second halves less first; hysteresis: seeded
    backward less forward, None if it was not tested; degrees_of_freedom: of the errors, those of the worst run.
    """

    free_energies: tuple[float, ...]
    errors: tuple[float, ...]
    overlaps: tuple[float, ...]
    samples: tuple[int, ...]
    effective_samples: tuple[float, ...]
    inefficiencies: tuple[float, ...]
    block_difference: float
    hysteresis: float | None
    degrees_of_freedom: float

    @property
    def difference(self) -> float:
        """Free energy of the last window less that of the first."""
        return self.free_energies[-1]

    @property
    def error(self) -> float:
        """Standard error of `difference`."""
        return self.errors[-1]

    @property
    def systematic(self) -> float:
        """Half of what blocks, or directions of seeding, differ by at most: how far either is from their mean."""
        return 0.5 * max(abs(self.block_difference), abs(self.hysteresis or 0.0))


def estimate(runs: Sequence[Run], temperature_k: float) -> Estimate | Refusal:
    """Apply the rule of this module to at least one run of every window of a chain; the order of runs is free.

    ValueError if runs do not fit each other, are shorter than 8 samples, or hold what is not finite.
    """
    windows = _checked(runs)
    kept = [independent(run.slow) for run in runs]

    def parts(choose: Callable[[Run, Kept], NDArray[np.intp]]) -> Parts:
        chosen = [(run.window, run.reduced[:, choose(run, one)]) for run, one in zip(runs, kept, strict=True)]
        return [np.concatenate([each for at, each in chosen if at == window], axis=1) for window in range(windows)]

    whole = parts(lambda _, one: one.indices)
    solution = _too_short(runs, kept, windows) or _guarded(whole)
    if isinstance(solution, Refusal):
        return solution
    dense = solve(parts(lambda _, one: one.dense), np.array(solution.free_energies))
    if dense is None:
        return Refusal(Reason.NOT_SOLVED, "the equations of MBAR found no solution; look at the reduced energies.")
    unit = rt(temperature_k)
    halves = (
        parts(lambda _, one: one.indices[: one.indices.size // 2]),
        parts(lambda _, one: one.indices[one.indices.size // 2 :]),
    )
    block = _apart(halves, unit, Reason.BLOCKS_DIFFER, "first and second halves of the runs")
    if isinstance(block, Refusal):
        return block
    hysteresis = None
    if all(
        {run.seeded for run in runs if run.window == window} >= {"forward", "backward"} for window in range(windows)
    ):
        ways = (parts(_seeded("forward")), parts(_seeded("backward")))
        hysteresis = _apart(ways, unit, Reason.HYSTERESIS, "runs seeded forward and backward")
    if isinstance(hysteresis, Refusal):
        return hysteresis
    return Estimate(
        free_energies=tuple(unit * each for each in dense.free_energies),
        errors=tuple(unit * each for each in solution.errors),
        overlaps=solution.overlaps,
        samples=tuple(each.shape[1] for each in whole),
        effective_samples=solution.effective_samples,
        inefficiencies=tuple(each.inefficiency for each in kept),
        block_difference=block,
        hysteresis=hysteresis,
        degrees_of_freedom=min(one.degrees_of_freedom for one in kept),
    )


def _seeded(way: str) -> Callable[[Run, Kept], Any]:
    return lambda run, one: one.indices if run.seeded == way else one.indices[:0]


def _checked(runs: Sequence[Run]) -> int:
    """Number of windows of the chain."""
    windows = max((run.window for run in runs), default=-1) + 1
    if windows < 2 or {run.window for run in runs} != set(range(windows)):
        raise ValueError("a chain needs two windows or more, and a run of each")
    for number, run in enumerate(runs):
        samples = run.reduced.shape[-1]
        if run.reduced.shape != (windows, samples) or run.coordinates.shape[1:] != (samples,):
            raise ValueError(f"run {number}: {windows} rows of reduced energies, and as many coordinates, are needed")
        if samples < SHORTEST_RUN:
            raise ValueError(f"run {number}: at least {SHORTEST_RUN} samples are needed")
        if not (np.all(np.isfinite(run.reduced)) and np.all(np.isfinite(run.coordinates))):
            raise ValueError(f"run {number}: only finite energies and coordinates count")
    return windows


def _too_short(runs: Sequence[Run], kept: Sequence[Kept], windows: int) -> Refusal | None:
    """Refuse windows that hold one frame, or too few of the correlation times that they show after equilibration."""
    still = tuple(sorted({run.window for run in runs if run.coordinates.size and not np.ptp(run.slow, axis=1).any()}))
    if still:
        sentence = f"{_named(still)} hold the same frame over and over; look at what the runs wrote."
        return Refusal(Reason.FEW_SAMPLES, sentence, still)
    left, longest = np.zeros(windows), np.zeros(windows)
    for run, one in zip(runs, kept, strict=True):
        left[run.window] += run.reduced.shape[1] - one.start
        longest[run.window] = max(longest[run.window], one.time)
    short = tuple(map(int, np.flatnonzero(left < LEAST_TIMES * longest)))
    if not short:
        return None
    worst = max(short, key=lambda window: longest[window] / left[window])
    sentence = (
        f"{_named(short)} are too short to tell how their samples correlate: {left[worst]:.0f} samples are fewer than "
        f"{LEAST_TIMES:g} correlation times of about {longest[worst]:.3g}; run longer."
    )
    return Refusal(Reason.FEW_SAMPLES, sentence, short)


def _guarded(parts: Parts) -> Solution | Refusal:
    """Steps 1 to 3 for samples that are independent."""
    scarce = tuple(window for window, each in enumerate(parts) if each.shape[1] < LEAST_SAMPLES)
    if scarce:
        least = min(each.shape[1] for each in parts)
        sentence = f"{_named(scarce)} hold as few as {least} independent samples, under {LEAST_SAMPLES:g}; run longer."
        return Refusal(Reason.FEW_SAMPLES, sentence, scarce)
    start, overlaps = _start(parts)
    apart = _too_little(overlaps)
    if apart:
        return apart
    solution = solve(parts, start)
    if solution is None:
        return Refusal(Reason.NOT_SOLVED, "the equations of MBAR found no solution; look at the reduced energies.")
    thin = tuple(window for window, each in enumerate(solution.effective_samples) if each < LEAST_SAMPLES)
    if thin:
        sentence = f"{_named(thin)} rest on fewer than {LEAST_SAMPLES:g} effective samples; run longer."
        return Refusal(Reason.FEW_SAMPLES, sentence, thin)
    return _too_little(solution.overlaps) or solution


def _start(parts: Parts) -> tuple[NDArray[np.float64], list[float]]:
    """Return free energies from neighbour to neighbour, and the overlaps of neighbours alone."""
    pairs = [
        compare(first[place + 1] - first[place], second[place + 1] - second[place])
        for place, (first, second) in enumerate(pairwise(parts))
    ]
    return np.cumsum([0.0, *(pair.difference for pair in pairs)]), [pair.overlap for pair in pairs]


def _too_little(overlaps: Sequence[float]) -> Refusal | None:
    place = int(np.argmin(overlaps))
    if overlaps[place] >= LEAST_OVERLAP:
        return None
    sentence = (
        f"windows {place} and {place + 1} overlap by {overlaps[place]:.2g}, under {LEAST_OVERLAP:g}; "
        "put a window between them."
    )
    return Refusal(Reason.NO_OVERLAP, sentence, (place, place + 1))


def _apart(halves: tuple[Parts, Parts], unit: float, reason: Reason, what: str) -> float | Refusal:
    """Return second less first in kcal/mol, each analysed alone; refuse a half that does not connect its windows."""
    found = []
    for each in halves:
        solution = None
        if all(part.shape[1] for part in each):
            start, overlaps = _start(each)
            solution = solve(each, start) if min(overlaps) >= LEAST_OVERLAP else None
        if solution is None:
            return Refusal(reason, f"{what} cannot be compared: one of them does not connect all windows; run longer.")
        found.append(solution)
    first, second = found
    apart = unit * (np.array(second.free_energies) - first.free_energies)
    error = unit * math.hypot(first.errors[-1], second.errors[-1])
    difference, allowed = float(apart[-1]), max(2 * error, TOLERANCE)
    if abs(difference) < allowed:
        return difference
    blame = _steps_to_blame(apart, allowed)
    sentence = f"{what} differ by {difference:.2g} kcal/mol, more than {allowed:.2g}, most of it in {_named(blame)}"
    return Refusal(reason, f"{sentence}; run these longer.", blame)


def _steps_to_blame(apart: NDArray[np.float64], allowed: float) -> tuple[int, ...]:
    """Return both windows of each of the fewest steps without which the last window would differ by `allowed` at most.

    apart: how far two analyses of the chain differ at each window, in the units of `allowed`.
    """
    steps = np.diff(apart) * np.sign(apart[-1])
    worst = np.argsort(-steps)
    left = abs(apart[-1]) - np.cumsum(steps[worst])
    found = worst[: int(np.argmax(left < allowed)) + 1]
    return tuple(sorted({int(window) for step in found for window in (step, step + 1)}))


def _named(windows: Sequence[int]) -> str:
    """`windows 0, 3 to 7`: neighbours are written as a range."""
    runs: list[list[int]] = []
    for window in sorted(windows):
        if runs and window == runs[-1][-1] + 1:
            runs[-1].append(window)
        else:
            runs.append([window])
    told = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    return f"windows {', '.join(told)}"
