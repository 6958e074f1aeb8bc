"""Candidates for the next evaluations: changed copies of the best sequences so far, mixtures of two, and random ones.

Every move keeps the composition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, groupby
from typing import TYPE_CHECKING

from sophron.science.sequence_bo.sequences import forward, random_sequence

if TYPE_CHECKING:
    from numpy.random import Generator

TRIES = 20
"""Draws for one candidate that is new, before fewer than asked for are returned."""


def mutate(sequence: str, rng: Generator) -> str:
    """Exchange a bead A with a bead B."""
    beads = list(sequence)
    a = int(rng.choice([place for place, bead in enumerate(beads) if bead == "A"]))
    b = int(rng.choice([place for place, bead in enumerate(beads) if bead == "B"]))
    beads[a], beads[b] = beads[b], beads[a]
    return "".join(beads)


def move_block(sequence: str, rng: Generator) -> str:
    """Cut a block out, turn to either side what is left, and insert it elsewhere: blocks merge or part."""
    ends = list(accumulate(len(list(run)) for _, run in groupby(sequence)))
    number = int(rng.integers(len(ends)))
    start, end = (ends[number - 1] if number else 0), ends[number]
    block, rest = sequence[start:end], sequence[:start] + sequence[end:]
    place = int(rng.integers(len(rest) + 1))
    return rest[:place] + block + rest[place:]


def recombine(first: str, second: str, rng: Generator) -> str:
    """Join the head of one to the tail of another, either way round, and repair the composition at random places."""
    second = second if rng.integers(2) else second[::-1]
    cut = int(rng.integers(1, len(first)))
    beads = list(first[:cut] + second[cut:])
    surplus = beads.count("B") - first.count("B")
    much, little = ("B", "A") if surplus > 0 else ("A", "B")
    places = [place for place, bead in enumerate(beads) if bead == much]
    for place in rng.choice(places, abs(surplus), replace=False) if surplus else ():
        beads[int(place)] = little
    return "".join(beads)


def candidates(parents: Sequence[str], counts: Mapping[str, int], but: Sequence[str], rng: Generator) -> dict[str, str]:
    """Return new sequences and where each comes from: `counts` of mutations, block_moves, recombinations and random.

    parents: the best so far; but: sequences that are no candidates. Fewer are returned if moves give no new ones.
    """

    def parent() -> str:
        return parents[int(rng.integers(len(parents)))]

    moves: dict[str, Callable[[], str]] = {
        "mutations": lambda: mutate(parent(), rng),
        "block_moves": lambda: move_block(parent(), rng),
        "recombinations": lambda: recombine(parent(), parent(), rng),
        "random": lambda: random_sequence(len(parents[0]), parents[0].count("B"), rng),
    }
    taken, found = set(but), {}
    for origin, move in moves.items():
        for _ in range(counts[origin]):
            fresh = next((one for one in (forward(move()) for _ in range(TRIES)) if one not in taken), None)
            if fresh is not None:
                taken.add(fresh)
                found[fresh] = origin
    return found
