"""Criteria: safe expressions over a stage's typed result, with every number that was compared.

Beside the names of the result they may hold those of signed numbers: `definition.<key>`, `<stage>.definition.<key>`,
`question.conditions.<name>`, and there `[0]` or `len(...)` of a list. Such a dotted name is one name with one value.
A column of a declared table is a dotted name too, of which an aggregate makes one value (`columns`).
"""

import ast
import math
import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simpleeval import DEFAULT_OPERATORS, InvalidExpression, SimpleEval

from sophron.interfaces import JsonObject
from sophron.records.errors import did_you_mean, shown

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "sqrt": math.sqrt,
    "min": min,
    "max": max,
    "isfinite": math.isfinite,
}
OVER_ROWS = ("all", "any", "count", "fraction", "sum", "mean", "median", "min", "max")
"""Functions over a column, which are made in `columns`."""
CALLED = tuple(dict.fromkeys([*FUNCTIONS, *OVER_ROWS]))
NODES = (
    *(ast.Expression, ast.Compare, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.Name, ast.Load, ast.Constant, ast.Call),
    *(ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
)
REFERENCE = "question.reference"
DEEPEST = 60  # levels; 500 characters of minus signs would end in Python's own limit
LARGEST = sys.float_info.max
COMPARED_TYPES = {"number", "integer", "boolean", "null", "column"}


COLUMNS = "x-columns"
"""Keyword of a result's schema: `table.column` -> schema of type column, which holds that of its items."""

# Existence and size of files are judged like any other number.
FILE_NUMBERS = {
    "files_missing": {"type": "integer", "minimum": 0, "description": "Declared output files that are absent."},
    "smallest_file_bytes": {"type": "integer", "minimum": 0, "description": "Size of the smallest output file."},
}


class CriterionError(Exception):
    """The expression of a criterion cannot be used; one sentence."""


@dataclass(frozen=True)
class Comparison:
    """One comparison that was made: `left operator right`, with both values, which may be truth values."""

    text: str
    left: bool | float | None
    right: bool | float | None


@dataclass(frozen=True)
class Outcome:
    """What a criterion said of one result: passed or not, why not, and each number compared."""

    passed: bool
    reason: str | None
    values: Mapping[str, object] = field(default_factory=dict)
    comparisons: tuple[Comparison, ...] = ()


def check(expression: str, result_schema: JsonObject, constants: Mapping[str, object] | None = None) -> None:
    """Find at review time what would fail at verification: syntax, unknown names, names that hold no number.

    result_schema: the `result` definition of the stage's schema. constants: dotted name -> signed value. Raises
    CriterionError.
    """
    tree = parse(expression)
    if _depth(tree) > DEEPEST:
        raise CriterionError("it is nested too deeply; write it more plainly, or as several criteria")
    known = result_properties(result_schema)
    constants = constants or {}
    names = names_of(tree)
    if not names - set(constants):
        raise CriterionError("it compares nothing of the result; name at least one property of it")
    for name in sorted(names):
        if name in constants:
            _check_number(name, is_number=isinstance(constants[name], bool | int | float))
        elif name in known:
            _check_number(name, is_number=types_of(known[name]) <= COMPARED_TYPES)
        else:
            raise CriterionError(_unknown(name, known, constants))
    _check_constants(tree, {name: value for name, value in constants.items() if name in names})
    if _goes_over_rows(tree) or any(types_of(known.get(name, {})) == {"column"} for name in names):
        from sophron.campaign.spec import columns  # numpy, which few campaigns need when they are read

        if said := columns.fault(tree.body, known):
            raise CriterionError(said)


def _goes_over_rows(tree: ast.AST) -> bool:
    """Whether it calls what only columns can be given to."""
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return bool(called & (set(OVER_ROWS) - set(FUNCTIONS)))


def _depth(tree: ast.AST) -> int:
    """Levels of an expression, counted without recursion: it is what recursion is kept from."""
    level, depth = [tree], 0
    while level:
        level, depth = [child for node in level for child in ast.iter_child_nodes(node)], depth + 1
    return depth


def result_properties(result_schema: JsonObject) -> dict[str, JsonObject]:
    """Return name -> schema of all that a criterion may compare in a result.

    That is its properties, the columns that it declares (`x-columns`), and the numbers of its files.
    """
    return {**result_schema.get("properties", {}), **result_schema.get(COLUMNS, {}), **FILE_NUMBERS}


def types_of(schema: JsonObject) -> set[str]:
    """Return the JSON types that a property may have; what is only a reference holds more than a number."""
    kinds = schema.get("type", "object")
    return {kinds} if isinstance(kinds, str) else set(kinds)


def _check_number(name: str, *, is_number: bool) -> None:
    if not is_number:
        raise CriterionError(f'"{name}" is not a number or a truth value; compare one that is')


def _unknown(name: str, known: Mapping[str, object], constants: Mapping[str, object]) -> str:
    if name.startswith(REFERENCE):
        return f'"{name}" may not be used: a published value is never a criterion; compare it in the report'
    dotted = "." in name and not any(one.startswith(f"{name.partition('.')[0]}.") for one in known)
    among = constants if dotted else known
    own = name.partition(".")[2]  # the stage's own definition goes without its name
    hint = did_you_mean(own if own in among else name, sorted(among), cutoff=0.5)
    return f'there is no signed number "{name}"; {hint}' if dotted else f'the result has no "{name}"; {hint}'


def _check_constants(tree: ast.AST, constants: Mapping[str, object]) -> None:
    """Refuse a part of it that holds no name of the result and cannot be computed."""
    for node in constant_parts(tree, constants):
        try:
            value = number_of(node, constants)
        except (InvalidExpression, ArithmeticError, ValueError, TypeError, RecursionError):
            text = shown(ast.unparse(node))
            raise CriterionError(f"{text} cannot be computed, or is too large; write a finite number") from None
        if not _is_finite(value):
            raise CriterionError("a number in it is too large; write a finite one")


def constant_parts(tree: ast.AST, constants: Mapping[str, object]) -> Iterator[ast.expr]:
    """Yield the largest parts of an expression that hold no name of the result."""
    if isinstance(tree, ast.expr) and names_of(tree) <= set(constants):
        yield tree
    elif isinstance(tree, ast.Call):
        for argument in tree.args:
            yield from constant_parts(argument, constants)
    else:
        for child in ast.iter_child_nodes(tree):
            yield from constant_parts(child, constants)


def number_of(node: ast.expr, values: Mapping[str, object]) -> Any:
    """Return the value of a part of an expression. ArithmeticError and its like for what cannot be computed."""
    return _Judge(values).eval(ast.unparse(node), node)


def evaluate(expression: str, result: Mapping[str, Any]) -> Outcome:
    """Judge one typed result. A value that is missing, null, NaN or infinite never passes, in whatever expression."""
    try:
        tree = parse(expression)
    except CriterionError as error:
        return Outcome(passed=False, reason=str(error))
    names = sorted(names_of(tree))
    values: dict[str, Any] = {name: result.get(name) for name in names}
    for name, value in values.items():
        if hasattr(value, "dtype") and not len(value):
            return Outcome(passed=False, reason=f"{name} has no row", values=_said(values))
        if not hasattr(value, "dtype") and not _is_finite(value):
            plain = {key: _plain(item) for key, item in _said(values).items()}
            return Outcome(passed=False, reason=f"{name} is {shown(str(value))}", values=plain)
    judge = _Judge(values)
    try:
        passed = judge.eval(expression, tree.body)
    except (InvalidExpression, ArithmeticError, ValueError, TypeError, RecursionError) as error:
        return Outcome(passed=False, reason=f"cannot be computed: {error}", values=_said(values))
    return Outcome(passed is True, None if passed is True else "is not so", _said(values), tuple(judge.comparisons))


def _said(values: Mapping[str, Any]) -> dict[str, object]:
    """The values of a judgement as JSON holds them: a column in a few words."""
    if not any(hasattr(value, "dtype") for value in values.values()):
        return dict(values)
    from sophron.campaign.spec import columns

    return {name: columns.summary(value) if columns.is_column(value) else value for name, value in values.items()}


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) <= LARGEST  # false for NaN, and for an int no float can hold


def _plain(value: Any) -> Any:
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


class _DottedNames(ast.NodeTransformer):
    """`definition.steps`, `definition.cells[0]` and `len(definition.guests)`, as one name each."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        base = self.visit(node.value)
        return ast.copy_location(ast.Name(f"{base.id}.{node.attr}"), node) if isinstance(base, ast.Name) else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Subscript(ast.Name(name), ast.Constant(int(place))):
                return ast.copy_location(ast.Name(f"{name}[{place}]"), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name("len"), args=[ast.Name(name)], keywords=[]):
                return ast.copy_location(ast.Name(f"len({name})"), node)
        return node


def parse(expression: str) -> ast.Expression:
    """Return the tree of a criterion, dotted names as one each. Raises CriterionError for what is none."""
    tree = _tree(expression)
    if not isinstance(tree.body, ast.Compare | ast.BoolOp | ast.Call | ast.UnaryOp | ast.Name):
        raise CriterionError("it is a number, not a statement; compare it with something")
    return tree


def arithmetic(expression: str) -> ast.expr:
    """Return the tree of an expression that may also be a number. Raises CriterionError for what is none."""
    return _tree(expression).body


def _tree(expression: str) -> ast.Expression:
    try:
        tree: ast.Expression = _DottedNames().visit(ast.parse(expression.strip(), mode="eval"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise CriterionError("it is not an expression; write e.g. `abs(temperature_mean - 0.722) < 0.005`") from None
    for node in ast.walk(tree):
        if not isinstance(node, NODES):
            raise CriterionError(
                f"{type(node).__name__} is not allowed in a criterion; use numbers, names, comparisons"
            )
        if isinstance(node, ast.Constant) and not isinstance(node.value, bool | int | float):
            raise CriterionError(
                f"{shown(repr(node.value))} is not a number; compare numbers, or declare texts as true or false: words"
            )
        if isinstance(node, ast.Constant) and not _is_finite(node.value):
            raise CriterionError("a number in it is too large; write a finite one")
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in CALLED):
            raise CriterionError(f"only {', '.join(CALLED)} may be called, and len on a list of a definition")
    return tree


def names_of(tree: ast.AST) -> set[str]:
    """Return the names in an expression, but for those of functions."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called}


def _finite(function: Callable[..., Any]) -> Callable[..., Any]:
    def checked(*values: Any) -> Any:
        if any(hasattr(value, "dtype") for value in values):
            return _finite_column(function, values)
        value = function(*values)
        if isinstance(value, complex) or not math.isfinite(value):
            raise ArithmeticError("a step of it is not a finite number")
        return value

    return checked


def _finite_column(function: Callable[..., Any], values: Sequence[Any]) -> Any:
    """An operation row by row, or an aggregate."""
    import numpy as np

    from sophron.campaign.spec import columns

    with np.errstate(all="ignore"):
        value = BY_ROW.get(function, function)(*values)
    if not (columns.is_finite(value) if columns.is_column(value) else _is_finite(value)):
        raise ArithmeticError("a step of it is not a finite number")
    return value


def _power(left: Any, right: Any) -> Any:
    return left**right


BY_ROW: Mapping[Callable[..., Any], Callable[..., Any]] = {
    DEFAULT_OPERATORS[ast.Add]: operator.add,  # simpleeval's own look at the length of what they are given
    DEFAULT_OPERATORS[ast.Mult]: operator.mul,
    math.pow: _power,
    math.sqrt: lambda column: column**0.5,
}


class _Judge(SimpleEval):  # type: ignore[misc]
    """simpleeval with finite arithmetic only, noting each comparison it makes."""

    def __init__(self, names: Mapping[str, object]) -> None:
        operators = dict(DEFAULT_OPERATORS)
        for kind in (ast.Add, ast.Sub, ast.Mult, ast.Div):
            operators[kind] = _finite(operators[kind])
        operators[ast.Pow] = _finite(math.pow)  # of whole numbers Python would compute each digit, for minutes
        functions = {name: _finite(call) for name, call in FUNCTIONS.items()}
        if any(hasattr(value, "dtype") for value in names.values()):
            functions |= _over_rows(functions)
            operators[ast.Not] = lambda value: ~value if hasattr(value, "dtype") else not value
        super().__init__(operators=operators, functions=functions, names=dict(names))
        self.comparisons: list[Comparison] = []
        self.nodes[ast.Compare] = self._compare
        self.nodes[ast.BoolOp] = self._combine

    def _combine(self, node: ast.BoolOp) -> Any:
        """`and` and `or`, which stop at the first that decides; row by row if the first is a column."""
        every = isinstance(node.op, ast.And)
        value: Any = every
        for part in node.values:
            given = self._eval(part)
            if hasattr(given, "dtype") or hasattr(value, "dtype"):
                from sophron.campaign.spec import columns

                value = columns.combine([value, given], every=every)
                continue
            value = given
            if bool(value) != every:
                return value
        return value

    def _compare(self, node: ast.Compare) -> Any:
        left: Any = self._eval(node.left)
        passed: Any = True
        left_node: ast.expr = node.left
        for symbol, right_node in zip(node.ops, node.comparators, strict=True):
            right = self._eval(right_node)
            text = ast.unparse(ast.Compare(left_node, [symbol], [right_node]))
            holds: Any = COMPARE[type(symbol)](left, right)
            if hasattr(holds, "dtype"):
                from sophron.campaign.spec import columns

                self.comparisons.append(Comparison(text, *columns.worst(left, right, holds)))
                passed = passed & holds
            else:
                self.comparisons.append(Comparison(text, _number(left), _number(right)))
                passed = passed and bool(holds)
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


def _over_rows(functions: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """The functions that make a number of a column; min and max also go over several numbers."""
    from sophron.campaign.spec import columns

    def either(name: str) -> Callable[..., Any]:
        over_rows, plain = _finite(columns.aggregate(name)), functions.get(name)
        return lambda *values: over_rows(*values) if hasattr(values[0], "dtype") or not plain else plain(*values)

    return {name: either(name) for name in OVER_ROWS}


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return int(value)  # a record holds numbers: it is read back as it was written
    return value if isinstance(value, int | float) else None
