"""How rules of thumb read their inputs: plain data of a known shape, or a ValueError that says what is amiss."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sophron.records import sanitize

LONGEST_QUOTE = 240
LARGEST_INTEGER = 2**53 - 1


def unfit(what: str, kind: str) -> ValueError:
    """The failure of an input that is not what it should be."""
    return ValueError(f"{what} is no {kind}")


def given(inputs: Mapping[str, Any], role: str) -> Any:
    """The input `role`; ValueError where the step was not given it."""
    if role not in inputs:
        raise ValueError(f'the input "{role}" is missing')
    return inputs[role]


def mapping(value: Any, what: str) -> Mapping[str, Any]:
    """`value` as an object whose keys are texts."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise unfit(what, "object")
    return value


def listed(value: Any, what: str) -> list[Any]:
    """`value` as a list."""
    if not isinstance(value, list | tuple):
        raise unfit(what, "list")
    return list(value)


def objects(value: Any, what: str) -> list[Mapping[str, Any]]:
    """`value` as a list of objects."""
    return [mapping(item, f"an entry of {what}") for item in listed(value, what)]


def texts(value: Any, what: str) -> list[str]:
    """`value` as a list of texts."""
    return [text(item, f"an entry of {what}") for item in listed(value, what)]


def text(value: Any, what: str) -> str:
    """`value` as text."""
    if not isinstance(value, str):
        raise unfit(what, "text")
    return value


def number(value: Any) -> float | None:
    """`value` as a finite number, or None where it is none (a truth value is none)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # an integer that no float holds
        return None


def count(value: Any) -> int | None:
    """`value` as a positive integer that JSON holds exactly, or None where it is none."""
    fitting = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST_INTEGER
    return value if fitting else None


def whole(value: Any, what: str) -> int:
    """`value` as an integer that JSON holds exactly."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST_INTEGER:
        raise unfit(what, "integer")
    return value


def stages_of(spec: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Stage name -> block, from a parsed `campaign.yaml`."""
    stages = mapping(spec.get("stages", {}), "spec.stages")
    return {name: mapping(block, f"spec.stages.{name}") for name, block in stages.items()}


def needed(block: Mapping[str, Any], name: str) -> list[str]:
    """The stages that a stage's block builds on."""
    return texts(block.get("depends_on", []), f"depends_on of {name}")


def strings(data: Any) -> Iterator[str]:
    """All texts in plain data, keys left out."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for part in data.values():
            yield from strings(part)
    elif isinstance(data, Sequence):
        for part in data:
            yield from strings(part)


def quoted(line: str, most: int = LONGEST_QUOTE) -> str:
    """A line of a stranger's text as it may stand in an answer: one line, printable, `most` characters."""
    return sanitize.one_line(line, most)
