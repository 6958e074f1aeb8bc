"""Sequences and their features: exact cases, and nothing that depends on the end a chain is read from."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophron.records.errors import UserError
from sophron.science.sequence_bo import candidates, features, sequences

QUICK = settings(max_examples=40, deadline=None)
CHAINS = st.text("AB", min_size=6, max_size=24).filter(lambda text: len(set(text)) == 2)
MOVES = {
    "mutate": candidates.mutate,
    "move_block": candidates.move_block,
    "recombine": lambda one, rng: candidates.recombine(one, "".join(sorted(one)), rng),
}


@QUICK
@given(CHAINS)
def test_features_do_not_change_under_reversal(chain):
    scale = features.scale(len(chain), chain.count("B"))
    assert np.array_equal(scale.features([chain]), scale.features([chain[::-1]]))
    assert features.block_features(chain) == pytest.approx(features.block_features(chain[::-1]))


@QUICK
@given(CHAINS)
def test_kmer_counts_are_all_words_of_both_directions(chain):
    for k in features.KMERS:
        assert sum(features.kmer_counts(chain, k)) == len(chain) - k + 1
        assert features.kmer_counts(chain, k) == features.kmer_counts(chain[::-1], k)


def test_features_by_hand():
    assert features.kmer_counts("AABBA", 2) == [1.0, 2.0, 1.0]  # AA, AB or BA, BB
    blocks, a, b, spread, ends, centre, moment = features.block_features("AABBBA")
    assert (blocks, a, b, ends) == (3.0, 2.0, 3.0, 2.0)
    assert spread == pytest.approx(np.std([2, 3, 1]))
    assert centre == pytest.approx(abs(np.mean([-2.5, -1.5, 2.5])) / 6)
    assert moment == pytest.approx(np.mean([2.5**2, 1.5**2, 2.5**2]) / 36)


def test_different_chains_have_different_features():
    chains = ["ABABAB", "AABBAB", "AAABBB", "ABBAAB", "BAAABB"]
    rows = features.scale(6, 3).features(chains)
    assert len({tuple(row) for row in rows.round(9)}) == len({sequences.forward(chain) for chain in chains})


@QUICK
@given(CHAINS)
def test_blocks_and_back(chain):
    assert sequences.expand(sequences.blocks(chain)) == chain


def test_text_that_is_no_sequence_is_refused():
    for text in ("", "A5C5", "A5 B5", "5A"):
        with pytest.raises(UserError, match="is not a sequence; write beads or blocks of A and B"):
            sequences.expand(text)


@pytest.mark.parametrize(("length", "count_b"), [(6, 3), (7, 3), (8, 4), (7, 2), (8, 3)])
def test_sequences_are_counted_up_to_their_direction(length, count_b):
    chains = {
        sequences.forward("".join("B" if place in chosen else "A" for place in range(length)))
        for chosen in combinations(range(length), count_b)
    }
    assert sequences.distinct(length, count_b) == len(chains)
    assert sequences.distinct(20, 10) == 92_504
    rng = np.random.default_rng(1)
    drawn = sequences.random_sequences(length, count_b, 10_000, rng)
    assert set(drawn) == chains
    assert len(drawn) == len(chains)


def test_random_sequences_avoid_what_is_given_from_either_end():
    rng = np.random.default_rng(2)
    drawn = sequences.random_sequences(6, 3, 100, rng, but=["BBBAAA"])
    assert "AAABBB" not in drawn


@pytest.mark.parametrize("move", MOVES)
@QUICK
@given(chain=CHAINS, seed=st.integers(0, 1000))
def test_moves_keep_length_and_composition(move, chain, seed):
    moved = MOVES[move](chain, np.random.default_rng(seed))
    assert sorted(moved) == sorted(chain)


def exchanged(chain, a, b):
    beads = list(chain)
    beads[a], beads[b] = beads[b], beads[a]
    return "".join(beads)


def test_a_mutation_reaches_every_exchange_and_nothing_else():
    rng, start = np.random.default_rng(3), "AABBBA"
    pairs = [(a, b) for a, b in combinations(range(6), 2) if start[a] != start[b]]
    reached = {candidates.mutate(start, rng) for _ in range(400)}
    assert reached == {exchanged(start, a, b) for a, b in pairs}


def test_a_block_that_is_moved_merges_with_its_like():
    rng = np.random.default_rng(3)
    moved = {sequences.blocks(candidates.move_block("AAAABBABBBBBBBBAAAAA", rng)) for _ in range(500)}
    assert "A5B10A5" in moved


def test_candidates_are_new_distinct_and_of_every_origin():
    rng, known = np.random.default_rng(4), ["AAAAABBBBBBBBBBAAAAA", "ABABABABABABABABABAB"]
    counts = {"mutations": 20, "block_moves": 20, "recombinations": 20, "random": 20}
    found = candidates.candidates(known, counts, known, rng)
    assert not set(found) & set(known)
    assert all(one == sequences.forward(one) and one.count("B") == 10 for one in found)
    assert set(found.values()) == set(counts)
    assert all(list(found.values()).count(origin) <= 20 for origin in counts)
