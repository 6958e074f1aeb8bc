"""A stage file as Layer-1 looks at it, and what every check gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from sophron.debate.pipelines.pipeline import StageFile
from sophron.debate.pipelines.static_check.name_resolution import bindings, dotted, imported, numbers, stored

Found = Iterator[tuple[int, str]]
"""Line from 1, and a sentence."""


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

    @cached_property
    def literals(self) -> list[tuple[int, str]]:
        """Line and text of string literals that are no docstrings; those that are joined by + are one."""
        skipped = {id(node) for node in _docstrings(self.tree)}
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.BinOp) and id(node) not in skipped and (text := _joined(node)) is not None:
                skipped |= {id(each) for each in ast.walk(node)}
                found.append((node.lineno, text))
        constants = [node for node in ast.walk(self.tree) if isinstance(node, ast.Constant) and id(node) not in skipped]
        return found + [(node.lineno, node.value) for node in constants if isinstance(node.value, str)]


def _joined(node: ast.expr) -> str | None:
    """The text of string literals that + joins; None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
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
