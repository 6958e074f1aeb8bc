"""What a Python program does with numbers, read from its syntax tree and never by running it.

Each number that it puts under a key is a constant, comes from a random generator alone, or is something else, as a
value that was computed or read; and a constant may be used for more than to be put there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeGuard

Origin = Literal["constant", "random", "other"]
DEEPEST = 100
FEWEST = 5
"""Numbers of a list that may be data."""
_SAME_VALUE = ("round", "float", "int", "abs", "float64", "float32", "str", "array", "asarray", "list", "tuple")
_PASSES_ON = (*_SAME_VALUE, "dumps", "dump", "format", "join", "dict", "print", "write")
_GRIDS = ("linspace", "arange", "range", "zeros", "ones", "full", "logspace", "len", "sort", "sorted", "cumsum", "clip")
_READS = (
    *(
        "loadtxt",
        "genfromtxt",
        "read_csv",
        "read_table",
        "read_text",
        "read_bytes",
        "read_json",
        "reader",
        "DictReader",
    ),
    *(
        "read_excel",
        "read_parquet",
        "read_hdf",
        "File",
        "fromfile",
        "load",
        "loads",
        "fetch",
        "urlopen",
        "get",
        "input",
    ),
    *(
        "memmap",
        "run",
        "check_output",
        "Popen",
        "glob",
        "iterdir",
        "listdir",
        "read",
        "readlines",
        "readline",
        "imread",
    ),
)
_READ_NAMES = ("argv", "stdin", "environ", "argparse", "ArgumentParser")
_RANDOM = (
    "random",
    "rng",
    "default_rng",
    "RandomState",
    "gauss",
    "normalvariate",
    "uniform",
    "randn",
    "randint",
    "rand",
)
_OUTPUTS = ("print", "write", "write_text", "writelines", "dump", "dumps", "writerow", "writerows", "savetxt", "save")
_PLOTS = (
    *("plot", "scatter", "errorbar", "bar", "hist", "imshow", "step", "fill_between", "semilogy", "semilogx", "loglog"),
    *("plot_date", "barh", "stem", "contour", "contourf", "pcolormesh", "boxplot", "fromarray", "imsave", "putdata"),
)


@dataclass(frozen=True)
class Entry:
    """A number under a key. value: if it stands in the code as it is; used: whether it serves for more than output."""

    key: str
    origin: Origin
    line: int
    value: float | None = None
    used: bool = False


@dataclass(frozen=True)
class Facts:
    """What a program says. strings: with their lines; lists: of numbers that stand in it, with their lines.

    plotted: line and origin of what it plots; reads: whether it may read anything; imports: of modules; exits: line of
    a call at its top level that ends the process at once, 0 if there is none.
    """

    entries: tuple[Entry, ...] = ()
    strings: tuple[tuple[str, int], ...] = ()
    lists: tuple[tuple[tuple[float, ...], int], ...] = ()
    plotted: tuple[tuple[Origin, int], ...] = ()
    reads: bool = False
    imports: frozenset[str] = frozenset()
    exits: int = 0


def facts(text: str) -> Facts:
    """Return what a program says; nothing if it is not Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Facts()
    return _Program(tree).facts()


def same(first: str, second: str) -> bool:
    """Return whether two programs differ in nothing but comments and layout."""
    try:
        return ast.dump(ast.parse(first)) == ast.dump(ast.parse(second))
    except (SyntaxError, ValueError, RecursionError):
        return first == second


class _Program:
    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._nodes = list(ast.walk(tree))
        self._bound: dict[str, list[ast.expr | None]] = {}
        self._returns: dict[str, list[ast.expr]] = {}
        self._origins: dict[int, tuple[Origin, float | None]] = {}
        for node in self._nodes:
            self._bind(node)
            if isinstance(node, ast.FunctionDef):
                given = [one.value for one in ast.walk(node) if isinstance(one, ast.Return) and one.value is not None]
                self._returns.setdefault(node.name, []).extend(given)
        self._entries = list(self._keyed())
        outputs = [arg for call in self._calls(_OUTPUTS) for arg in (*call.args, *(one.value for one in call.keywords))]
        tests = [node.test for node in self._nodes if isinstance(node, ast.If | ast.Assert)]
        put_out = (*outputs, *tests, *(value for _, value in self._entries))
        self._shown = {id(inner) for one in put_out for inner in _unchanged(one)}
        self._elsewhere = self._readers()

    def facts(self) -> Facts:
        strings = [
            (one.value, one.lineno)
            for one in self._nodes
            if isinstance(one, ast.Constant) and isinstance(one.value, str)
        ]
        plots = [(self._origin(arg)[0], call.lineno) for call in self._calls(_PLOTS) for arg in call.args[:3]]
        modules = [alias.name for node in self._nodes if isinstance(node, ast.Import) for alias in node.names]
        modules += [node.module for node in self._nodes if isinstance(node, ast.ImportFrom) and node.module]
        ends = [
            node.lineno
            for node in self._tree.body
            if any(_called(one) == "_exit" for one in ast.walk(node))
            and not isinstance(node, ast.FunctionDef | ast.ClassDef)
        ]
        return Facts(
            tuple(self._entry(key, value) for key, value in self._entries),
            tuple(strings),
            tuple(self._lists()),
            tuple(plots),
            self._reads(),
            frozenset(name.partition(".")[0] for name in modules),
            ends[0] if ends else 0,
        )

    def _bind(self, node: ast.AST) -> None:
        """Note what a name is bound to; None for what is not known, as the variable of a loop."""
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=False))
                for place, value in pairs:
                    if isinstance(place, ast.Attribute):
                        self._bound.setdefault(f".{place.attr}", []).append(value)
                    for inner in ast.walk(place):
                        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                            self._bound.setdefault(inner.id, []).append(value if place is inner else None)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            self._bound.setdefault(node.id, [])
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._bound.setdefault(node.target.id, []).append(None)

    def _calls(self, names: Sequence[str]) -> Iterator[ast.Call]:
        return (node for node in self._nodes if isinstance(node, ast.Call) and _called(node) in names)

    def _keyed(self) -> Iterator[tuple[str, ast.expr]]:
        """Every value that the program puts under a key: in a dictionary, by an assignment, by dict()."""
        for node in self._nodes:
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield key.value, value
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
                place = node.targets[0].slice
                if isinstance(place, ast.Constant) and isinstance(place.value, str):
                    yield place.value, node.value
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
                yield node.targets[0].attr, node.value
            elif isinstance(node, ast.JoinedStr):
                yield from _keyed_in_text(node)
            elif isinstance(node, ast.Call) and _called(node) == "dict":
                yield from ((one.arg, one.value) for one in node.keywords if one.arg)

    def _entry(self, key: str, value: ast.expr) -> Entry:
        origin, number = self._origin(value)
        used = origin == "constant" and self._is_used(value)
        return Entry(key, origin, value.lineno, number, used)

    def _origin(self, node: ast.expr, depth: int = 0) -> tuple[Origin, float | None]:
        """Where a value comes from, and the number if it stands in the code; one that is computed has none."""
        if depth > DEEPEST:
            return "other", None
        if id(node) not in self._origins:
            self._origins[id(node)] = "other", None  # of what leads back to itself, as a function that calls itself
            self._origins[id(node)] = self._origin_of(node, depth)
        return self._origins[id(node)]

    def _origin_of(self, node: ast.expr, depth: int) -> tuple[Origin, float | None]:
        found: tuple[Origin, float | None] = ("other", None)
        match node:
            case ast.Constant():
                found = _constant(node.value)
            case ast.UnaryOp():
                origin, number = self._origin(node.operand, depth + 1)
                found = origin, -number if number is not None and isinstance(node.op, ast.USub) else number
            case ast.BinOp():
                found = _joined([self._origin(one, depth + 1) for one in (node.left, node.right)])
            case ast.Name():
                found = self._name(node.id, depth)
            case ast.Attribute() if f".{node.attr}" in self._bound:
                found = self._name(f".{node.attr}", depth)
            case ast.Call():
                found = self._call(node, depth)
            case ast.Subscript():
                found = _joined([self._origin(node.value, depth + 1)])
            case ast.List() | ast.Tuple():
                found = _joined([self._origin(one, depth + 1) for one in node.elts])
        return found

    def _name(self, name: str, depth: int) -> tuple[Origin, float | None]:
        values = self._bound.get(name)
        if not values:
            return ("random", None) if name in _RANDOM else ("other", None)
        found = [self._origin(value, depth + 1) if value is not None else ("other", None) for value in values]
        origin = _joined(found)[0]
        return origin, found[-1][1] if origin == "constant" else None

    def _call(self, node: ast.Call, depth: int) -> tuple[Origin, float | None]:
        name, arguments = _called(node), [self._origin(arg, depth + 1) for arg in node.args]
        if any(
            isinstance(inner, ast.Name | ast.Attribute) and _word(inner) in _RANDOM for inner in ast.walk(node.func)
        ):
            return ("random", None) if _joined(arguments)[0] != "other" else ("other", None)
        if name in _SAME_VALUE and arguments:
            return _joined(arguments)[0], arguments[0][1]
        if name in _GRIDS or name in ("sin", "cos", "exp", "log", "sqrt"):
            return _joined(arguments)
        returns = [self._origin(one, depth + 1) for one in self._returns.get(name, ())]
        if returns:
            return _joined(returns)[0], returns[0][1] if len(returns) == 1 else None
        return "other", None

    def _is_used(self, value: ast.expr) -> bool:
        """Whether the names and numbers of a value stand anywhere but in what is put out, tested or bound."""
        names: set[str] = set()
        numbers: set[float] = set()
        bound: set[int] = set()
        sources = [value]
        while sources:
            for inner in ast.walk(sources.pop()):
                bound.add(id(inner))
                name = _loaded(inner)
                if name and name not in names:
                    names.add(name)
                    sources += [one for one in self._bound.get(name, ()) if one is not None]
                elif isinstance(inner, ast.Constant) and isinstance(inner.value, int | float):
                    numbers.add(inner.value)
        wanted: set[str | float] = names | numbers
        return any(id(node) not in bound for one in wanted for node in self._elsewhere.get(one, ()))

    def _readers(self) -> dict[str | float, list[ast.AST]]:
        """Return name or number -> the nodes that read it, but for those whose value is only put out or tested."""
        objects = {id(node.value) for node in self._nodes if isinstance(node, ast.Attribute)}
        found: dict[str | float, list[ast.AST]] = {}
        for node in self._nodes:
            if id(node) in self._shown or id(node) in objects:
                continue
            if name := _loaded(node):
                found.setdefault(name, []).append(node)
            elif isinstance(node, ast.Constant) and _is_number(node.value):
                found.setdefault(node.value, []).append(node)
        return found

    def _lists(self) -> Iterator[tuple[tuple[float, ...], int]]:
        """Lists of numbers that stand in the program, those in lists of lists joined."""
        inside: set[int] = set()
        for node in self._nodes:
            if isinstance(node, ast.List | ast.Tuple | ast.Set) and id(node) not in inside:
                inner = list(ast.walk(node))
                inside |= {id(one) for one in inner}
                numbers = [_constant(one.value)[1] for one in inner if isinstance(one, ast.Constant)]
                plain = tuple(one for one in numbers if one is not None)
                if len(plain) >= FEWEST:
                    yield plain, node.lineno

    def _reads(self) -> bool:
        if any(isinstance(node, ast.Name | ast.Attribute) and _word(node) in _READ_NAMES for node in self._nodes):
            return True
        opens = (call for call in self._calls(("open",)))
        return any(self._calls(_READS)) or any("w" not in _mode(call) and "a" not in _mode(call) for call in opens)


def _keyed_in_text(node: ast.JoinedStr) -> Iterator[tuple[str, ast.expr]]:
    """Values that an f-string puts behind a key, as JSON has it."""
    for text, value in pairwise(node.values):
        if isinstance(text, ast.Constant) and isinstance(value, ast.FormattedValue):
            key = re.search(r'"(\w+)"\s*:\s*$', str(text.value))
            if key:
                yield key[1], value.value


def _unchanged(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what an expression passes on as it is; what it computes with is used, even if the result is put out."""
    yield node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
        yield from _unchanged(node.right)  # a text that is formatted
    elif isinstance(node, ast.BinOp) or (isinstance(node, ast.Call) and _called(node) not in _PASSES_ON):
        return
    else:
        for inner in ast.iter_child_nodes(node):
            yield from _unchanged(inner)


def _mode(call: ast.Call) -> str:
    words = [*call.args[0 if isinstance(call.func, ast.Attribute) else 1 :], *(one.value for one in call.keywords)]
    return next((one.value for one in words if isinstance(one, ast.Constant) and isinstance(one.value, str)), "r")


def _loaded(node: ast.AST) -> str:
    """The name that an expression reads, `.name` of an attribute; empty for any other."""
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
        return f".{node.attr}" if isinstance(node, ast.Attribute) else node.id
    return ""


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _constant(value: object) -> tuple[Origin, float | None]:
    return "constant", float(value) if _is_number(value) else None


def _joined(parts: Sequence[tuple[Origin, float | None]]) -> tuple[Origin, None]:
    origins = {origin for origin, _ in parts}
    return ("other" if "other" in origins else "random" if "random" in origins else "constant"), None


def _called(node: ast.AST) -> str:
    return _word(node.func) if isinstance(node, ast.Call) else ""


def _word(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
