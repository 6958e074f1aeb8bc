"""Context that an edit is judged by: names of a stage file, their definitions, and existing attributes."""

from __future__ import annotations

import ast
import builtins
import difflib
import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import PurePosixPath

from sophron.debate.pipelines.static_check.import_policy import IMPORTS, importable, own_modules
from sophron.debate.pipelines.static_check.stage_source import (
    Imported,
    bindings,
    called,
    dotted,
    imported,
    module,
    resolves,
    stored,
)

NEAR = 0.6
"""Least similarity of a misspelt word and what it is corrected to (ratio of `difflib`)."""
DYNAMIC = {"globals", "locals", "vars", "exec", "eval", "setattr", "delattr", "__builtins__"}
"""Words that may define names that a syntax tree does not show."""

NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
"""Nodes that give a name a meaning without a name of their own in the tree."""


@dataclass(frozen=True)
class File:
    """A stage file before an edit. early: preparation, where a wrong sanity check may go; others: the other sources."""

    tree: ast.Module
    early: bool
    others: str = ""

    @cached_property
    def names(self) -> dict[str, str]:
        """Local name -> dotted name."""
        return bindings(self.tree)

    @cached_property
    def loaded(self) -> set[str]:
        """Names that are read somewhere."""
        return {
            each.id for each in ast.walk(self.tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
        }

    @cached_property
    def stored(self) -> frozenset[str]:
        """Names that it sets, arguments among them."""
        return stored(self.tree)

    @cached_property
    def defined(self) -> set[str]:
        """Names that mean something somewhere in it, and those of Python; of imports, only what is found."""
        found = set(dir(builtins)) | {"__file__", "__name__", "__doc__"} | self.stored
        for node in ast.walk(self.tree):
            if isinstance(node, NAMED) and node.name:
                found.add(node.name)
            elif isinstance(node, ast.Global | ast.Nonlocal):
                found |= set(node.names)
            found |= {each.bound for each in imported(node) if there(each)}
        return found

    @cached_property
    def dynamic(self) -> bool:
        """Whether names may be defined that its tree does not show."""
        stars = any(each.name == "*" for node in ast.walk(self.tree) for each in imported(node))
        return stars or bool(self.loaded & DYNAMIC)

    @cached_property
    def attributes(self) -> frozenset[str]:
        """Attributes that its objects may have: its own, and those of our modules, its imports and Python's types."""
        roots = {"builtins", "pathlib"} | {name for name in self.names.values() if importable(*_split(name)) is None}
        written = [each for each in ast.walk(self.tree) if isinstance(each, ast.Attribute)]
        named = {each.attr for each in written if isinstance(each.ctx, ast.Store)}
        return frozenset(named).union(_own(), *(_of_module(name.partition(".")[0]) for name in sorted(roots)))

    def module_of(self, node: ast.AST) -> str:
        """Return the module that an expression stands for; "" where it is none."""
        name, root = dotted(node, self.names), dotted(node, {}).partition(".")[0]
        if root not in self.names or root in self.stored:
            return ""
        allowed = importable(name, "") is None
        return name if allowed and module(name) is not None else ""

    def function_of(self, call: ast.Call) -> str:
        """Return dotted name of the function that a call is of, if a pipeline may have its module; else ""."""
        name = called(call, self.names)
        return name if importable(name.rpartition(".")[0], "") is None else ""


def there(name: Imported) -> bool:
    """Return whether an import finds what it names.

    One that no pipeline may have is never looked up, and counts as found.
    """
    if importable(name.module, name.name) is not None:
        return True
    return resolves(name.module, "" if name.name == "*" else name.name)


def near(wrong: str, right: str, known: Iterable[str], most: int = 1) -> bool:
    """Return whether `right` is among the `most` words of `known` that are nearest to `wrong`."""
    return right in difflib.get_close_matches(wrong, sorted({*known, right}), n=most, cutoff=NEAR)


def _split(name: str) -> tuple[str, str]:
    """A dotted name as module and name in it."""
    owner, _, inner = name.rpartition(".")
    return (owner, inner) if owner else (name, "")


@cache
def _of_module(name: str) -> frozenset[str]:
    """Names in a library and in its classes."""
    found = module(name) if name in IMPORTS or name == "builtins" else None
    names = set(dir(found)) if found else set()
    for each in vars(found).values() if found else ():
        if inspect.isclass(each):
            names |= set(dir(each))
    return frozenset(names)


@cache
def _own() -> frozenset[str]:
    """All attributes, functions, classes, fields and arguments that stand in the modules that pipelines may import."""
    found: set[str] = set()
    for path in own_modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Attribute():
                    found.add(node.attr)
                case ast.FunctionDef() | ast.ClassDef():
                    found.add(node.name)
                case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                    found.add(name)
                case _:
                    pass
    return frozenset(found)


@cache
def definers(name: str) -> frozenset[str]:
    """Return our modules that define a function, class or constant of this name."""
    found = set()
    for path in own_modules():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            match node:
                case ast.FunctionDef(name=own) | ast.ClassDef(name=own) if own == name:
                    found.add(str(path))
                case ast.Assign(targets=[ast.Name(id=own)]) if own == name:
                    found.add(str(path))
                case _:
                    pass
    return frozenset(found)


def plain_path(text: str) -> PurePosixPath | None:
    """Return a relative path without dots that lead out; None if the text is no such path."""
    path = PurePosixPath(text)
    inside = text and "\n" not in text and not path.is_absolute() and ".." not in path.parts and "~" not in text
    return path if inside else None
