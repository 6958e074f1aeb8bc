"""Compare what is recorded with what was derived again: JSON values, and the numbers in files."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

RELATIVE, ABSOLUTE = 1e-9, 1e-12
"""Differences up to which two numbers are equal: other processors sum in another order."""
NUMBER = re.compile(r"([-+]?\d+\.?\d*(?:[eE][-+]?\d+)?|[-+]?\.\d+(?:[eE][-+]?\d+)?)")
MISSING = "nothing"
LONGEST_TEXT = 60

Pair = tuple[str, object, object]
"""Name of a value, what is recorded, what was derived again."""


def leaves(value: object, name: str = "") -> dict[str, object]:
    """Return the scalars inside a JSON value by their dotted names; an empty array or object is one.

    What has an `id` or a `step` in an array is named by it, in place of its number.
    """
    found: dict[str, object] = {}
    for key, item in _items(value):
        found |= leaves(item, f"{name}.{key}" if name else key)
    return found or {name: value}


def _items(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        yield from ((str(key), item) for key, item in value.items())
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            about = item if isinstance(item, Mapping) else {}
            yield str(about.get("id", about.get("step", number))), item


def pairs(recorded: object, derived: object, name: str = "") -> list[Pair]:
    """Return the scalars of two JSON values side by side, in the order of the recorded ones."""
    ours, theirs = leaves(recorded, name), leaves(derived, name)
    return [(key, ours.get(key, MISSING), theirs.get(key, MISSING)) for key in ours | theirs]


def equal(recorded: object, derived: object) -> bool:
    """Whether two scalars are equal; numbers within `RELATIVE` or `ABSOLUTE`, and NaN equals NaN."""
    if isinstance(recorded, bool) or isinstance(derived, bool) or not _are_numbers(recorded, derived):
        return bool(recorded == derived)
    first, second = float(recorded), float(derived)  # type: ignore[arg-type]
    return math.isclose(first, second, rel_tol=RELATIVE, abs_tol=ABSOLUTE) or (math.isnan(first) and math.isnan(second))


def _are_numbers(*values: object) -> bool:
    return all(isinstance(value, int | float) for value in values)


def file_pairs(recorded: Path, derived: Path) -> Iterator[Pair]:
    """Yield the first difference between two files, in each array of an `.npz`; nothing if they hold the same numbers.

    ValueError, OSError if the recorded one cannot be read as what its name says.
    """
    if recorded.read_bytes() == derived.read_bytes():
        return
    if recorded.suffix == ".npz":
        yield from _array_pairs(recorded, derived)
    elif recorded.suffix == ".png":
        yield "picture", "other bytes", "these bytes"
    else:
        read = _json if recorded.suffix == ".json" else _tokens
        different = (pair for pair in pairs(read(recorded), read(derived)) if not equal(*pair[1:]))
        yield from [pair for pair, _ in zip(different, range(1), strict=False)]


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _tokens(path: Path) -> list[object]:
    """The text of a file, cut at its numbers; the text between them stays as it is."""
    cut = NUMBER.split(path.read_text(encoding="utf-8"))
    return [float(piece) if place % 2 else piece[:LONGEST_TEXT] for place, piece in enumerate(cut)]


def _array_pairs(recorded: Path, derived: Path) -> Iterator[Pair]:
    import numpy as np

    with np.load(recorded) as ours, np.load(derived) as theirs:
        for name in sorted({*ours.files, *theirs.files}):
            if name not in ours.files or name not in theirs.files:
                yield name, *("an array" if name in one.files else MISSING for one in (ours, theirs))
                continue
            first, second = np.asarray(ours[name]), np.asarray(theirs[name])
            if first.shape != second.shape:
                yield name, f"shape {first.shape}", f"shape {second.shape}"
                continue
            numeric = first.dtype.kind in "fiub" and second.dtype.kind in "fiub"
            same = np.isclose(first, second, RELATIVE, ABSOLUTE, equal_nan=True) if numeric else first == second
            if not np.all(same):
                place = np.unravel_index(int(np.argmin(same)), first.shape)
                index = f"[{', '.join(map(str, place))}]" if first.shape else ""
                yield f"{name}{index}", first[place].item(), second[place].item()
