"""Sequences of two kinds of beads with a fixed composition, as text such as `AABBA`; a chain has no direction.

A sequence and its reverse are the same chain, so each is kept in the form that sorts first: `forward`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from math import comb
from typing import TYPE_CHECKING

from sophron.records.errors import UserError

if TYPE_CHECKING:
    from numpy.random import Generator

BLOCK = re.compile(r"([AB])(\d*)")


def forward(sequence: str) -> str:
    """Return the sequence or its reverse, whichever sorts first."""
    return min(sequence, sequence[::-1])


def blocks(sequence: str) -> str:
    """Return the sequence by its blocks: `AAABBA` is `A3B2A`."""
    lengths = ((bead, len(list(run))) for bead, run in groupby(sequence))
    return "".join(bead if length == 1 else f"{bead}{length}" for bead, length in lengths)


def expand(text: str) -> str:
    """Return the beads of a sequence that may be written by blocks: `A3B2A` is `AAABBA`; UserError for other text."""
    if not text or BLOCK.sub("", text):
        raise UserError(f"{text!r} is not a sequence; write beads or blocks of A and B, such as A5B10A5")
    return "".join(bead * int(length or 1) for bead, length in BLOCK.findall(text))


def distinct(length: int, count_b: int) -> int:
    """Return how many sequences differ by more than their direction: (all + palindromes) / 2."""
    palindromes = 0 if length % 2 == 0 and count_b % 2 else comb(length // 2, count_b // 2)
    return (comb(length, count_b) + palindromes) // 2


def random_sequence(length: int, count_b: int, rng: Generator) -> str:
    """Draw one of all sequences with `count_b` beads B, each direction as likely as the other."""
    beads = ["B"] * count_b + ["A"] * (length - count_b)
    rng.shuffle(beads)
    return forward("".join(beads))


def random_sequences(length: int, count_b: int, count: int, rng: Generator, but: Sequence[str] = ()) -> list[str]:
    """Draw `count` distinct sequences, none of `but`; as many as there are if that is fewer."""
    taken = {forward(sequence) for sequence in but}
    wanted = min(count, distinct(length, count_b) - len(taken))
    drawn: list[str] = []
    while len(drawn) < wanted:
        sequence = random_sequence(length, count_b, rng)
        if sequence not in taken:
            taken.add(sequence)
            drawn.append(sequence)
    return drawn
