"""Reads powder patterns of GSAS in steps of constant width: STD, ESD and FXYE, the same for every engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sophron.interfaces.rietveld import Pattern
from sophron.records.errors import UserError, shown

if TYPE_CHECKING:
    from sophron.interfaces.rietveld import Array

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
