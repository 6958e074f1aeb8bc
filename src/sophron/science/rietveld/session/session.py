"""A session: the model of one sample as it stands, what may move in it, and every state that it went through."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sophron.interfaces.rietveld import (
    Background,
    Cycle,
    Fit,
    Freed,
    Group,
    Parameter,
    Pattern,
    Request,
    RietveldEngine,
    Setup,
)
from sophron.records.errors import UserError, shown
from sophron.science.rietveld import convergence, request_validation
from sophron.science.rietveld.refinement import Kept, Refinement
from sophron.science.rietveld.session.sample import Sample
from sophron.science.rietveld.session.trajectory import StateEntry, Trajectory

Weights = Literal["given", "observed", "calculated"]
CYCLE_S = 300.0
REST_CYCLES = 100
"""Least-squares iterations of a cycle that looks whether a state stands."""

SMALLEST_VARIANCE = 1.0
"""Counts^2: below it a Poisson variance says nothing of its point."""

JOINING = 0.01
"""Scale of a phase that joins a fitted model, over the one that would make it the whole pattern's."""

CARRIED = ("scale", "background", "cell", "zero", "displacement", "profile_", "size", "strain")
"""What a model with another phase or range starts from; coordinates begin at their CIF again."""


@dataclass(frozen=True)
class Histogram:
    """How the pattern enters. Ranges in degrees 2 theta; weights: where variances come from."""

    limits_deg: tuple[float, float] | None
    excluded_deg: tuple[tuple[float, float], ...]
    background: Background


@dataclass(frozen=True, eq=False)
class Reached:
    """A state of the session. ended: how its cycle did, None for a start; free: what was free in that cycle.

    pattern: with the variances of that cycle; moved: groups that were ever free on the way, in earlier models too.
    """

    number: int
    refinement: Refinement
    kept: Kept
    phases: tuple[str, ...]
    weights: Weights
    pattern: Pattern
    moved: frozenset[Group]
    free: tuple[Freed, ...] = ()
    equal: tuple[tuple[str, ...], ...] = ()
    ended: str | None = None

    @property
    def fit(self) -> Fit | None:
        """How it fits; None before a cycle."""
        return self.kept.fit


class Session:
    """One sample on one engine, in a separate folder. UserError for what cannot be; nothing then has changed."""

    def __init__(self, engine: RietveldEngine, sample: Sample, folder: Path) -> None:
        if folder.exists() and any(folder.iterdir()):
            raise UserError(f"{folder}: not empty; give a folder for this session alone")
        self.engine = engine
        self.sample = sample
        self.folder = folder
        self.histogram: Histogram | None = None
        self.phases: tuple[str, ...] = ()
        self.weights: Weights = "observed" if sample.pattern.sigma is None else "given"
        self.free: tuple[Freed, ...] = ()
        self.equal: tuple[tuple[str, ...], ...] = ()
        self.values: dict[str, float] = dict(sample.start)
        self.reasons: dict[tuple[str, str | None], str] = {}
        self.states: list[Reached] = []
        self.current: Reached | None = None
        self._at_rest: Reached | None = None
        self._stale = True
        self._carried: dict[str, float] = {}
        about = {"pattern": sample.pattern.name, "engine": engine.name, "engine_version": "", "setup": sample.digest}
        self.trajectory = Trajectory(folder, about)

    def set_histogram(self, histogram: Histogram) -> None:
        """Take the pattern with these limits and this background; a model that is there starts anew from its values."""
        self.histogram = histogram
        self._start_anew()

    def add_phase(self, name: str) -> None:
        """Add a phase of the sample to the model."""
        names = [one.phase.name for one in self.sample.phases]
        if name not in names:
            raise UserError(f'there is no phase "{shown(name)}" to add; the sample has {", ".join(names)}')
        if name in self.phases:
            raise UserError(f"the phase {name} is in the model already; release its groups")
        self.phases = (*self.phases, name)
        self._start_anew()

    def remove_phase(self, name: str) -> None:
        """Take a phase out of the model, and what was free of it."""
        if name not in self.phases or len(self.phases) == 1:
            raise UserError(f'the phase "{shown(name)}" cannot be taken out; the model has {", ".join(self.phases)}')
        self.phases = tuple(one for one in self.phases if one != name)
        self.free = tuple(one for one in self.free if one.phase != name)
        self._start_anew()

    def set_weights(self, weights: Weights) -> None:
        """Choose the variances of the cycles to come."""
        if weights == "calculated" and (self.current is None or self.current.fit is None):
            raise UserError("weights from calculated counts need a fit; refine once, then set them")
        if weights == "given" and self.sample.pattern.sigma is None:
            raise UserError("the pattern has no standard deviations; take observed or calculated weights")
        self.weights = weights

    def _start_anew(self) -> None:
        if self.current is not None and self.current.fit is not None:
            self._carried |= {one.name: one.value for one in _leading(self.current.fit)}
        self._stale = True

    def refine(self, label: str, cycles: int) -> Cycle:
        """Return one cycle with everything that is free. If it ends well, its state becomes the current one."""
        refinement = self._refinement()
        before = self._current()
        moved = before.moved | {one.group for one in self.free}
        request_validation.check_pair((one.group for one in self.free), before.moved)
        pattern = self._weighted(before)
        refinement.pattern = pattern
        equal = tuple(dict.fromkeys((*self.sample.equal_in(self.phases), *self.equal)))  # one may be tied once more
        sums = self.sample.sums_in(self.phases)
        request = Request(self.free, equal, self._pending(), sums=sums, cycles=cycles, limit_s=CYCLE_S)
        cycle = refinement.refine(request, label)
        if cycle.ended in ("converged", "unfinished"):
            self.values = {}
            self._carried = {}
            reached = {"free": self.free, "equal": self.equal, "ended": cycle.ended, "moved": moved}
            self._reach(refinement, pattern, before.number, **reached)
        return cycle

    def settle(self) -> Reached:
        """Return the current state if a further cycle moves nothing, else one that has come to rest; UserError.

        What was free in it is free; a cycle that goes wrong leaves the last state that did not. A state that this
        returned before is not refined on again.
        """
        if self.current is None or self.current is not self._at_rest:
            self._at_rest = self._rest()
        return self.roll_back(self._at_rest.number)

    def _rest(self) -> Reached:
        for _ in range(convergence.MOST_CYCLES):
            before = self.roll_back(self._current().number)
            cycle = self.refine(f"{before.kept.label}: rest", REST_CYCLES)
            if cycle.fit is None or convergence.stands(cycle, before.kept.state):
                return before
        return self._current()

    def _pending(self) -> dict[str, float]:
        """Values to begin with. A phase that joins a fitted model begins small: it explains what is left over."""
        there = self._current().kept.state.values
        new = {f"scale/{name}": JOINING * there[f"scale/{name}"] for name in self.phases} if self._carried else {}
        return {name: value for name, value in {**new, **self._carried, **self.values}.items() if name in there}

    def _current(self) -> Reached:
        if self.current is None:
            raise UserError("there is no model yet; add a histogram and a phase first")
        return self.current

    def _refinement(self) -> Refinement:
        if not self._stale:
            return self._current().refinement
        if self.histogram is None:
            raise UserError("there is no histogram; add it first")
        if not self.phases:
            raise UserError("there is no phase; add one first")
        phases = {one.phase.name: one.phase for one in self.sample.phases}
        setup = Setup(
            self.sample.pattern,
            tuple(phases[name] for name in self.phases),
            self.sample.instrument,
            self.histogram.background,
            self.histogram.limits_deg,
            self.histogram.excluded_deg,
        )
        count = len({id(one.refinement) for one in self.states})
        refinement = Refinement.begin(self.engine, setup, self.folder / f"model-{count + 1}")
        self._stale = False
        before = self.current
        self._reach(
            refinement,
            setup.pattern if before is None else before.pattern,
            None if before is None else before.number,
            moved=frozenset() if before is None else before.moved,
        )
        return refinement

    def _reach(self, refinement: Refinement, pattern: Pattern, parent: int | None, **how: Any) -> None:
        kept = refinement.current
        state = Reached(len(self.states), refinement, kept, self.phases, self.weights, pattern, **how)
        self.states.append(state)
        self.current = state
        fit = state.fit
        entry = StateEntry(
            state.number,
            parent,
            state.kept.label,
            self.trajectory.next_call,
            state.phases,
            state.weights,
            0 if fit is None else fit.variables,
            None if fit is None else fit.rwp.percent,
            None if fit is None else fit.gof,
        )
        self.trajectory.states.append(entry)

    def _weighted(self, before: Reached) -> Pattern:
        """The pattern with the variances that are wanted.

        Weights of 1 / observed pull a fit below weak data; those of the calculated counts do not.
        """
        if self.weights != "calculated":
            return self.sample.pattern
        return before.pattern if before.fit is None else weighted(self.sample.pattern, before.fit)

    def roll_back(self, number: int | None) -> Reached:
        """Take up state `number`, or the one before the current: its model, and what was free on the way to it."""
        current = self._current()
        wanted = self.trajectory.states[current.number].parent if number is None else number
        if wanted is None or not 0 <= wanted < len(self.states):
            raise UserError(f"there is no state {wanted} to go back to; there are 0 to {len(self.states) - 1}")
        state = self.states[wanted]
        state.refinement.roll_back(state.kept.number)
        self.current, self.phases, self.weights = state, state.phases, state.weights
        self.free, self.equal, self.values, self._carried = state.free, state.equal, {}, {}
        self._stale = False
        return state

    def release(self, freed: tuple[Freed, ...]) -> None:
        """Let more move, from the next cycle on."""
        self.free = tuple(dict.fromkeys((*self.free, *freed)))

    def hold(self, freed: tuple[Freed, ...], reason: str) -> None:
        """Let these no longer move; of a group that is free for all atoms, the other atoms stay free."""
        for one in freed:
            whole = Freed(one.group, one.phase)
            if one.atom is not None and whole in self.free:
                others = [Freed(one.group, one.phase, atom) for atom in self._atoms(one.phase) if atom != one.atom]
                self.free = (*(free for free in self.free if free != whole), *others)
            self.free = tuple(free for free in self.free if free != one and one != Freed(free.group, free.phase))
            self.reasons[one.group, one.phase] = reason

    def _atoms(self, phase: str | None) -> list[str]:
        names = (name.split("/") for name in self._current().kept.state.values)
        return [parts[2] for parts in names if parts[:2] == ["u_iso", phase]]

    def fitted(self) -> tuple[Reached, Fit]:
        """Return the current state and its fit; UserError if there is none."""
        state = self._current()
        if state.fit is None:
            raise UserError("nothing was refined yet; release scale and background, and refine")
        return state, state.fit


def _leading(fit: Fit) -> list[Parameter]:
    """Refined parameters to carry over. Of cell edges that symmetry keeps equal only the first can be set."""
    found: dict[tuple[Any, ...], Parameter] = {}
    for one in fit.parameters:
        if one.name.startswith("cell/"):
            found.setdefault(("cell", one.name.split("/")[1], one.value, one.esd), one)
        elif one.name.startswith(CARRIED):
            found[one.name,] = one
    return list(found.values())


def weighted(given: Pattern, fit: Fit) -> Pattern:
    """Return `given` with the variances that the counts of `fit` have; outside of its range the observed ones."""
    variance = np.maximum(given.intensity, SMALLEST_VARIANCE)
    inside = np.isin(given.two_theta_deg, fit.curves.two_theta_deg)
    if int(inside.sum()) != fit.curves.two_theta_deg.size:
        raise UserError("the fit is not on the points of the pattern; take observed weights")
    variance[inside] = np.maximum(fit.curves.calculated, SMALLEST_VARIANCE)
    if given.sigma is not None:
        # Counts that were scaled keep their unit: sigma^2 = gain x counts.
        variance *= float(np.median(given.sigma**2 / np.maximum(given.intensity, SMALLEST_VARIANCE)))
    return replace(given, sigma=np.sqrt(variance))


def fresh(folder: Path) -> Path:
    """`folder`, empty: a session that was begun there is kept beside it, under the next free number."""
    if folder.exists() and any(folder.iterdir()):
        number = 1
        while folder.with_name(f"{folder.name}.{number}").exists():
            number += 1
        folder.rename(folder.with_name(f"{folder.name}.{number}"))
    return folder.absolute()
