"""Text for people's eyes: whatever a stranger or a model wrote, without signs that hide, reorder or forge.

A spec may come from anywhere. Terminal escapes could rewrite what was printed above them, direction overrides could
show a digit string backwards, characters without width could make two names look alike.
"""

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# CSI and OSC sequences and two-character escapes (ECMA-48), whole: their parameters are letters and digits.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-~]?"
)
_BREAKS = "\t\n\r\v\f\x85\u2028\u2029"
# Marks that print nothing although Unicode calls them letters or symbols.
_BLANK_LETTERS = (
    "\u115f\u1160\u3164\uffa0\u2800\u034f\u180b\u180c\u180d\ufe00\ufe01\ufe02\ufe03\ufe04\ufe05\ufe0e\ufe0f"
)
MAX_MARKS = 3


def text(value: object) -> str:
    """`value` on one line, blanks joined, without anything that is not seen."""
    return " ".join(_visible(str(value)).split())


def lines(value: object) -> list[str]:
    """`value` line by line, with its inner blanks, each line cleaned as `text` does."""
    return [_visible(line.expandtabs(4)).rstrip() for line in re.split(r"\r\n|[\n\r\v\f\x85\u2028\u2029]", str(value))]


def _visible(raw: str) -> str:
    """Printable characters alone: Python calls controls, formats, surrogates and unassigned ones not printable."""
    kept, marks = [], 0
    for sign in _ESCAPES.sub("", raw):
        category = unicodedata.category(sign)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if sign in _BREAKS or category == "Zs":
            kept.append(" ")
        elif sign.isprintable() and sign not in _BLANK_LETTERS and marks <= MAX_MARKS:
            kept.append(sign)
    return "".join(kept)


def hides(value: object) -> bool:
    """Whether anything in plain data would be left out when it is shown; ordinary line ends and tabs are not."""
    return any(len(_visible(raw)) != len(raw) for raw in _strings(value))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from _strings(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _strings(inner)


def plain(value: Any) -> str:
    """One JSON value as people write it: text without quotes, true and false, lists in one line."""
    if isinstance(value, str):
        return text(value)
    return text(json.dumps(value, ensure_ascii=False))


def flat(block: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """`(dotted key, value)` of nested mappings; a list of mappings is counted through, other lists stay whole."""
    for key, value in block.items():
        name = f"{above}.{key}" if above else str(key)
        if isinstance(value, Mapping) and value:
            yield from flat(value, name)
        elif isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
            yield from flat({str(index): one for index, one in enumerate(value)}, name)
        else:
            yield name, value


def number(value: float, digits: int = 4) -> str:
    """A number with `digits` significant ones; integers in full."""
    if isinstance(value, int):
        return str(value)
    return f"{value:.{digits}g}"


def with_error(value: float, error: float | None) -> str:
    """`3.213 ± 0.041`: the error with two significant digits, the value to the same place."""
    if not error or not math.isfinite(error) or not math.isfinite(value):
        return number(value)
    places = _places(error)
    return f"{value:.{places}f} ± {error:.{places}f}"


def interval(low: float, high: float) -> str:
    """`3.130 to 3.297`: both ends to the place of the second significant digit of half their distance."""
    half = (high - low) / 2
    if not half or not math.isfinite(half):
        return f"{number(low)} to {number(high)}"
    places = _places(half)
    return f"{low:.{places}f} to {high:.{places}f}"


def _places(width: float) -> int:
    """Decimal places at which `width` shows two significant digits; none for 10 and above."""
    return max(0, 1 - math.floor(math.log10(abs(width))))


def hours(value: float) -> str:
    """Core-hours to two places."""
    return "< 0.01" if 0 < value < 0.005 else f"{value:,.2f}"


def amount(value: float) -> str:
    """Calls, tokens or dollars: thousands apart, no digits that were not meant."""
    return f"{value:,.12g}"


def of_a_model(amounts: Mapping[str, float]) -> str:
    """Calls, tokens and dollars of a model, by limit of a campaign, in words."""
    calls = "1 call" if amounts["model_calls"] == 1 else f"{amount(amounts['model_calls'])} calls"
    return f"{calls}, {amount(amounts['tokens'])} tokens, {amount(amounts['dollars'])} dollars"


def duration(seconds: float) -> str:
    """`1:02:03`: hours, minutes and whole seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def short(digest: str) -> str:
    """The first digits of a digest."""
    return digest[:12]
