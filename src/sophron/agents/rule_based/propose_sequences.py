"""Rule of thumb of the agent propose-sequences: the largest so far, with one block moved elsewhere."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from sophron.agents.rule_based.input_checks import given, listed, read
from sophron.interfaces import UncheckedObject

LARGEST = 3
"""Sequences whose blocks are moved."""
MOST = 100


@dataclass(frozen=True)
class Evaluated:
    """A sequence and its mean radius."""

    sequence: str
    radius: float


@dataclass(frozen=True)
class Wanted:
    """How many are wanted."""

    proposals: int


def answer(inputs: UncheckedObject) -> UncheckedObject:
    """Move one block of the largest elsewhere, and take the results with fewest blocks; ValueError if all are known.

    Merging blocks is what makes a chain of few blocks out of one of many, whatever the beads attract.
    """
    rows = [read(Evaluated, row, "an entry of evaluated") for row in listed(given(inputs, "evaluated"), "evaluated")]
    count = read(Wanted, given(inputs, "wanted"), "wanted").proposals
    known = {min(row.sequence, row.sequence[::-1]) for row in rows}
    parents = sorted(rows, key=lambda row: -row.radius)[:LARGEST]
    moved: dict[str, str] = {}
    for parent in parents:
        for sequence in _moved(parent.sequence):
            if sequence not in known:
                moved.setdefault(sequence, parent.sequence)
    fewest = sorted(moved, key=lambda sequence: (_blocks(sequence), sequence))[: max(1, min(count, MOST))]
    if not fewest:
        raise ValueError("every sequence that one moved block makes of the largest is known")
    return {
        "proposals": [
            {"sequence": one, "reason": f"{moved[one]} is among the largest, and one block of it lies elsewhere here."}
            for one in fewest
        ]
    }


def _blocks(sequence: str) -> int:
    return sum(1 for _ in groupby(sequence))


def _moved(sequence: str) -> Iterator[str]:
    """Return what one moved block makes, in the form that sorts first."""
    runs = ["".join(run) for _, run in groupby(sequence)]
    for number, run in enumerate(runs):
        rest = "".join(runs[:number] + runs[number + 1 :])
        for place in range(len(rest) + 1):
            changed = rest[:place] + run + rest[place:]
            yield min(changed, changed[::-1])
