"""Records as dataclasses: what is read, what is written, and what a damaged one is told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

import pytest

from sophron.records.errors import UserError
from sophron.records.typed_json import from_json, left_out, load, to_json


@dataclass(frozen=True)
class Inner:
    name: str
    size: float | None = left_out()


@dataclass(frozen=True)
class Outer:
    count: int
    inner: Inner
    number: int | None = left_out(key="try")
    listed: tuple[Inner, ...] = ()
    named: Mapping[str, Inner] = field(default_factory=dict)
    words: Sequence[str] = ()
    anything: object = None


def test_what_is_written_is_read_again():
    record = Outer(1, Inner("a", 2.5), 3, (Inner("b"),), {"c": Inner("d", 1)}, ["e"], {"f": [1, None]})
    plain = to_json(record)
    assert plain["try"] == 3
    assert plain["listed"] == [{"name": "b"}]
    assert from_json(Outer, plain) == record


def test_a_key_of_a_newer_version_is_ignored_and_a_default_fills_in():
    assert from_json(Outer, {"count": 1, "inner": {"name": "a", "colour": "red"}, "later": 2}) == Outer(1, Inner("a"))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ([], "is not an object"),
        ({"inner": {"name": "a"}}, "count is missing"),
        ({"count": True, "inner": {"name": "a"}}, "count: True is of another type"),
        ({"count": 1, "inner": {"name": 2}}, "inner: name: 2 is of another type"),
        ({"count": 1, "inner": {"name": "a", "size": "big"}}, "inner: size: 'big' is of another type"),
        ({"count": 1, "inner": {"name": "a"}, "words": "abc"}, "words: 'abc' is of another type"),
    ],
)
def test_a_damaged_record_is_told_by_its_field(content, told):
    with pytest.raises(ValueError, match=told):
        from_json(Outer, content)


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Painted:
    colour: Colour
    kind: Literal["a", "b"]
    ends: tuple[float, float]
    by_number: Mapping[int, Inner]
    by_colour: Mapping[Colour, int]


PAINTED = {
    "colour": "red",
    "kind": "a",
    "ends": [0.5, 2],
    "by_number": {"3": {"name": "c"}},
    "by_colour": {"red": 2},
}


def test_enumerations_ranges_and_keys_that_are_no_strings_are_read_and_written():
    painted = from_json(Painted, PAINTED)
    assert painted == Painted(Colour.RED, "a", (0.5, 2), {3: Inner("c")}, {Colour.RED: 2})
    assert to_json(painted) == PAINTED


@pytest.mark.parametrize(("key", "value"), [("colour", "blue"), ("by_number", {"x": {"name": "c"}})])
def test_a_name_that_is_none_of_them_is_told(key, value):
    with pytest.raises(ValueError, match=f"^{key}: "):
        from_json(Painted, PAINTED | {key: value})


def test_a_file_may_hold_records_by_name(tmp_path):
    path = tmp_path / "known.json"
    path.write_text('{"one": {"name": "a"}, "two": {"name": "b", "size": 2.0}}')
    assert load(path, dict[str, Inner]) == {"one": Inner("a"), "two": Inner("b", 2.0)}
    path.write_text('{"one": {"name": 1}}')
    with pytest.raises(UserError, match=r"known.json: is damaged, not a record \(name: 1 is of another type\)"):
        load(path, dict[str, Inner])
