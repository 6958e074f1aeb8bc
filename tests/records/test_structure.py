"""Plain data become dataclasses and plain data again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import pytest

from sophron.records.structure import structure, unstructure


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Leaf:
    colour: Colour
    size: float | None = None


@dataclass(frozen=True)
class Tree:
    leaves: tuple[Leaf, ...]
    ends: tuple[float, float]
    by_number: Mapping[int, Leaf]
    by_colour: Mapping[Colour, int]
    oldest: Leaf | None
    names: Sequence[str] = ()
    tables: Sequence[list[int]] = field(default_factory=list)


DATA = {
    "leaves": [{"colour": "red", "size": 1}, {"colour": "red", "size": None}],
    "ends": [0.5, 2],
    "by_number": {"3": {"colour": "red", "size": None}},
    "by_colour": {"red": 2},
    "oldest": None,
    "names": ["a"],
    "tables": [[1, 2]],
}


def test_data_become_typed_and_the_same_data_again() -> None:
    tree = structure(Tree, DATA)

    assert tree.leaves == (Leaf(Colour.RED, 1), Leaf(Colour.RED))
    assert tree.ends == (0.5, 2)
    assert tree.by_number == {3: Leaf(Colour.RED)}
    assert tree.by_colour == {Colour.RED: 2}
    assert tree.names == ("a",)
    assert tree.tables == ([1, 2],)
    assert unstructure(tree) == DATA


def test_a_number_stays_the_number_that_was_written() -> None:
    assert isinstance(unstructure(structure(Leaf, {"colour": "red", "size": 1}))["size"], int)


def test_what_has_a_default_may_be_missing_and_what_has_none_may_not() -> None:
    assert structure(Leaf, {"colour": "red", "of later": 1}) == Leaf(Colour.RED)
    with pytest.raises(KeyError, match="colour"):
        structure(Leaf, {"size": 1.0})


@pytest.mark.parametrize("data", ["red", None, ["red"], {"colour": "blue"}])
def test_data_of_another_shape_are_refused(data: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        structure(Leaf, data)


def test_arrays_become_lists() -> None:
    assert unstructure({1: np.array([1.0, 2.0]), "x": np.float64(3.0)}) == {"1": [1.0, 2.0], "x": 3.0}
