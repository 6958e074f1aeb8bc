"""Recipes: what is freed in which order. The scale and the background come first, the atoms last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sophron.interfaces.rietveld import Cycle, Freed, Group, Request
from sophron.science.rietveld.refinement import Refinement


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


def climb(refinement: Refinement, rungs: Sequence[Rung], *, limit_s: float = 60.0) -> list[Cycle]:
    """Return one cycle a rung, each of `limit_s` at most; the last one is the first that did not end well, if any."""
    done: list[Cycle] = []
    free: tuple[Freed, ...] = ()
    for rung in rungs:
        free += tuple(Freed(group) for group in rung.groups)
        done.append(refinement.refine(Request(free=free, limit_s=limit_s), rung.name))
        if done[-1].ended not in ("converged", "unfinished"):
            break
    return done
