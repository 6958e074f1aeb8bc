"""Recipes: what is freed in which order. For raw counts: rungs that the counts support, and weights without bias.

A point that by chance counted less would be weighted more, and the fit be drawn below the truth: at a mean of four
counts by 29 % of the background. With variances of the expected counts, worked out anew after each fit until nothing
moves, least squares come to the maximum of the Poisson likelihood (10.1080/01621459.1976.10481508).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
import refinable_groups
import yaml
from refinable_groups import RequiredEsd

from sophron.interfaces.rietveld import Cycle, Fit, Freed, Group, Pattern, Request, group_of
from sophron.science.rietveld.refinement import Refinement


@dataclass(frozen=True)
class Step:
    """A rung with what its groups need. needs: empty if it is always free."""

    rung: Rung
    needs: Mapping[Group, RequiredEsd] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    """Steps in order. main: groups that are free in the main phase alone."""

    steps: tuple[Step, ...]
    main: tuple[Group, ...]


@dataclass(frozen=True, eq=False)
class Climbed:
    """What a climb came to. freed: rungs that were climbed; held: rung -> why not, a clause; free: all that moved.

    last: the cycle that it ends with, whose fit counts.
    """

    last: Cycle
    freed: tuple[str, ...]
    held: Mapping[str, str]
    free: tuple[Freed, ...]


@cache
def recipe() -> Recipe:
    """Return the recipe in `yaml`."""
    data = yaml.safe_load((Path(__file__).parent / "counts_limited_recipe.yaml").read_text(encoding="utf-8"))
    steps = tuple(
        Step(
            Rung(one["name"], tuple(one["groups"])),
            {name: RequiredEsd(**need) for name, need in one.get("needs", {}).items()},
        )
        for one in data["rungs"]
    )
    return Recipe(steps, tuple(data["main"]))


def climb(refinement: Refinement, main: str, by: Recipe, *, limit_s: float = 60.0) -> Climbed:
    """Return all rungs that the counts support, then weights until they settle.

    Each cycle weighs by the model before it. After the first rung one rehearsal with everything free says what the
    counts support. A rung that ends badly, or in a value that no sample can have, is taken back. `main`: name of the
    phase that groups of `by.main` are free in.
    """
    refinement.pattern = even_weights(refinement.pattern)
    free = _freed(by.steps[0], by, main)
    cycle = refinement.refine(refinable_groups.request(refinement.current.state, free, limit_s), by.steps[0].rung.name)
    if cycle.fit is None:
        return Climbed(cycle, (), {by.steps[0].rung.name: _unusable(cycle) or ""}, ())
    freed = [by.steps[0].rung.name]
    held = _unsupported(refinement, cycle.fit, by, main, limit_s)
    for step in by.steps[1:]:
        if step.rung.name in held:
            continue
        if cycle.fit is not None:
            refinement.pattern = model_weights(refinement.pattern, cycle.fit)
        wanted = free + _freed(step, by, main)
        tried = refinement.refine(refinable_groups.request(refinement.current.state, wanted, limit_s), step.rung.name)
        why = _unusable(tried)
        if why is None:
            cycle, free = tried, wanted
            freed.append(step.rung.name)
            continue
        held[step.rung.name] = why
        if tried.fit is not None:
            refinement.roll_back()
    if cycle.fit is not None:
        refinement.pattern = model_weights(refinement.pattern, cycle.fit)
    request = replace(refinable_groups.request(refinement.current.state, free, limit_s), values=_off_zero(cycle))
    return Climbed(settle(refinement, request, "settled"), tuple(freed), held, free)


def _freed(step: Step, by: Recipe, main: str) -> tuple[Freed, ...]:
    return tuple(Freed(group, main if group in by.main else None) for group in step.rung.groups)


def _off_zero(cycle: Cycle) -> dict[str, float]:
    """Scales below their esd, put to it: one that came to zero while the cell was wrong may be stuck there."""
    return {
        one.name: one.esd_counting
        for one in (() if cycle.fit is None else cycle.fit.parameters)
        if group_of(one.name) == "scale" and one.esd_counting is not None and one.value < one.esd_counting
    }


def _unsupported(refinement: Refinement, fit: Fit, by: Recipe, main: str, limit_s: float) -> dict[str, str]:
    """Rungs that the counts of `fit` do not support, with the reason."""
    if not any(step.needs for step in by.steps):
        return {}
    everything = tuple(freed for step in by.steps for freed in _freed(step, by, main))
    state = refinement.current.state
    rehearsed = refinable_groups.rehearse(refinement.engine, state, fit, everything, limit_s=limit_s)
    clauses = {step.rung.name: refinable_groups.uncertain(rehearsed, step.needs) for step in by.steps}
    return {name: clause for name, clause in clauses.items() if clause is not None}


def _unusable(cycle: Cycle) -> str | None:
    if cycle.fit is None:
        return f"it {cycle.ended}: {cycle.reason}"
    return refinable_groups.unphysical(cycle.fit)


@dataclass(frozen=True)
class Rung:
    """One step of a recipe. groups: what it frees, beside all that earlier rungs freed, in every phase."""

    name: str
    groups: tuple[Group, ...]


LABORATORY: Sequence[Rung] = (
    Rung("scale", ("scale", "background")),
    Rung("cell", ("cell", "displacement")),
    Rung("width", ("profile_w",)),
    Rung("broadening", ("size", "strain")),
    Rung("atoms", ("position", "u_iso")),
)
"""A flat specimen on a laboratory diffractometer, one known structure (McCusker 1999, 10.1107/S0021889898009856).

Of zero and displacement it frees the second: the larger error there, and both would make the cell wrong.
"""


def climb_rungs(refinement: Refinement, rungs: Sequence[Rung], *, limit_s: float = 60.0) -> list[Cycle]:
    """Return one cycle a rung, each of `limit_s` at most; the last one is the first that did not end well, if any."""
    done: list[Cycle] = []
    free: tuple[Freed, ...] = ()
    for rung in rungs:
        free += tuple(Freed(group) for group in rung.groups)
        done.append(refinement.refine(Request(free=free, limit_s=limit_s), rung.name))
        if done[-1].ended not in ("converged", "unfinished"):
            break
    return done


LEAST_SHARE = 0.01
"""Of the mean: a background that dips below zero on its way must not get all the weight."""

STILL = 0.1
"""Of an esd: parameters that move less from one set of weights to the next have settled."""

MOST_ROUNDS = 6


def even_weights(pattern: Pattern) -> Pattern:
    """Return the same weight everywhere, to begin with: far from the best, but without bias."""
    return replace(pattern, sigma=np.full_like(pattern.intensity, np.sqrt(pattern.intensity.mean())))


def model_weights(pattern: Pattern, fit: Fit) -> Pattern:
    """Return the variances of the counts that `fit` expects; outside its range, if nothing is fitted, even ones."""
    calculated = fit.curves.calculated
    variance = np.full_like(pattern.intensity, pattern.intensity.mean())
    inside = np.isin(pattern.two_theta_deg, fit.curves.two_theta_deg)
    variance[inside] = np.maximum(calculated, LEAST_SHARE * calculated.mean())
    return replace(pattern, sigma=np.sqrt(variance))


def settle(refinement: Refinement, request: Request, label: str) -> Cycle:
    """Refine and weigh by turns until no parameter moves by a tenth of its esd; the last cycle, well ended or not.

    If the current state was refined with the same freedom, one cycle that moves nothing is enough. It leaves
    `refinement.pattern` with the weights that the last cycle had.
    """
    before = refinement.current.fit
    cycle = refinement.refine(request, label)
    for turn in range(2, MOST_ROUNDS + 1):
        if cycle.fit is None or (before is not None and _still(before, cycle.fit)):
            break
        before = cycle.fit
        refinement.pattern = model_weights(refinement.pattern, before)
        cycle = refinement.refine(replace(request, values={}), f"{label}, weights {turn}")
    return cycle


def _still(before: Fit, after: Fit) -> bool:
    """Whether the same parameters were free, and are where they were."""
    values = {one.name: one.value for one in before.parameters if one.esd_counting is not None}
    free = [one for one in after.parameters if one.esd_counting is not None]
    return values.keys() == {one.name for one in free} and all(
        abs(one.value - values[one.name]) <= STILL * one.esd_counting for one in free if one.esd_counting is not None
    )
