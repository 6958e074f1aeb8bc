"""Patterns whose file gives a first angle and a step, and then counts alone: FullProf's free format, Bruker's UXD."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sophron.interfaces.rietveld import Pattern
from sophron.records.errors import UserError, shown

FEWEST_STEPS = 50
HEAD_LINES = 10
COUNTS, PAIRS = ("_COUNTS", "_CPS"), ("_2THETACOUNTS", "_2THETACPS", "_2THETACOUNTSTIME")
MARKERS = (*COUNTS, *PAIRS)

SEPARATORS = re.compile(r"[\s,;]+")


def numbers(text: str) -> list[float] | None:
    """Return the finite numbers of a line, None if a word of it is not one."""
    try:
        values = [float(word) for word in SEPARATORS.split(text.strip()) if word]
    except ValueError:
        return None
    return values if values and all(math.isfinite(one) for one in values) else None


def read_start_step_end(path: Path, lines: Sequence[str], comments: tuple[str, ...]) -> Pattern | None:
    """Return the pattern of a file that begins with `start step end`; None if it does not. UserError with the counts.

    After the three numbers a title may stand, and before them lines of one; counts follow, any number a line.
    """
    rows = [(number, line.strip()) for number, line in enumerate(lines, 1)]
    rows = [(number, line) for number, line in rows if line and not line.startswith(comments)]
    for at, (number, line) in enumerate(rows[:HEAD_LINES]):
        head = numbers(" ".join(SEPARATORS.split(line)[:3]))
        if head is None or len(head) < 3:
            continue
        start, step, end = head
        points = round((end - start) / step) + 1 if step > 0 else 0
        if points <= FEWEST_STEPS or not 0 <= start < end <= 180 or _is_a_row(line, rows[at + 1 : at + 2]):
            return None
        counts = [value for row in rows[at + 1 :] for value in _row(path, *row)]
        if len(counts) != points:
            raise UserError(
                f"{path}: line {number} says {points} points from {start:g} to {end:g} degrees, {len(counts)} counts "
                "follow; give the whole file"
            )
        return Pattern(str(path), start + step * np.arange(points, dtype=np.float64), np.array(counts))
    return None


def _is_a_row(line: str, following: Sequence[tuple[int, str]]) -> bool:
    """Return whether a line of three numbers is a point with its deviation: the next one goes on from its angle."""
    here, after = numbers(line), numbers(following[0][1]) if following else None
    if here is None or after is None or len(here) != len(after):
        return False
    return len(here) == 3 and 0 < after[0] - here[0] < 1


def _row(path: Path, number: int, line: str) -> list[float]:
    values = numbers(line)
    if values is None:
        raise UserError(f'{path}: line {number}: "{shown(line)}" is not counts; correct or remove it')
    return values


def read_uxd(path: Path) -> Pattern:
    """Return the one range of a UXD file. UserError for another number of ranges, or of points than its header says."""
    text = path.read_bytes().decode("latin-1")
    head: dict[str, str] = {}
    marks: list[str] = []
    values: list[float] = []
    for number, line in enumerate(text.splitlines(), 1):
        row = line.strip()
        if not row or row.startswith(";"):
            continue
        if row.upper().split("=")[0].strip() in MARKERS:
            marks.append(row.upper())
        elif row.startswith("_"):
            key, _, value = row.partition("=")
            head.setdefault(key.strip().upper(), value.strip())
        elif marks:
            values += _row(path, number, row)
    if len(marks) != 1:
        raise UserError(f"{path}: {len(marks)} ranges of counts; give a file with one")
    found = _pairs(path, values) if marks[0] in PAIRS else _counts(path, head, values)
    said = int(_key(path, head, "_STEPCOUNT")) if "_STEPCOUNT" in head else found.two_theta_deg.size
    if said != found.two_theta_deg.size:
        raise UserError(
            f"{path}: _STEPCOUNT says {said} points, {found.two_theta_deg.size} follow; give the whole file"
        )
    return found


def _pairs(path: Path, values: Sequence[float]) -> Pattern:
    if len(values) % 2:
        raise UserError(f"{path}: {len(values)} numbers are not pairs of angle and counts; give the whole file")
    table = np.array(values).reshape(-1, 2)
    return Pattern(str(path), table[:, 0], table[:, 1])


def _counts(path: Path, head: dict[str, str], values: Sequence[float]) -> Pattern:
    start = _key(path, head, "_START" if "_START" in head else "_2THETA")
    step = _key(path, head, "_STEPSIZE")
    return Pattern(str(path), start + step * np.arange(len(values), dtype=np.float64), np.array(values))


def _key(path: Path, head: dict[str, str], key: str) -> float:
    if key not in head:
        raise UserError(f"{path}: there is no {key}; give a whole UXD file")
    found = numbers(head[key])
    if found is None or len(found) != 1:
        raise UserError(f'{path}: {key}: "{shown(head[key])}" is no number; correct it')
    return found[0]


def rows_of_numbers(text: str) -> int:
    """Return how many lines of a text are numbers alone."""
    return sum(1 for _ in _numeric(text))


def _numeric(text: str) -> Iterator[list[float]]:
    for line in text.splitlines():
        values = numbers(line)
        if values is not None and len(values) > 1:
            yield values
