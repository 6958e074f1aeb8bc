"""The step of a stage: read the declared results from the files that the stage's rules made.

Types are declared and checked, never inferred: an empty cell, a text in a column of numbers or a missing key is a
failed outcome that names file and place. Tables are read by the standard library, Parquet by pyarrow where it is.
"""

from __future__ import annotations

import csv
import json
import math
import re
import sqlite3
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sophron.interfaces.kind import EngineFailure, EnvironmentFailure, StepContext, StepResult

if TYPE_CHECKING:
    from pathlib import Path

    from sophron.interfaces import JsonObject

OVER: Mapping[str, Callable[[Sequence[float]], float]] = {
    "min": min,
    "max": max,
    "sum": math.fsum,
    "mean": statistics.fmean,
    "median": statistics.median,
    "count": len,
}
"""What makes one number of all rows and files; `one` wants a single value."""
WILDCARD = re.compile(r"\{(\w+)(?:,([^{}]+))?\}")


def run(ctx: StepContext) -> StepResult:
    """Read each result. EngineFailure for what is not there, or not of the declared type."""
    return StepResult({name: _read(name, one, ctx.files) for name, one in ctx.definition["results"].items()})


def _read(name: str, about: JsonObject, files: Sequence[Path]) -> float | bool:
    pattern = re.compile(_regex(about["file"]))
    found = [path for path in files if pattern.fullmatch(str(path))]
    if not found:
        raise EngineFailure(f"{name}: none of the stage's rules makes a file {about['file']}")
    values = [_typed(name, about, value, path) for path in found for value in _values(about, path)]
    over = about.get("over", "one")
    if over == "count":
        return len(values)
    if not values:
        raise EngineFailure(f"{name}: {about['file']} has no row")
    if over == "one":
        if len(values) > 1:
            raise EngineFailure(f"{name}: {about['file']} holds {len(values)} values; say over what: {', '.join(OVER)}")
        return values[0]
    return OVER[over](values)


def _regex(file: str) -> str:
    """A path with wildcards as a regular expression: `{sample}` is one or more characters, each time the same."""
    parts, place, seen = [], 0, set()
    for match in WILDCARD.finditer(file):
        parts.append(re.escape(file[place : match.start()]))
        parts.append(f"(?P={match[1]})" if match[1] in seen else f"(?P<{match[1]}>{match[2] or '.+'})")
        seen.add(match[1])
        place = match.end()
    return "".join([*parts, re.escape(file[place:])])


def _typed(name: str, about: JsonObject, value: Any, path: Path) -> float | bool:
    """The value as the declared type; text counts as the number that it spells."""
    wanted = about.get("type", "number")
    try:
        if wanted == "boolean":
            return {"true": True, "false": False, "1": True, "0": False}[str(value).strip().lower()]
        number = int(str(value)) if wanted == "integer" else float(value if not isinstance(value, bool) else "")
    except (KeyError, TypeError, ValueError):
        raise EngineFailure(f'{name}: {path} has "{str(value)[:40]}" where {wanted} is declared') from None
    if not math.isfinite(number):
        raise EngineFailure(f"{name}: {path} has {number}")
    return number


def _values(about: JsonObject, path: Path) -> Iterator[Any]:
    """What a file says: a value at a key of JSON or YAML, a column of a table, the answer of an SQL query, its size."""
    if about.get("size"):
        yield path.stat().st_size
    elif "value" in about:
        yield from _at(_document(path), about["value"].split("/"), path)
    elif "query" in about:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as base:
            yield from (row[0] for row in base.execute(about["query"]))
    else:
        yield from _column(path, about)


def _document(path: Path) -> Any:
    if path.suffix == ".json":
        return json.loads(path.read_text())
    from sophron.records.documents import load_yaml

    return load_yaml(path).data


def _at(content: Any, keys: list[str], path: Path) -> Iterator[Any]:
    """`a/b`: the member b of a; `*` all members or items."""
    if not keys:
        yield content
        return
    key, *rest = keys
    if key == "*":
        for item in content.values() if isinstance(content, Mapping) else content:
            yield from _at(item, rest, path)
        return
    try:
        inner = content[int(key)] if isinstance(content, list) else content[key]
    except (KeyError, IndexError, TypeError, ValueError):
        raise EngineFailure(f'{path} has no "{key}"') from None
    yield from _at(inner, rest, path)


def _column(path: Path, about: JsonObject) -> Iterator[Any]:
    column = about["column"]
    if path.suffix == ".parquet":
        yield from _parquet(path, column)
        return
    separator = about.get("separator") or ("," if path.suffix == ".csv" else "\t")
    with path.open(newline="") as stream:
        lines = csv.reader(stream, delimiter=separator)
        names = about.get("columns") or next(lines, [])
        if column not in names:
            raise EngineFailure(f'{path} has no column "{column}"; it has {", ".join(names[:20])}')
        place = names.index(column)
        for row in lines:
            if len(row) <= place:
                raise EngineFailure(f'{path} has a row without "{column}"')
            yield row[place]


def _parquet(path: Path, column: str) -> Iterator[Any]:
    try:
        from pyarrow import parquet  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise EnvironmentFailure(f"{path}: Parquet is read by pyarrow, which is not installed here") from None
    yield from parquet.read_table(path, columns=[column]).column(0).to_pylist()
