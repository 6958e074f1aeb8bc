"""Values as people read them: numbers with their errors, amounts, durations, JSON values in one line."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from sophron.records.sanitize import one_line


def plain(value: Any) -> str:
    """Return one JSON value as people write it: text without quotes, true and false, lists in one line."""
    if isinstance(value, str):
        return one_line(value)
    return one_line(json.dumps(value, ensure_ascii=False))


def flat(block: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
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
    """Return a number with `digits` significant ones; integers in full."""
    if isinstance(value, int):
        return str(value)
    return f"{value:.{digits}g}"


def with_error(value: float, error: float | None) -> str:
    """Return `3.213 ± 0.041`: the error with two significant digits, the value to the same place."""
    if not error or not math.isfinite(error) or not math.isfinite(value):
        return number(value)
    places = _places(error)
    return f"{value:.{places}f} ± {error:.{places}f}"


def interval(low: float, high: float) -> str:
    """Return `3.130 to 3.297`: both ends to the place of the second significant digit of half their distance."""
    half = (high - low) / 2
    if not half or not math.isfinite(half):
        return f"{number(low)} to {number(high)}"
    places = _places(half)
    return f"{low:.{places}f} to {high:.{places}f}"


def _places(width: float) -> int:
    """Decimal places at which `width` shows two significant digits; none for 10 and above."""
    return max(0, 1 - math.floor(math.log10(abs(width))))


def hours(value: float) -> str:
    """Return the core-hours to two places."""
    return "< 0.01" if 0 < value < 0.005 else f"{value:,.2f}"


def amount(value: float) -> str:
    """Format calls, tokens or dollars: thousands apart, no digits that were not meant."""
    return f"{value:,.12g}"


def of_a_model(amounts: Mapping[str, float]) -> str:
    """Format calls, tokens and dollars of a model, by limit of a campaign, in words."""
    calls = "1 call" if amounts["model_calls"] == 1 else f"{amount(amounts['model_calls'])} calls"
    return f"{calls}, {amount(amounts['tokens'])} tokens, {amount(amounts['dollars'])} dollars"


def duration(seconds: float) -> str:
    """Return `1:02:03`: hours, minutes and whole seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def short(digest: str) -> str:
    """Return the first digits of a digest."""
    return digest[:12]
