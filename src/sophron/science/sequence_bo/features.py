"""Features of sequences that do not change under reversal: k-mer counts of both directions, and features of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, product
from typing import TYPE_CHECKING

import numpy as np

from sophron.science.sequence_bo.sequences import forward, random_sequences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.float64]

KMERS = (2, 3, 4, 5)
REFERENCE = 1000
"""Random sequences by which columns are scaled."""
REFERENCE_SEED = 1


@lru_cache(maxsize=8)
def _words(k: int) -> tuple[str, ...]:
    """All words of k beads, one of each pair that reversal exchanges."""
    return tuple(word for word in map("".join, product("AB", repeat=k)) if word == forward(word))


def kmer_counts(sequence: str, k: int) -> list[float]:
    """Return how often each word of `k` beads stands in the sequence, read in both directions."""
    counts = dict.fromkeys(_words(k), 0.0)
    for start in range(len(sequence) - k + 1):
        counts[forward(sequence[start : start + k])] += 1.0
    return list(counts.values())


def block_features(sequence: str) -> list[float]:
    """Return number of blocks, longest of A and of B, spread of their lengths, ends that are A, where A lies.

    Where A lies: the distance of its centre from the middle of the chain, and its mean squared distance from there,
    both in chain lengths.
    """
    runs = [(bead, len(list(group))) for bead, group in groupby(sequence)]
    lengths = [length for _, length in runs]
    longest = [max((length for bead, length in runs if bead == kind), default=0) for kind in "AB"]
    middle = (len(sequence) - 1) / 2
    places = [(place - middle) / len(sequence) for place, bead in enumerate(sequence) if bead == "A"] or [0.0]
    ends = (sequence[0] + sequence[-1]).count("A")
    return [
        float(len(runs)),
        *map(float, longest),
        float(np.std(lengths)),
        float(ends),
        abs(float(np.mean(places))),
        float(np.mean(np.square(places))),
    ]


@dataclass(frozen=True)
class Scale:
    """Scale of the columns for chains of one length and composition: `features = (raw - mean) / spread`."""

    mean: Rows
    spread: Rows

    def features(self, sequences: Sequence[str]) -> Rows:
        """Return the scaled features, shape (sequences, columns)."""
        return (_raw(sequences) - self.mean) / self.spread


def _raw(sequences: Sequence[str]) -> Rows:
    return np.array([_raw_row(sequence) for sequence in sequences])


@lru_cache(maxsize=200_000)
def _raw_row(sequence: str) -> Rows:
    one = forward(sequence)
    return np.array([count for k in KMERS for count in kmer_counts(one, k)] + block_features(one))


def _weights() -> Rows:
    """Weight of each column: words of one length count as much together as one feature of blocks."""
    words = [len(_words(k)) for k in KMERS]
    return np.concatenate([np.full(count, count**-0.5) for count in words] + [np.ones(len(block_features("AB")))])


@lru_cache(maxsize=8)
def scale(length: int, count_b: int) -> Scale:
    """Return the scale of chains with `length` beads, `count_b` of them B, by the same random sequences always."""
    drawn = random_sequences(length, count_b, REFERENCE, np.random.default_rng(REFERENCE_SEED))
    raw = _raw(drawn)
    spread = raw.std(axis=0)
    return Scale(raw.mean(axis=0), np.where(spread > 0, spread, 1.0) / _weights())
