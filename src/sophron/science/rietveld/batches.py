"""Which patterns of a series one step takes. Read by every verb at start-up, so it imports nothing heavy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sophron.interfaces.kind import Definition

STEPS = 4
"""Of a short series, so that some workers share it."""

MOST = 25
"""Patterns a step of a long one: what a step costs beside its engine's cycles is then a few per cent of them."""


def of(definition: Definition) -> dict[str, Sequence[Mapping[str, str]]]:
    """Return number of a batch, from 1 -> its patterns, in their order. definition: of the stage series.

    Without `patterns_a_step` a sequential series is one batch.
    """
    patterns = definition["patterns"]
    alone = len(patterns) if definition["sequential"] else min(MOST, -(-len(patterns) // STEPS))
    size = int(definition.get("patterns_a_step", alone))
    starts = range(0, len(patterns), size)
    return {str(number): patterns[start : start + size] for number, start in enumerate(starts, 1)}
