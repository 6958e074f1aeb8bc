"""A recipe for raw counts: rungs from a YAML file, freed if the counts support them, and weights without bias."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import yaml

from sophron.interfaces.rietveld import Cycle, Fit, Freed, Group
from sophron.science.rietveld import refinable_groups, weights
from sophron.science.rietveld.recipe import Rung
from sophron.science.rietveld.refinable_groups import RequiredEsd
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
    """Return the recipe in `counts_limited_recipe.yaml`."""
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
    refinement.pattern = weights.even(refinement.pattern)
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
            refinement.pattern = weights.from_model(refinement.pattern, cycle.fit)
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
        refinement.pattern = weights.from_model(refinement.pattern, cycle.fit)
    request = replace(refinable_groups.request(refinement.current.state, free, limit_s), values=_off_zero(cycle))
    return Climbed(weights.settle(refinement, request, "settled"), tuple(freed), held, free)


def _freed(step: Step, by: Recipe, main: str) -> tuple[Freed, ...]:
    return tuple(Freed(group, main if group in by.main else None) for group in step.rung.groups)


def _off_zero(cycle: Cycle) -> dict[str, float]:
    """Scales below their esd, put to it: one that came to zero while the cell was wrong may be stuck there."""
    return {
        one.name: one.esd_counting
        for one in (() if cycle.fit is None else cycle.fit.parameters)
        if refinable_groups.group(one.name) == "scale" and one.esd_counting is not None and one.value < one.esd_counting
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
