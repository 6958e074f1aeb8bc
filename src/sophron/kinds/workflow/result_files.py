"""Files of results: rows and values of tables, JSON, YAML, Parquet and SQLite, each with the place where it stands.

CSV, JSON and SQLite are read by the standard library, YAML by PyYAML, Parquet by pyarrow if it is installed. Whatever
is wrong with a file ends in one sentence with its path, line and column.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sophron.interfaces.kind import EngineFailure, EnvironmentFailure
from sophron.records.errors import shown

if TYPE_CHECKING:
    from pathlib import Path

    from sophron.interfaces import JsonObject

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
GROUPED = re.compile(r"[+-]?\d{1,3}([,.' \u00a0]\d{3})+([.,]\d+)?")
TRUTHS = {"true": True, "false": False, "1": True, "0": False}
LONGEST_CELL = 1 << 24
MOST_NAMES = 20
LONGEST = 40


class _Wrong(Exception):
    """What is wrong with a file; the rest of a sentence that begins with its path."""


@contextmanager
def failing(name: str, path: str) -> Iterator[None]:
    """Turn whatever a file may do to its reader into an EngineFailure of one sentence. name: of the result."""
    try:
        yield
    except _Wrong as error:
        raise EngineFailure(f"{name}: {path} {error}") from None
    except UnicodeDecodeError as error:
        raise EngineFailure(f"{name}: {path} is not text in UTF-8 (byte {error.start})") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise EngineFailure(f"{name}: {path} is cut short, or is not compressed by gzip") from None
    except FileNotFoundError:
        raise EngineFailure(f"{name}: {path} is not there any more; see that its rule keeps it (temp)") from None
    except PermissionError:
        raise EnvironmentFailure(f"{name}: {path} may not be read; see its owner and mode (ls -l)") from None
    except RecursionError:
        raise EngineFailure(f"{name}: {path} is nested too deeply") from None


@dataclass(slots=True)
class Cell:
    """A value of a file. where: its line or place; column: of a table; text: whether it is what its text spells.

    Not frozen, and its place is only put into words when it is asked for: there are millions of them.
    """

    value: Any
    where: str | int
    column: str = ""
    line: str = "line"
    text: bool = False

    @property
    def place(self) -> str:
        """The place for people."""
        return (
            f'in column "{shown(self.column, LONGEST)}" of {self.line} {self.where}' if self.column else str(self.where)
        )

    def typed(self, about: JsonObject, missing: Sequence[str] = ()) -> Any:
        """Return the value as the declared type; None if it is one of those declared as missing."""
        if isinstance(self.value, str) and self.value.strip() in missing:
            return None
        if self.value is None:
            if "null" in missing:
                return None
            raise _Wrong(f"has no value {self.place}; say what stands for a missing one: missing")
        wanted = about.get("type", "number")
        value = self._of_text(wanted, about) if self.text else self._of_value(wanted, about)
        if wanted in ("number", "integer"):
            self._check_range(value, about)
        return value

    def _of_text(self, wanted: str, about: JsonObject) -> Any:
        text = str(self.value).strip()
        if wanted == "text":
            return str(self.value)
        if not text:
            raise _Wrong(f"has an empty cell {self.place}; say what stands for a missing one: missing")
        if wanted == "boolean":
            truths = about.get("words") or TRUTHS
            if (key := text if "words" in about else text.lower()) not in truths:
                raise _Wrong(self._other(wanted, f"; known are {', '.join(map(shown, truths))}"))
            return truths[key]
        if not (INTEGER if wanted == "integer" else NUMBER).fullmatch(text):
            grouped = "; write it without separators of thousands" if GROUPED.fullmatch(text) else ""
            raise _Wrong(self._other(wanted, grouped))
        try:
            return int(text) if wanted == "integer" else float(text)
        except ValueError:  # of thousands of digits
            raise _Wrong(self._other(wanted)) from None

    def _of_value(self, wanted: str, about: JsonObject) -> Any:
        value = self.value
        if wanted == "boolean" and "words" in about and isinstance(value, str):
            return self._of_text(wanted, about)
        types = {"boolean": bool, "text": str, "integer": int}.get(wanted, (int, float))
        if not isinstance(value, types) or (isinstance(value, bool) and wanted != "boolean"):
            raise _Wrong(self._other(wanted, "; it is a text" if isinstance(value, str) and wanted != "text" else ""))
        try:
            return float(value) if isinstance(value, float) else value  # numpy has floats of its own
        except OverflowError:
            raise _Wrong(self._other(wanted)) from None

    def _check_range(self, value: float, about: JsonObject) -> None:
        try:
            finite = math.isfinite(value)
        except OverflowError:
            finite = False
        if not finite:
            raise _Wrong(f"has {shown(str(self.value), LONGEST)} {self.place}, which is not a finite number")
        low, high = about.get("minimum", -math.inf), about.get("maximum", math.inf)
        if not low <= value <= high:
            raise _Wrong(f"has {value} {self.place}, outside of what is declared ({low} to {high})")

    def _other(self, wanted: str, more: str = "") -> str:
        said = self.value if isinstance(self.value, str | int | float) else type(self.value).__name__
        return f'has "{shown(str(said), LONGEST)}" {self.place} where {wanted} is declared{more}'


def rows(path: Path, about: JsonObject) -> Iterator[Cell]:
    """Yield the values of a number: at a key, in a column, of a query, or the size of the file."""
    if about.get("size"):
        yield Cell(path.stat().st_size, "as its size")
    elif "value" in about:
        yield from _at(_document(path), about["value"].split("/"), "")
    elif "query" in about:
        names, found = _asked(path, about["query"])
        if len(names) != 1:
            raise _Wrong(f"gives {len(names)} columns for the query; ask for one, or declare them under rows")
        yield from (Cell(row[0], f"in row {place} of the query") for place, row in found)
    else:
        yield from (row[0] for row in _table(path, about, [about["column"]]))


def table_rows(path: Path, about: JsonObject, columns: Sequence[str]) -> Iterator[list[Cell]]:
    """Yield the declared columns of each row of a table."""
    if "value" in about:
        for item in _at(_document(path), about["value"].split("/"), ""):
            yield _of_item(item, columns)
    elif "query" in about:
        names, found = _asked(path, about["query"])
        places = _places(names, columns)
        for number, row in found:
            yield [Cell(row[at], number, names[at], "row") for at in places]
    else:
        yield from _table(path, about, columns)


def _of_item(item: Cell, columns: Sequence[str]) -> list[Cell]:
    if not isinstance(item.value, Mapping):
        raise _Wrong(f"has {type(item.value).__name__} {item.place} where an object with {', '.join(columns)} belongs")
    for column in columns:
        if column not in item.value:
            raise _Wrong(f'has no "{column}" {item.place}')
    return [Cell(item.value[column], f"{item.place}/{column}") for column in columns]


def _open(path: Path) -> io.TextIOBase:
    if path.suffix == ".gz":
        return io.TextIOWrapper(gzip.open(path), encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")  # a byte-order mark is none of the text


def _kind(path: Path) -> str:
    """The suffix that says what it is, below that of compression."""
    return path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix


def _document(path: Path) -> Any:
    with _open(path) as stream:
        text = stream.read()
    if _kind(path) in (".yaml", ".yml"):
        return _yaml(text)
    try:
        return json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise _Wrong(f"is not JSON ({error.msg} in line {error.lineno}, column {error.colno})") from None
    except ValueError:
        raise _Wrong("holds a number of too many digits") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise _Wrong(f'has the key "{shown(twice, LONGEST)}" twice in one object')
    return found


def _yaml(text: str) -> Any:
    from sophron.records.strict_yaml import parse

    try:
        return parse(text.encode(), "")[0]
    except Exception as error:  # noqa: BLE001 - the loader raises what YAML, or our own strictness, has to say
        raise _Wrong(f"is not plain YAML ({shown(str(error).lstrip(': '), 2 * LONGEST)})") from None


def _at(content: Any, keys: list[str], place: str) -> Iterator[Cell]:
    """`a/b`: the member b of a; `*` all members or items."""
    if not keys:
        yield Cell(content, f"at {place.lstrip('/')}")
        return
    key, *rest = keys
    if key == "*":
        if not isinstance(content, Mapping | list):
            raise _Wrong(f"has no members at {place.lstrip('/') or 'its top'}")
        for name, item in content.items() if isinstance(content, Mapping) else enumerate(content):
            yield from _at(item, rest, f"{place}/{name}")
        return
    try:
        inner = content[int(key)] if isinstance(content, list) else content[key]
    except (KeyError, IndexError, TypeError, ValueError):
        there = f"; there are {_names(content)}" if isinstance(content, Mapping) and content else ""
        raise _Wrong(f'has no "{key}" at {place.lstrip("/") or "its top"}{there}') from None
    yield from _at(inner, rest, f"{place}/{key}")


def _names(names: Iterable[Any]) -> str:
    known = list(names)
    return ", ".join(shown(str(one), LONGEST) for one in known[:MOST_NAMES]) + (
        ", ..." if len(known) > MOST_NAMES else ""
    )


def _places(names: Sequence[str], columns: Sequence[str]) -> list[int]:
    """Where the columns stand among the names of a header."""
    for column in columns:
        if column not in names:
            raise _Wrong(f'has no column "{column}"; it has {_names(names) or "no header"}')
        if list(names).count(column) > 1:
            raise _Wrong(f'has the column "{column}" twice')
    return [list(names).index(column) for column in columns]


def _table(path: Path, about: JsonObject, columns: Sequence[str]) -> Iterator[list[Cell]]:
    kind = _kind(path)
    if kind == ".parquet":
        yield from _parquet(path, columns)
        return
    separator = about.get("separator") or ("," if kind == ".csv" else "\t")
    csv.field_size_limit(LONGEST_CELL)
    with _open(path) as stream:
        lines = csv.reader(
            _plain(stream, about.get("comment", "")),
            delimiter=separator,
            strict=True,
            skipinitialspace=separator == " ",
        )
        try:
            yield from _cells(lines, about.get("columns"), columns)
        except csv.Error as error:
            raise _Wrong(f"is not a table from line {max(lines.line_num, 1)} on ({error})") from None


def _plain(lines: Iterable[str], comment: str) -> Iterator[str]:
    """The lines of a table; comments as empty ones, so that lines are counted as an editor does."""
    for line in lines:
        if "\0" in line:
            raise _Wrong("is not a text: it holds a NUL byte")
        yield "\n" if comment and line.startswith(comment) else line


def _cells(lines: Any, given: Sequence[str] | None, columns: Sequence[str]) -> Iterator[list[Cell]]:
    names = given or [name.strip() for name in next((row for row in lines if row), [])]
    places = _places(names, columns)
    for row in lines:
        if not row:
            continue
        if len(row) != len(names):
            wanted = "are declared" if given else "the header has"
            raise _Wrong(f"has {len(row)} cells in line {lines.line_num} where {wanted} {len(names)}")
        yield [Cell(row[at], lines.line_num, names[at], text=True) for at in places]


def _asked(path: Path, query: str) -> tuple[list[str], Iterator[tuple[int, tuple[Any, ...]]]]:
    """The names and numbered rows of a query. The file is opened for reading alone."""
    if not path.is_file():
        raise FileNotFoundError
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as base:
            answer = base.execute(query)
            names = [column[0] for column in answer.description or ()]
            return names, enumerate(answer.fetchall(), 1)
    except (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError) as error:
        raise _Wrong(f"cannot be asked ({shown(str(error), 2 * LONGEST)})") from None


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[list[Cell]]:
    try:
        import pyarrow as pa  # type: ignore[import-not-found,import-untyped,unused-ignore]
        from pyarrow import parquet  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise EnvironmentFailure(
            f"{path}: Parquet is read by pyarrow; install it: pip install sophron[parquet]"
        ) from None
    try:
        with parquet.ParquetFile(path) as file:
            _places(file.schema_arrow.names, columns)
            number = 0
            for batch in file.iter_batches(columns=list(columns)):
                lists = [batch.column(name).to_pylist() for name in columns]
                for values in zip(*lists, strict=True):
                    number += 1
                    yield [Cell(value, number, name, "row") for name, value in zip(columns, values, strict=True)]
    except (pa.ArrowException, ValueError) as error:
        raise _Wrong(f"is not Parquet ({shown(str(error), 2 * LONGEST)})") from None
