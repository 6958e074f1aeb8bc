"""Columns of tables in criteria: what makes one number of many rows, and what is said of the row that is at fault.

A column is a name with a dot (`reads.qc`), a numpy array in a judgement and a list in a file. An operator or comparison
goes row by row; only an aggregate makes a number of it. With a second column an aggregate makes one number for each of
its values: `all(median(reads.qc, reads.sample) > 30)`.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]
AGGREGATES: Mapping[str, Callable[[Column], float | bool]] = {
    "all": lambda column: bool(np.all(_truths(column))),
    "any": lambda column: bool(np.any(_truths(column))),
    "count": lambda column: int(np.sum(column)) if column.dtype == bool else len(column),
    "fraction": lambda column: float(np.mean(_truths(column))),
    "sum": lambda column: column.sum().item(),
    "mean": lambda column: float(np.mean(column)),
    "median": lambda column: float(np.median(column)),
    "min": lambda column: column.min().item(),
    "max": lambda column: column.max().item(),
}
EXAMPLE_ROWS = 3


def _truths(column: Column) -> Column:
    if column.dtype != bool:
        raise TypeError("it wants a comparison of each row, such as `reads.qc > 30`")
    return column


def array(values: Sequence[Any]) -> Column:
    """Return a column as an array: of truth values, of numbers, or of texts."""
    if any(isinstance(value, str) for value in values[:1]):
        return np.array(values, dtype=str)
    truths = bool(values) and all(isinstance(value, bool) for value in values)
    return np.array(values, dtype=bool if truths else float)


def is_column(value: object) -> bool:
    """Return whether a value of a judgement is a column."""
    return isinstance(value, np.ndarray)


def is_finite(value: Column) -> bool:
    """Return whether every number in it is one."""
    return value.dtype.kind not in "fc" or bool(np.isfinite(value).all())


def aggregate(name: str) -> Callable[..., Any]:
    """Return the function of a criterion that makes one number of a column, or one for each value of a second."""
    make = AGGREGATES[name]

    def called(column: Any, by: Any = None) -> Any:
        if not is_column(column) or len(column) == 0:
            raise ValueError(f"{name} has no row to go over")
        if by is None:
            return make(column)
        if len(by) != len(column):
            raise ValueError("its columns are not of the same length")
        keys, place = np.unique(by, return_inverse=True)
        parts = np.split(column[np.argsort(place, kind="stable")], np.cumsum(np.bincount(place))[:-1])
        return np.array([make(part) for part in parts[: len(keys)]])

    return called


def combine(values: Sequence[Any], *, every: bool) -> Any:
    """Return `and` (every) or `or` of truth values, row by row if one of them is a column."""
    made = values[0]
    for value in values[1:]:
        made = np.logical_and(made, value) if every else np.logical_or(made, value)
    return made


def worst(left: Any, right: Any, holds: Column) -> tuple[float | None, float | None]:
    """Return both sides of a comparison in the first row where it is not so; if it is so in all, in the nearest."""
    sides = [np.broadcast_to(side, holds.shape) for side in (left, right)]
    place = int(np.argmin(holds)) if not holds.all() else int(np.argmin(np.abs(sides[0] * 1.0 - sides[1] * 1.0)))
    first, second = (side[place].item() for side in sides)
    return first, second


def summary(value: Column) -> str:
    """Return a column in a verdict: how many rows, and between what they lie."""
    rows = f"{len(value)} row{'' if len(value) == 1 else 's'}"
    if len(value) == 0 or value.dtype.kind not in "fiu":
        return rows
    return f"{rows}, {value.min():.6g} to {value.max():.6g}"


def table_of(name: str) -> str:
    """Return the table that a column belongs to."""
    return name.partition(".")[0]


def fault(node: ast.AST, known: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what is wrong with the use of columns in an expression, in a sentence; empty if nothing is.

    known: name -> schema, of type column for a column.
    """
    try:
        if _rows(node, known):
            return "it is a truth for each row; say for which with all(...), any(...) or fraction(...)"
    except _Misused as error:
        return str(error)
    return ""


class _Misused(Exception):
    """A column stands where it cannot; one sentence."""


def _rows(node: ast.AST, known: Mapping[str, Mapping[str, Any]]) -> frozenset[str]:
    """What a part of an expression has a value for each row of; nothing if it is one value."""
    if isinstance(node, ast.Name):
        return frozenset([table_of(node.id)] if known.get(node.id, {}).get("type") == "column" else [])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _rows_of_call(node.func.id, node.args, known)
    found = frozenset[str]().union(*(_rows(child, known) for child in ast.iter_child_nodes(node)))
    if len(found) > 1:
        raise _Misused(f"the rows of {' and '.join(sorted(found))} do not belong together; compare aggregates of them")
    texts = [child for child in ast.iter_child_nodes(node) if _is_text(child, known)]
    if texts:
        raise _Misused(f'"{ast.unparse(texts[0])}" is a column of texts: it may only be counted, or stand second')
    return found


def _rows_of_call(name: str, arguments: Sequence[ast.expr], known: Mapping[str, Mapping[str, Any]]) -> frozenset[str]:
    over = [_rows(one, known) for one in arguments]
    if name not in AGGREGATES or (name in ("min", "max") and len(arguments) > 1 and not over[0]):
        if any(over) and (name not in ("abs", "sqrt") or _is_text(arguments[0], known)):
            raise _Misused(f"{name} does not go over rows; make a number of the column first, as median(...)")
        return over[0] if over else frozenset()
    if not over or not over[0] or len(over) > 2:
        raise _Misused(f"{name} goes over the rows of a column, as in {name}(table.column)")
    if _is_text(arguments[0], known) and name != "count":
        raise _Misused(f"{name} cannot go over texts; only count can")
    if len(over) == 1:
        return frozenset()
    if over[0] != over[1] or not isinstance(arguments[1], ast.Name):
        raise _Misused(f"the second column of {name} must be one of the same table")
    return frozenset([ast.unparse(arguments[1])])


def _is_text(node: ast.AST, known: Mapping[str, Mapping[str, Any]]) -> bool:
    return isinstance(node, ast.Name) and known.get(node.id, {}).get("items", {}).get("type") == "string"


def domain_schema(name: str, items: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of what an aggregate of a column may be."""
    if name in ("all", "any"):
        return {"type": "boolean"}
    if name == "count":
        return {"type": "integer", "minimum": 0}
    if name == "fraction":
        return {"type": "number", "minimum": 0, "maximum": 1}
    return items if name in ("min", "max", "mean", "median") else {"type": "number"}
