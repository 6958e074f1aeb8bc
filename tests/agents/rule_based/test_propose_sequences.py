"""The stand-in of propose-sequences: legal sequences that are new, and a failure if there are none."""

import pytest

from sophron.agents.rule_based import propose_sequences


def asked(*rows, count=4):
    evaluated = [{"sequence": one, "blocks": one, "radius": radius, "error": 0.01} for one, radius in rows]
    return propose_sequences.answer({"evaluated": evaluated, "wanted": {"proposals": count}, "chain": {}})["proposals"]


def test_it_merges_blocks_of_the_largest():
    found = [one["sequence"] for one in asked(("ABAABBAB", 1.3), ("AAAABBBB", 1.1), ("ABABABAB", 1.0))]
    assert len(found) == len(set(found)) == 4
    assert all(sorted(one) == sorted("AAAABBBB") for one in found)
    assert "AAAABBBB" not in found
    assert found[0].count("AB") + found[0].count("BA") == 2


def test_it_has_nothing_to_say_if_all_is_known():
    with pytest.raises(ValueError, match="known"):
        asked(("AB", 1.0))
