"""How rules of thumb read their inputs: plain data of a known shape, or a ValueError that says what is amiss."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from sophron.interfaces import UncheckedObject
from sophron.records import sanitize
from sophron.records.typed_json import RecordError, from_json

T = TypeVar("T")

LONGEST_QUOTE = 240
LARGEST_INTEGER = 2**53 - 1
MOST_INSTRUCTIONS = 20
INSTRUCTION = re.compile(
    r"</?\s*(?:input|inputs|system)\b|^\s*(?:system|assistant)\s*:|\binstructions? (?:to|for) (?:the |any )?"
    r"(?:\w+ )?(?:agent|model|assistant)\b|\b(?:ignore|disregard|forget) (?:all|any|the|your|previous|what)\b.{0,60}"
    r"\b(?:instruction|rule|prompt|above|before)|\bby order of\b|\bwrite no (?:caveat|warning)|\byou are now\b",
    re.IGNORECASE | re.MULTILINE,
)
"""Text that speaks to an agent instead of about the science. A rule of thumb: it obeys nothing anyway."""


def unfit(what: str, kind: str) -> ValueError:
    """Return the failure of an input that is not what it should be."""
    return ValueError(f"{what} is no {kind}")


def read(cls: type[T], value: object, what: str) -> T:
    """Return the dataclass `cls` that `value` describes; ValueError names the field that is missing or does not fit."""
    try:
        return from_json(cls, value)
    except RecordError as error:
        raise ValueError(f"{what}: {error}") from None


def given(inputs: UncheckedObject, role: str) -> object:
    """Return the input `role`; ValueError if the step was not given it."""
    if role not in inputs:
        raise ValueError(f'the input "{role}" is missing')
    return inputs[role]


def mapping(value: object, what: str) -> UncheckedObject:
    """Return `value` as an object whose keys are texts."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise unfit(what, "object")
    return value


def listed(value: object, what: str) -> list[object]:
    """Return `value` as a list."""
    if not isinstance(value, list | tuple):
        raise unfit(what, "list")
    return list(value)


def objects(value: object, what: str) -> list[UncheckedObject]:
    """Return `value` as a list of objects."""
    return [mapping(item, f"an entry of {what}") for item in listed(value, what)]


def texts(value: object, what: str) -> list[str]:
    """Return `value` as a list of texts."""
    return [text(item, f"an entry of {what}") for item in listed(value, what)]


def text(value: object, what: str) -> str:
    """Return `value` as text."""
    if not isinstance(value, str):
        raise unfit(what, "text")
    return value


def number(value: object) -> float | None:
    """Return `value` as a finite float, or None if it is not a number (booleans do not count)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # an integer that no float holds
        return None


def count(value: object) -> int | None:
    """Return `value` as a positive integer that JSON holds exactly, or None if it is none."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 < value <= LARGEST_INTEGER else None


def whole(value: object, what: str) -> int:
    """Return `value` as an integer that JSON holds exactly."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST_INTEGER:
        raise unfit(what, "integer")
    return value


def stages_of(spec: UncheckedObject) -> dict[str, UncheckedObject]:
    """Map the names of stages to their blocks, from a parsed `campaign.yaml`."""
    stages = mapping(spec.get("stages", {}), "spec.stages")
    return {name: mapping(block, f"spec.stages.{name}") for name, block in stages.items()}


def needed(block: UncheckedObject, name: str) -> list[str]:
    """Return the stages that a stage's block builds on."""
    return texts(block.get("depends_on", []), f"depends_on of {name}")


def strings(data: object) -> Iterator[str]:
    """Yield all texts in plain data, keys left out."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for part in data.values():
            yield from strings(part)
    elif isinstance(data, Sequence):
        for part in data:
            yield from strings(part)


def instructions(inputs: UncheckedObject) -> list[dict[str, str]]:
    """Return the lines of inputs that try to instruct an agent, as {where: the input, text}."""
    found = [
        {"where": role, "text": quoted(line)}
        for role, value in inputs.items()
        for text in strings(value)
        for line in text.splitlines()
        if INSTRUCTION.search(line)
    ]
    return list({one["text"]: one for one in reversed(found)}.values())[::-1][:MOST_INSTRUCTIONS]


def quoted(line: str, most: int = LONGEST_QUOTE) -> str:
    """Return a line of a stranger's text as it may stand in an answer: one line, printable, `most` characters."""
    return sanitize.one_line(line, most)
