"""A stage file as Layer-1 looks at it: its syntax tree, its literals, and what its names stand for."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType

from sophron.debate.pipelines.pipeline import StageFile
from sophron.records import old_names

Found = Iterator[tuple[int, str]]
"""Line from 1, and a sentence."""


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


@dataclass(frozen=True)
class Source:
    """A file as it is checked. guests: names of hosts and guests that no code may depend on."""

    stage: StageFile
    tree: ast.Module
    guests: Sequence[str]

    @cached_property
    def names(self) -> dict[str, str]:
        """Local name -> dotted name that it stands for."""
        return bindings(self.tree)

    @cached_property
    def numbers(self) -> dict[str, float]:
        """Names that are set once, to a number."""
        return numbers(self.tree)

    @cached_property
    def stored(self) -> frozenset[str]:
        """Names that it sets, arguments among them."""
        return stored(self.tree)

    @cached_property
    def modules(self) -> frozenset[str]:
        """Dotted names of modules that it imports, as far as the syntax says."""
        plain = {each.module for node in ast.walk(self.tree) for each in imported(node) if not each.name}
        small = {each.dotted for node in ast.walk(self.tree) for each in imported(node) if each.name.islower()}
        return frozenset(plain | small)

    def is_module(self, node: ast.AST) -> bool:
        """Return whether an expression is a module that it imports; a function of one counts as well."""
        return dotted(node, self.names) in self.modules

    def is_imported(self, node: ast.AST) -> bool:
        """Return whether an expression is a name that an import binds: a module, a class, a function."""
        known = {each.dotted for found in ast.walk(self.tree) for each in imported(found)}
        return self.is_module(node) or dotted(node, self.names) in known

    @cached_property
    def type_names(self) -> frozenset[int]:
        """Identities of `x.__class__` in `x.__class__.__name__`, which only says what something is."""
        named = (node for node in ast.walk(self.tree) if isinstance(node, ast.Attribute) and node.attr == "__name__")
        return frozenset(id(node.value) for node in named)

    @cached_property
    def literals(self) -> list[tuple[int, str]]:
        """Line and text of string literals that are no docstrings; those that are joined by + are one.

        So is an f-string, with `{}` in the place of each value.
        """
        skipped = {id(node) for node in _docstrings(self.tree)}
        found = []
        for node in ast.walk(self.tree):
            if id(node) in skipped:
                continue
            if isinstance(node, ast.BinOp | ast.JoinedStr) and (text := _joined(node)) is not None:
                inner = {id(each) for value in _values(node) for each in ast.walk(value)}
                skipped |= {id(each) for each in ast.walk(node)} - inner
                found.append((node.lineno, text))
        constants = [node for node in ast.walk(self.tree) if isinstance(node, ast.Constant) and id(node) not in skipped]
        return found + [(node.lineno, node.value) for node in constants if isinstance(node.value, str)]


def _values(node: ast.AST) -> list[ast.expr]:
    """What an f-string shows: code of its own, with literals of its own."""
    return [each.value for each in ast.walk(node) if isinstance(each, ast.FormattedValue)]


def _joined(node: ast.expr) -> str | None:
    """The text of string literals that + joins, and of an f-string; None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return None
    left, right = _joined(node.left), _joined(node.right)
    return None if left is None or right is None else left + right


def _docstrings(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr):
                yield first.value


OWN = "sophron"
ARITHMETIC: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}


def bindings(tree: ast.AST) -> dict[str, str]:
    """Local name -> dotted name that it stands for: imports anywhere, and names that are set to such a one."""
    found = {each.bound: each.dotted for node in ast.walk(tree) for each in imported(node)}
    aliases = [
        (node.targets[0].id, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    ]
    for _ in range(3):  # an alias of an alias of an alias
        for name, value in aliases:
            target = dotted(value, found)
            known = target.partition(".")[0] in {each.partition(".")[0] for each in found.values()}
            if name not in found and (known or hasattr(builtins, target)):
                found[name] = target
    return found


class Imported:
    """One name that an import binds. module, name: where it comes from, "" for a module itself; bound: as it is known.

    reached: the module that the import wants; `import a.b` binds `a` and reaches `a.b`.
    """

    def __init__(self, module: str, name: str, alias: str | None) -> None:
        self.module, self.name, self.alias = module, name, alias
        self.bound = alias or name or module.partition(".")[0]

    @property
    def dotted(self) -> str:
        """What the bound name stands for."""
        if self.name:
            return f"{self.module}.{self.name}"
        return self.module if self.alias else self.bound

    @property
    def key(self) -> tuple[str, str, str]:
        """Its identity."""
        return self.module, self.name, self.bound


def imported(node: ast.AST | None) -> Iterator[Imported]:
    """Yield the names that an import binds, of our modules by those of now; nothing for any other statement."""
    if isinstance(node, ast.Import):
        yield from (Imported(old_names.module_now(each.name), "", each.asname) for each in node.names)
    elif isinstance(node, ast.ImportFrom):
        module = old_names.module_now("." * node.level + (node.module or ""))
        for each in node.names:
            whole = old_names.member_now(module, each.name)
            owner, _, name = whole.rpartition(".")
            yield Imported(owner, name, each.asname or (None if name == each.name else each.name))


def dotted(node: ast.AST, names: Mapping[str, str]) -> str:
    """`a.b.c` with its first name replaced by what it stands for; "" where it is no such chain."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([names.get(node.id, node.id), *reversed(parts)]) if isinstance(node, ast.Name) else ""


def called(node: ast.Call, names: Mapping[str, str] | None = None) -> str:
    """Dotted name of what is called; of a method of an expression, what follows the expression."""
    whole = dotted(node.func, names or {})
    if whole:
        return whole
    parts: list[str] = []
    function: ast.expr = node.func
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    return ".".join(reversed(parts))


def last(name: str) -> str:
    """Return the part behind the last point."""
    return name.rpartition(".")[2]


def number(node: ast.AST | None, known: Mapping[str, float] | None = None) -> float | None:
    """Return the value of an expression of constants; known: names that stand for one."""
    if isinstance(node, ast.Name):
        return (known or {}).get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = number(node.operand, known)
        return -inner if inner is not None and isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp):
        return _folded(node.op, number(node.left, known), number(node.right, known))
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    return None


def _folded(sign: ast.operator, left: float | None, right: float | None) -> float | None:
    if left is None or right is None:
        return None
    try:
        return float(ARITHMETIC[type(sign)](left, right))
    except (KeyError, ArithmeticError, ValueError):
        return None


def stored(tree: ast.AST) -> frozenset[str]:
    """Return the names that are set or deleted, arguments among them."""
    names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}
    return frozenset(names | {each.arg for each in ast.walk(tree) if isinstance(each, ast.arg)})


def numbers(tree: ast.AST) -> dict[str, float]:
    """Return the names that are set once, to a number."""
    found: dict[str, list[float | None]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.setdefault(node.id, [])
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(number(node.value))
    return {name: values[0] for name, values in found.items() if len(values) == 1 and values[0] is not None}


@cache
def module(name: str) -> ModuleType | None:
    """Return the module of that name; None if it is missing. Only for those that a pipeline may have."""
    try:
        return importlib.import_module(name)
    except Exception:  # noqa: BLE001 - whatever a library raises while it is imported, it is not there
        return None


def resolves(name: str, attribute: str = "") -> bool:
    """Return whether there is such a module, and in it such an attribute or module."""
    found = module(name)
    if found is None or not attribute:
        return found is not None
    return hasattr(found, attribute) or module(f"{name}.{attribute}") is not None


def parameters(name: str) -> list[inspect.Parameter]:
    """Return parameters of one of our functions, by its dotted name; none if it is unknown, or takes any keyword."""
    found = _signature(name)
    taken = list(found.parameters.values()) if found else []
    return [] if any(each.kind is each.VAR_KEYWORD for each in taken) else taken


def returned(name: str) -> list[str]:
    """Return the types in the tuple that one of our functions returns; none if it returns something else."""
    found = _signature(name)
    try:
        said = ast.parse(str(found.return_annotation), mode="eval").body if found else None
    except SyntaxError:
        return []
    match said:
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=elements)):
            return [ast.unparse(each) for each in elements]
        case _:
            return []


def _signature(name: str) -> inspect.Signature | None:
    owner, _, function = name.rpartition(".")
    found = getattr(module(owner), function, None) if owner.startswith(f"{OWN}.") else None
    try:
        return inspect.signature(found) if callable(found) else None
    except (TypeError, ValueError):
        return None
