"""Criteria: safe expressions over a stage's typed result, with every number that was compared."""

import ast
import math
import operator
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from simpleeval import DEFAULT_OPERATORS, InvalidExpression, SimpleEval

from sophron.records.errors import shown

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "sqrt": math.sqrt,
    "min": min,
    "max": max,
    "isfinite": math.isfinite,
}
NODES = (
    *(ast.Expression, ast.Compare, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.Name, ast.Load, ast.Constant, ast.Call),
    *(ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
)
LARGEST = sys.float_info.max
COMPARED_TYPES = {"number", "integer", "boolean", "null"}


# Existence and size of files are judged like any other number.
FILE_NUMBERS = {
    "files_missing": {"type": "integer", "description": "Declared output files that are absent."},
    "smallest_file_bytes": {"type": "integer", "description": "Size of the smallest output file."},
}


class CriterionError(Exception):
    """The expression of a criterion cannot be used; one sentence."""


@dataclass(frozen=True)
class Comparison:
    """One comparison that was made: `left operator right`, with both values."""

    text: str
    left: float | None
    right: float | None


@dataclass(frozen=True)
class Outcome:
    """What a criterion said of one result: passed or not, why not, and each number compared."""

    passed: bool
    reason: str | None
    values: Mapping[str, Any] = field(default_factory=dict)
    comparisons: tuple[Comparison, ...] = ()


def check(expression: str, result_schema: Mapping[str, Any]) -> None:
    """Find at review time what would fail at verification: syntax, unknown names, names that hold no number.

    result_schema: the `result` definition of the stage's schema. Raises CriterionError.
    """
    tree = _parse(expression)
    known = result_schema.get("properties", {}) | FILE_NUMBERS
    names = _names(tree)
    if not names:
        raise CriterionError("it compares nothing of the result; name at least one property of it")
    for name in sorted(names):
        if name not in known:
            near = get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f'did you mean "{near[0]}"?' if near else f"known are {', '.join(sorted(known))}"
            raise CriterionError(f'the result has no "{name}"; {hint}')
        kinds = known[name].get("type", "object")  # what is only a reference holds more than a number
        if not {kinds} <= COMPARED_TYPES if isinstance(kinds, str) else not set(kinds) <= COMPARED_TYPES:
            raise CriterionError(f'"{name}" is not a number or a truth value; compare one that is')


def evaluate(expression: str, result: Mapping[str, Any]) -> Outcome:
    """Judge one typed result. A value that is missing, null, NaN or infinite never passes, in whatever expression."""
    try:
        tree = _parse(expression)
    except CriterionError as error:
        return Outcome(passed=False, reason=str(error))
    names = sorted(_names(tree))
    values = {name: result.get(name) for name in names}
    for name, value in values.items():
        if not _is_finite(value):
            plain = {key: _plain(item) for key, item in values.items()}
            return Outcome(passed=False, reason=f"{name} is {shown(str(value))}", values=plain)
    judge = _Judge(values)
    try:
        passed = judge.eval(expression, tree.body)
    except (InvalidExpression, ArithmeticError, ValueError, TypeError, RecursionError) as error:
        return Outcome(passed=False, reason=f"cannot be computed: {error}", values=values)
    return Outcome(passed is True, None if passed is True else "is not so", values, tuple(judge.comparisons))


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) <= LARGEST  # false for NaN, and for an int no float can hold


def _plain(value: Any) -> Any:
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


def _parse(expression: str) -> ast.Expression:
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise CriterionError("it is not an expression; write e.g. `abs(temperature_mean - 0.722) < 0.005`") from None
    for node in ast.walk(tree):
        if not isinstance(node, NODES):
            raise CriterionError(
                f"{type(node).__name__} is not allowed in a criterion; use numbers, names, comparisons"
            )
        if isinstance(node, ast.Constant) and not isinstance(node.value, bool | int | float):
            raise CriterionError(f"{shown(repr(node.value))} is not a number; compare numbers")
        if isinstance(node, ast.Constant) and not _is_finite(node.value):
            raise CriterionError("a number in it is too large; write a finite one")
        if isinstance(node, ast.Call) and (not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS):
            raise CriterionError(f"only {', '.join(FUNCTIONS)} may be called")
    if not isinstance(tree.body, ast.Compare | ast.BoolOp | ast.Call | ast.UnaryOp | ast.Name):
        raise CriterionError("it is a number, not a statement; compare it with something")
    return tree


def _names(tree: ast.AST) -> set[str]:
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called}


def _finite(function: Callable[..., Any]) -> Callable[..., Any]:
    def checked(*values: Any) -> Any:
        value = function(*values)
        if isinstance(value, complex) or not math.isfinite(value):
            raise ArithmeticError("a step of it is not a finite number")
        return value

    return checked


class _Judge(SimpleEval):  # type: ignore[misc]
    """simpleeval with finite arithmetic only, noting each comparison it makes."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        operators = dict(DEFAULT_OPERATORS)
        for kind in (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow):
            operators[kind] = _finite(operators[kind])
        functions = {name: _finite(call) for name, call in FUNCTIONS.items()}
        super().__init__(operators=operators, functions=functions, names=dict(names))
        self.comparisons: list[Comparison] = []
        self.nodes[ast.Compare] = self._compare

    def _compare(self, node: ast.Compare) -> bool:
        left, passed = self._eval(node.left), True
        left_node: ast.expr = node.left
        for symbol, right_node in zip(node.ops, node.comparators, strict=True):
            right = self._eval(right_node)
            text = ast.unparse(ast.Compare(left_node, [symbol], [right_node]))
            self.comparisons.append(Comparison(text, _number(left), _number(right)))
            passed = passed and bool(COMPARE[type(symbol)](left, right))
            left, left_node = right, right_node
        return passed


COMPARE: Mapping[type, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) else None
