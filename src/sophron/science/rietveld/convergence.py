"""When a refinement stands: a further cycle moves no parameter by half its standard deviation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sophron.interfaces.rietveld import Cycle, Fit, State

MOVE_ESD = 0.5
"""Of a standard deviation from counting: a model that moves further in one more cycle had not converged."""

MOST_CYCLES = 5
"""With all that is free, until one changes nothing."""


def largest_move(fit: Fit, before: Mapping[str, float]) -> float:
    """Return the largest change of a refined parameter since the values `before`, over its esd from counting."""
    moves = [
        abs(one.value - before[one.name]) / esd
        for one in fit.parameters
        if one.name in before and (esd := one.esd_counting or one.esd)
    ]
    return max(moves, default=0.0)


def stands(cycle: Cycle, before: State) -> bool:
    """Return whether a cycle that came to a fit moved nothing since `before`."""
    return cycle.fit is not None and largest_move(cycle.fit, before.values) <= MOVE_ESD


def repeated(refine: Callable[[State], Cycle], state: State) -> list[tuple[State, Cycle]]:
    """Refine from `state` until a cycle moves nothing, at most MOST_CYCLES times; what each began from, and came to.

    A cycle without a fit is the last.
    """
    done = [(state, refine(state))]
    while done[-1][1].fit is not None and not stands(done[-1][1], done[-1][0]) and len(done) < MOST_CYCLES:
        begin = done[-1][1].state
        done.append((begin, refine(begin)))
    return done
