"""Read LAMMPS logs: thermo tables, errors, and the progress of a run that is still going on.

Standard library only: `sophron status` reads the logs of many running steps with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sophron.interfaces.engine import Progress

LIVE_NAME = "log.lammps"
"""Name of the log of the run that is going on, in the log folder of its try."""

RUN = re.compile(r"^run\s+(?P<steps>\d+)(?P<upto>\s+upto)?", re.MULTILINE)
VERSION = re.compile(r"^LAMMPS \((?P<text>[^)]+)\)", re.MULTILINE)
ERROR = re.compile(r"^ERROR(?: on proc \d+)?: (?P<text>.+)$", re.MULTILINE)


@dataclass
class Table:
    """One thermo table: column names, rows of numbers in their order, and whether its run has ended."""

    columns: tuple[str, ...]
    rows: list[tuple[float, ...]] = field(default_factory=list)
    ended: bool = False

    def column(self, name: str) -> list[float]:
        """Return one column; ValueError if there is none of that name."""
        index = self.columns.index(name)
        return [row[index] for row in self.rows]


def tables(text: str) -> list[Table]:
    """Return all thermo tables of a log's text; a torn last line is left out."""
    found: list[Table] = []
    current: Table | None = None
    for line in _whole_lines(text):
        words = line.split()
        if words[:1] == ["Step"]:
            current = Table(tuple(words))
            found.append(current)
        elif words[:2] == ["Loop", "time"] and current is not None:
            current.ended, current = True, None
        elif current is not None and len(words) == len(current.columns):
            row = _numbers(words)
            if row is not None:
                current.rows.append(row)
    return found


def last_row(text: str) -> dict[str, float]:
    """Return the last thermo row of a log's text, by column."""
    table = tables(text)[-1]
    return dict(zip(table.columns, table.rows[-1], strict=True))


def version(text: str) -> str:
    """Release of the LAMMPS that wrote the log, as it calls itself."""
    found = VERSION.search(text)
    return found["text"] if found else "unknown"


def errors(text: str) -> list[str]:
    """Return the texts of the errors that LAMMPS printed, each without its source position."""
    return [
        " ".join(re.sub(r"\s*\([^()]*\.(?:cpp|h):\d+\)\s*$", "", found["text"]).split())
        for found in ERROR.finditer(text)
    ]


def progress(log_path: Path, total_steps: int | None = None) -> Progress | None:
    """Return the progress of the last run in a log, live or dead; None if no run has begun or the log is not there.

    total_steps: last step of the run, if the caller knows it; otherwise taken from the `run` command echoed in the log.
    The speed is that of the whole table, from its `CPU` column; None if the log has none.
    """
    try:
        text = log_path.read_text(errors="replace")
    except OSError:
        return None
    found = [table for table in tables(text) if table.rows]
    if not found:
        return None
    table = found[-1]
    first, last = table.rows[0], table.rows[-1]
    step = int(last[0])
    total = total_steps if total_steps is not None else _echoed_total(text, int(first[0]))
    speed = _speed(table.columns, first, last)
    left = max(total - step, 0) / speed if speed and total is not None else None
    return Progress(step, total, speed, left)


def _echoed_total(text: str, first_step: int) -> int | None:
    """Last step of the last run: its `run` command counts from the first step, or from zero with `upto`."""
    found = list(RUN.finditer(text))
    if not found:
        return None
    steps = int(found[-1]["steps"])
    return steps if found[-1]["upto"] else first_step + steps


def _speed(columns: Sequence[str], first: Sequence[float], last: Sequence[float]) -> float | None:
    if "CPU" not in columns:
        return None
    cpu = columns.index("CPU")
    seconds = last[cpu] - first[cpu]
    return (last[0] - first[0]) / seconds if seconds > 0 else None


def _whole_lines(text: str) -> Iterator[str]:
    """Lines that end in a newline."""
    return (line for line in text.splitlines(keepends=True) if line.endswith("\n"))


def _numbers(words: Sequence[str]) -> tuple[float, ...] | None:
    try:
        return tuple(float(word) for word in words)
    except ValueError:
        return None
