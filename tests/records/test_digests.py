"""Canonical JSON is RFC 8785: equal values give equal bytes, and what JSON cannot hold exactly is refused."""

import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophron.records.digests import canonical_bytes, digest, file_digest

SAFE = 2**53 - 1
# RFC 8785 writes a float from 2**53 to 1e21 as whole digits, which are read back as an integer it refuses.
FLOATS = st.floats(-SAFE, SAFE) | st.floats(1e21, 1e300)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-SAFE, SAFE) | FLOATS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def shuffled(value):
    """`value` with the keys of every mapping in the opposite order."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(list(value))}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


@settings(max_examples=60, deadline=None)
@given(VALUES)
def test_key_order_and_a_round_trip_through_json_change_nothing(value):
    content = canonical_bytes(value)
    assert canonical_bytes(shuffled(value)) == content
    assert canonical_bytes(json.loads(content)) == content


def test_the_bytes_are_those_of_the_standard():
    # RFC 8785, section 3.2.2 and 3.2.3: shortest numbers, keys in order of UTF-16 code units.
    numbers = [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001]
    assert canonical_bytes(numbers) == b"[333333333.3333333,1e+30,4.5,0.002,1e-27]"
    keys = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\u0080": 6, "\u00f6": 7}
    ordered = list(json.loads(canonical_bytes(keys)))
    assert ordered == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


def test_equal_numbers_are_one_number_and_text_is_another():
    assert canonical_bytes(1.0) == canonical_bytes(1) == b"1"
    assert digest({"a": 1}) != digest({"a": "1"})
    assert digest([1, 2]) != digest([2, 1])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 2**53, -(2**53), {1: 2}, "\ud800"])
def test_what_json_cannot_hold_is_refused(value):
    with pytest.raises(ValueError):
        canonical_bytes({"deep": [value]})


def test_a_file_is_digested_whole(tmp_path):
    data = bytes(range(256)) * (1 << 12) + b"beyond one buffer"
    (tmp_path / "file").write_bytes(data)
    assert file_digest(tmp_path / "file") == hashlib.sha256(data).hexdigest()
