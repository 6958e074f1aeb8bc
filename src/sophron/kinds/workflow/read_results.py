"""The step of a stage: read the declared results from the files that the stage's rules made.

Types are declared and checked, never inferred: an empty cell, a text in a column of numbers or a missing key is a
failed outcome that names file, line and column.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.kinds.workflow import result_files
from sophron.kinds.workflow.kind import TABLES, path_regex, wildcards
from sophron.records.digests import file_digest
from sophron.records.files import write_json

if TYPE_CHECKING:
    from pathlib import Path

    from sophron.interfaces import JsonObject

OVER: Mapping[str, Callable[[Sequence[float]], float]] = {
    "min": min,
    "max": max,
    "sum": lambda values: sum(values) if all(isinstance(one, int) for one in values) else math.fsum(values),
    "mean": statistics.fmean,
    "median": statistics.median,
    "count": len,
}
"""What makes one number of all rows and files; `one` wants a single value."""


def run(ctx: StepContext) -> StepResult:
    """Read each result. EngineFailure for what is not there, or not of the declared type."""
    reader = _Reader(ctx.files)
    result: dict[str, Any] = {}
    for name, one in ctx.definition["results"].items():
        result |= reader.table(name, one) if "rows" in one else reader.number(name, one)
    files = {}
    if reader.columns:
        path = files[TABLES] = ctx.workdir / "tables.json"
        write_json(path, {"columns": reader.columns, "rows": reader.rows})
    return StepResult(result, files)


MOST_CELLS = 20_000_000
"""Of all tables of a stage: a judgement holds them in memory."""


class _Reader:
    """Reads the results of one stage. columns: `table.column` -> values; rows: table -> file -> how many."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.files = files
        self.columns: dict[str, list[Any]] = {}
        self.rows: dict[str, dict[str, int]] = {}
        self.cells = 0

    def number(self, name: str, about: JsonObject) -> dict[str, Any]:
        """Return one number of a file, or of all rows of all files."""
        found = self._matching(name, about)
        over = about.get("over", "one")
        if about.get("exists"):
            return {name: bool(found) and all(path.exists() for _, path, _ in found)}
        if not found:
            raise EngineFailure(f"{name}: none of the stage's rules makes a file {about['file']}")
        if "sha256" in about:
            return {name: all(_digest(name, path) == about["sha256"] for _, path, _ in found)}
        values, missing = [], 0
        for shown, path, _ in found:
            with result_files.failing(name, shown):
                for row in result_files.rows(path, about):
                    value = row.typed(about, about.get("missing", ()))
                    missing += value is None
                    values += [] if value is None else [value]
        return {name: _one(name, about, over, values)} | ({f"{name}_missing": missing} if "missing" in about else {})

    def table(self, name: str, about: JsonObject) -> dict[str, Any]:
        """Keep the declared columns of a table, and return how many rows it has."""
        declared, own = about["rows"], wildcards(about["file"])
        columns: dict[str, list[Any]] = {column: [] for column in (*own, *declared)}
        missing, rows = 0, self.rows.setdefault(name, {})
        found = self._matching(name, about)
        if not found:
            raise EngineFailure(f"{name}: none of the stage's rules makes a file {about['file']}")
        for shown, path, given in found:
            rows[shown] = 0
            with result_files.failing(name, shown):
                for row in result_files.table_rows(path, about, list(declared)):
                    values = [
                        cell.typed(it, about.get("missing", ()))
                        for cell, it in zip(row, declared.values(), strict=True)
                    ]
                    if any(value is None for value in values):
                        missing += 1
                        continue
                    rows[shown] += 1
                    self._count(name, len(columns))
                    for column, value in zip(columns.values(), (*(given[one] for one in own), *values), strict=True):
                        column.append(value)
        self.columns |= {f"{name}.{column}": values for column, values in columns.items()}
        return {name: sum(rows.values())} | ({f"{name}_missing": missing} if "missing" in about else {})

    def _count(self, name: str, cells: int) -> None:
        self.cells += cells
        if self.cells > MOST_CELLS:
            raise EngineFailure(
                f"{name}: the tables of this stage have more than {MOST_CELLS:,} cells; declare fewer columns, or let "
                "a rule of the workflow sum them up"
            )

    def _matching(self, name: str, about: JsonObject) -> list[tuple[str, Path, Mapping[str, str]]]:
        """Path as it was declared, where it lies, and values of its wildcards, of each file that is meant."""
        pattern = re.compile(path_regex(about["file"]))
        found: list[tuple[str, Path, Mapping[str, str]]] = []
        for shown, path in sorted(self.files.items()):
            if match := pattern.fullmatch(shown):
                if path.exists() and not path.is_file():
                    raise EngineFailure(f"{name}: {shown} is not a plain file; name a file in it")
                found.append((shown, path, match.groupdict()))
        return found


def _digest(name: str, path: Path) -> str:
    with result_files.failing(name, str(path)):
        return file_digest(path)


def _one(name: str, about: JsonObject, over: str, values: Sequence[float]) -> float | bool:
    if over == "count":
        return len(values)
    if not values:
        raise EngineFailure(f"{name}: {about['file']} has no value; a criterion over nothing would say nothing")
    if over == "one":
        if len(values) > 1:
            raise EngineFailure(f"{name}: {about['file']} holds {len(values)} values; say over what: {', '.join(OVER)}")
        return values[0]
    try:
        return OVER[over](values)
    except OverflowError:
        raise EngineFailure(f"{name}: the {over} of {about['file']} is larger than a number can be") from None
