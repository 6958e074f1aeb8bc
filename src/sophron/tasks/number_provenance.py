"""Where a number may come from: what a task gave, what a program printed, a constant of nature, or nowhere."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from functools import cache

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w])")
FEWEST_DIGITS = 4
"""Significant digits from which a number that agrees with a constant of nature is that constant."""
EDITIONS = 1e-6
"""Relative difference of a constant of nature between editions of its table."""
SMALL = 10
"""Whole numbers up to this are counts that anything may be."""
MOST_TEXT = 500_000


def numbers(text: str) -> list[float]:
    """Return the numbers of a text, in their order."""
    return [float(one) for one in NUMBER.findall(text[:MOST_TEXT])]


def digits(value: float) -> int:
    """Return the significant digits of a number, without zeros at its end."""
    return len(f"{abs(value):.15e}".partition("e")[0].replace(".", "").rstrip("0")) if value else 1


def is_small(value: float) -> bool:
    """Return whether a number is a small whole one, as counts are."""
    return value == int(value) and abs(value) <= SMALL if math.isfinite(value) else False


def written(value: float, places: int) -> str:
    """Return a number as it is written with so many significant digits."""
    return f"{value:.{places - 1}e}"


def agrees(value: float, sources: Iterable[float]) -> bool:
    """Return whether a number is one of `sources`, rounded to the digits that it has."""
    places = digits(value)
    text = written(value, places)
    return any(text == written(one, places) for one in sources)


@cache
def _constants() -> tuple[float, ...]:
    from scipy import constants

    known = [value[0] for value in constants.physical_constants.values()]
    return (*known, math.pi, math.e, math.tau, math.sqrt(2), constants.zero_Celsius, constants.atm, constants.calorie)


def is_constant_of_nature(value: float) -> bool:
    """Return whether a number is one of CODATA's or mathematics', to at least four digits; editions may differ."""
    if digits(value) < FEWEST_DIGITS:
        return False
    return agrees(value, _constants()) or any(math.isclose(value, one, rel_tol=EDITIONS) for one in _constants())


def is_regular(values: Sequence[float]) -> bool:
    """Return whether numbers are a grid: the steps between them, or their ratios, are the same."""
    steps = {round(after - before, 9) for before, after in itertools.pairwise(values)}
    if len(steps) <= 1 or not all(values):
        return len(steps) <= 2
    return len({round(after / before, 6) for before, after in itertools.pairwise(values)}) <= 1
