"""Read powder patterns, and say in one sentence, with the line, what is wrong with one.

Files of columns, those of GSAS in steps of constant width (STD, ESD, FXYE), FullProf's `start step end` and UXD are
read here, the same for every engine. What an engine reads is compared with the lines of numbers in its file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sophron.interfaces.rietveld import Pattern, RietveldEngine
from sophron.records.errors import UserError, shown
from sophron.science.rietveld.step_scans import read_start_step_end, read_uxd, rows_of_numbers

if TYPE_CHECKING:
    from sophron.interfaces.rietveld import Array

COLUMNS = {".xy": (2, 3), ".xye": (3,), ".dat": (2, 3), ".txt": (2, 3), ".csv": (2, 3)}
"""Files of plain columns: 2 theta in degrees, intensity, standard deviation."""

COMMENTS = ("#", "!", "'", "/", ";")
FEWEST_POINTS = 50
WHOLE = 0.98
"""Points that are read, over lines of numbers in the file: a header may hold some."""

WIDEST_GAP_STEPS = 10.0
NEIGHBOURS = 10
SURELY_COUNTED = 25.0
"""Mean counts next to which a count of 0 has a probability of 1e-11."""

LARGEST_BYTES = 64 * 1024**2


def read(path: Path, engine: RietveldEngine) -> Pattern:
    """Return the pattern in `path`, checked: the formats above read here, others as `engine` knows them.

    May raise UserError, also if the pattern is not all of its file.
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; give a file that can be read") from None
    if not path.is_file() or size > LARGEST_BYTES:
        raise UserError(f"{path}: not a pattern file of at most {LARGEST_BYTES >> 20} MiB; give one")
    pattern = _here(path) or _whole(path, engine.read_pattern(str(path)))
    check(pattern)
    return _without_filling(pattern)


def _here(path: Path) -> Pattern | None:
    """The pattern of a format that is read here; None of others."""
    suffix = path.suffix.lower()
    if suffix == ".uxd":
        return read_uxd(path)
    gsas = read_gsas(path)
    columns = COLUMNS.get(suffix)
    return gsas if gsas is not None or columns is None else _columns(path, columns)


def _whole(path: Path, pattern: Pattern) -> Pattern:
    """The pattern that an engine read. UserError if its file has more lines of numbers than the pattern has points."""
    content = path.read_bytes()
    rows = 0 if b"\0" in content else rows_of_numbers(content.decode("latin-1"))
    if pattern.two_theta_deg.size < WHOLE * rows:
        x = pattern.two_theta_deg
        raise UserError(
            f"{path}: {x.size} points from {x[0]:g} to {x[-1]:g} degrees were read of {rows} lines of numbers; "
            "export the pattern as two or three columns"
        )
    return pattern


def _without_filling(pattern: Pattern) -> Pattern:
    """Drop zeros at the end that are not counts: files of GSAS fill their last lines with them.

    Two of them in fluorapatite's 5753 points were 1 % of Rwp. Zeros after few counts are counts.
    """
    whole = int(np.flatnonzero(pattern.intensity)[-1]) + 1
    before = float(np.mean(pattern.intensity[max(whole - NEIGHBOURS, 0) : whole]))
    if before < SURELY_COUNTED:
        return pattern
    sigma = None if pattern.sigma is None else pattern.sigma[:whole]
    return replace(
        pattern, two_theta_deg=pattern.two_theta_deg[:whole], intensity=pattern.intensity[:whole], sigma=sigma
    )


def _columns(path: Path, allowed: tuple[int, ...]) -> Pattern:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{path}: not a text file; export the pattern as two or three columns") from None
    lines = text.splitlines()
    scan = read_start_step_end(path, lines, COMMENTS) if 2 in allowed else None
    if scan is not None:
        return scan
    rows: list[list[float]] = []
    for number, line in enumerate(lines, 1):
        row = line.strip()
        if row and not row.startswith(COMMENTS):
            rows.append(_row(path, number, row, allowed if not rows else (len(rows[0]),)))
    if len(rows) < FEWEST_POINTS:
        raise UserError(f"{path}: {len(rows)} points; a pattern has at least {FEWEST_POINTS}")
    table = np.array(rows)
    return Pattern(str(path), table[:, 0], table[:, 1], table[:, 2] if table.shape[1] == 3 else None)


def _row(path: Path, number: int, row: str, allowed: Sequence[int]) -> list[float]:
    words = row.replace(",", " ").split()
    if len(words) not in allowed:
        wanted = " or ".join(str(one) for one in allowed)
        raise UserError(f"{path}: line {number} has {len(words)} columns, not {wanted}; correct or remove it")
    try:
        values = [float(word) for word in words]
    except ValueError:
        raise UserError(f'{path}: line {number}: "{shown(row)}" is not numbers; comments begin with #') from None
    if not all(math.isfinite(value) for value in values):
        raise UserError(f'{path}: line {number}: "{shown(row)}" has a value that is not finite; remove the line')
    return values


def check(pattern: Pattern) -> None:
    """UserError, with the 2 theta where it is, for a pattern that nothing can be fitted to."""
    x, y, sigma = pattern.two_theta_deg, pattern.intensity, pattern.sigma
    name = shown(pattern.name, 200)
    if x.size < FEWEST_POINTS or x.shape != y.shape or (sigma is not None and sigma.shape != x.shape):
        raise UserError(f"{name}: {x.size} points; a pattern has at least {FEWEST_POINTS}, of equally many columns")
    _check_finite(name, x, y, sigma)
    if x[0] < 0 or x[-1] > 180:
        raise UserError(f"{name}: 2 theta runs from {x[0]:g} to {x[-1]:g}; give degrees between 0 and 180")
    steps = np.diff(x)
    if np.any(steps <= 0):
        at = int(np.argmax(steps <= 0))
        raise UserError(f"{name}: 2 theta does not rise after {x[at]:g} degrees; sort the points and drop doubles")
    widest = int(np.argmax(steps))
    if steps[widest] > WIDEST_GAP_STEPS * float(np.median(steps)):
        raise UserError(f"{name}: a gap from {x[widest]:g} to {x[widest + 1]:g} degrees; give one range without gaps")
    if np.any(y < 0):
        at = int(np.argmax(y < 0))
        raise UserError(f"{name}: {y[at]:g} counts at {x[at]:g} degrees; give counts before any subtraction")
    if not np.any(y > 0):
        raise UserError(f"{name}: no counts anywhere; give a measured pattern")
    if sigma is not None and np.any(sigma <= 0):
        at = int(np.argmax(sigma <= 0))
        raise UserError(f"{name}: the standard deviation at {x[at]:g} degrees is not above 0; correct or leave it out")


def _check_finite(name: str, x: Array, y: Array, sigma: Array | None) -> None:
    for column, values in (("2 theta", x), ("intensity", y), ("standard deviation", sigma)):
        if values is not None and not np.all(np.isfinite(values)):
            at = int(np.argmin(np.isfinite(values)))
            raise UserError(f"{name}: the {column} of point {at + 1} is not finite; remove the point")


CENTIDEGREES = 100.0
HEAD_LINES = 50
FIELD, COUNTERS = 8, 2
"""Columns of a value; of those, in STD, how many say by how many detectors it was counted."""


@dataclass(frozen=True)
class _Bank:
    line: int  # of the file, from 1
    points: int
    first: float
    step: float
    kind: str


def read_gsas(path: Path) -> Pattern | None:
    """Return the pattern of the one bank in `path`; None if it is another format. UserError with the line.

    A point of STD is the mean of the counts of some detectors, so its variance is that mean over their number
    (GSAS manual, LAUR 86-748). If each point has one detector, the counts are raw.
    """
    with path.open("rb") as stream:
        head = [stream.readline(1024) for _ in range(HEAD_LINES)]
    if not any(line.startswith(b"BANK") for line in head):
        return None
    lines = path.read_bytes().decode("latin-1").splitlines()
    numbers = [number for number, line in enumerate(lines, 1) if line.startswith("BANK")]
    bank = _bank(path, numbers[0], lines[numbers[0] - 1])
    if bank is None:
        return None
    if len(numbers) > 1:
        raise UserError(f"{path}: {len(numbers)} banks; give a file with one")
    return {"STD": _counted, "ESD": _deviating, "FXYE": _listed}[bank.kind](path, bank, lines[bank.line :])


def _bank(path: Path, line: int, text: str) -> _Bank | None:
    """What a bank's line says; None for times of flight and rarer forms, which are left to the engines."""
    words = text.split()
    kind = words[9] if len(words) > 9 else "STD"
    if len(words) < 7 or kind not in ("STD", "ESD", "FXYE") or words[4] not in ("CONS", "CONST", "FXYE"):
        return None
    try:
        return _Bank(line, int(words[2]), float(words[5]) / CENTIDEGREES, float(words[6]) / CENTIDEGREES, kind)
    except ValueError:
        raise UserError(f'{path}: line {line}: "{shown(text)}" describes no bank; correct it') from None


def _counted(path: Path, bank: _Bank, lines: Sequence[str]) -> Pattern:
    cells = [(number, cell) for number, line in _numbered(bank, lines) for cell in _cells(line, FIELD)]
    counts = np.array([_number(path, number, cell[COUNTERS:]) for number, cell in cells[: bank.points]])
    detectors = np.array([_number(path, number, cell[:COUNTERS]) for number, cell in cells[: bank.points]])
    detectors = np.maximum(detectors, 1.0)
    sigma = None if np.all(detectors == 1) else np.sqrt(np.maximum(counts, 1.0) / detectors)
    return Pattern(str(path), _angles(path, bank, counts.size), counts, sigma)


def _deviating(path: Path, bank: _Bank, lines: Sequence[str]) -> Pattern:
    cells = [(number, cell) for number, line in _numbered(bank, lines) for cell in _cells(line, 2 * FIELD)]
    rows = [
        (_number(path, number, cell[:FIELD]), _number(path, number, cell[FIELD:]))
        for number, cell in cells[: bank.points]
    ]
    table = np.array(rows).reshape(-1, 2)
    angles = _angles(path, bank, len(table))
    return Pattern(str(path), angles, table[:, 0], table[:, 1])


def _listed(path: Path, bank: _Bank, lines: Sequence[str]) -> Pattern:
    rows: list[list[float]] = []
    for number, line in _numbered(bank, lines):
        words = line.split()
        if len(words) != 3:
            raise UserError(f"{path}: line {number} has {len(words)} columns, not 3; correct or remove it")
        rows.append([_number(path, number, word) for word in words])
    table = np.array(rows[: bank.points]).reshape(-1, 3)
    _angles(path, bank, len(table))
    return Pattern(str(path), table[:, 0] / CENTIDEGREES, table[:, 1], table[:, 2])


def _numbered(bank: _Bank, lines: Sequence[str]) -> list[tuple[int, str]]:
    return [(bank.line + at, line) for at, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]


def _cells(line: str, width: int) -> list[str]:
    whole = line.rstrip()
    return [whole[at : at + width] for at in range(0, len(whole), width) if whole[at : at + width].strip()]


def _angles(path: Path, bank: _Bank, found: int) -> Array:
    if found < bank.points:
        raise UserError(f"{path}: line {bank.line} says {bank.points} points, {found} follow; give the whole file")
    return bank.first + bank.step * np.arange(found, dtype=np.float64)


def _number(path: Path, line: int, text: str) -> float:
    try:
        return float(text.strip() or "0")
    except ValueError:
        raise UserError(f'{path}: line {line}: "{shown(text)}" is no number; correct it') from None
