"""Compare two syntax trees node by node, and yield the smallest differences."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

LARGEST = 40_000
"""Cells of the table that aligns two lists; longer lists that differ are one difference."""
GAP, OTHER_TYPE, OTHER_STATEMENT = 0.5, 0.9, 1.1
"""Costs of an item without a partner, and of a pair of two types; a pair of one type costs at most 0.8."""
COMPOUND = (
    ast.Module,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.With,
    ast.For,
    ast.While,
    ast.If,
    ast.Try,
)
Node = ast.AST | None


@dataclass(frozen=True)
class Pair:
    """Two nodes that should be one. old: None for what was put in; new: None for what was taken away.

    within: nodes of the old tree that hold it, outermost first, each with the field that leads on; index: in its list.
    """

    old: Node
    new: Node
    within: tuple[tuple[ast.AST, str], ...] = ()
    index: int = 0

    @property
    def parent(self) -> Node:
        """What holds it in the old tree."""
        return self.within[-1][0] if self.within else None

    @property
    def field(self) -> str:
        """Field of the parent in which it stands."""
        return self.within[-1][1] if self.within else ""

    @cached_property
    def statement(self) -> list[ast.AST]:
        """The nodes themselves, and the innermost statement around them if it has no body."""
        found = [node for node in (self.old, self.new) if node is not None]
        holders = [node for node, _ in self.within if isinstance(node, ast.stmt)]
        return found + [node for node in holders[-1:] if not isinstance(node, COMPOUND)]

    @property
    def tested(self) -> bool:
        """Whether it stands in what decides: a test, a comparison, a raise."""
        deciding = (ast.Compare, ast.Assert, ast.Raise, ast.ExceptHandler)
        return any(field in ("test", "ifs") or isinstance(node, deciding) for node, field in self.within)


def differences(pair: Pair, allows: Callable[[Pair], bool]) -> Iterator[Pair]:
    """Yield the smallest differences that `allows` does not cover; it is asked of the whole before its parts."""
    if same(pair.old, pair.new) or allows(pair):
        return
    parts = list(_parts(pair))
    if not parts:
        yield pair
    for part in parts:
        yield from differences(part, allows)


def same(old: Node, new: Node) -> bool:
    """Return whether two nodes mean the same to the letter; layout and comments do not count."""
    if old is None or new is None:
        return old is new
    return type(old) is type(new) and ast.dump(old) == ast.dump(new)


def _parts(pair: Pair) -> Iterator[Pair]:
    """What is below a pair of one type; nothing if the difference is in the pair itself."""
    old, new = pair.old, pair.new
    if old is None or new is None or type(old) is not type(new):
        return
    fields = [(name, getattr(old, name, None), getattr(new, name, None)) for name in old._fields]
    plain = [(one, other) for _, one, other in fields if not (_is_tree(one) and _is_tree(other))]
    if any(one != other or type(one) is not type(other) for one, other in plain):
        return
    for name, one, other in fields:
        within = (*pair.within, (old, name))
        if isinstance(one, list) and isinstance(other, list):
            for index, (left, right) in enumerate(aligned(one, other)):
                if not same(left, right):
                    yield Pair(left, right, within, index)
        elif _is_tree(one) and _is_tree(other) and not same(one, other):
            yield Pair(one, other, within)


def _is_tree(value: object) -> bool:
    return all(each is None or isinstance(each, ast.AST) for each in (value if isinstance(value, list) else [value]))


def aligned(old: Sequence[Node], new: Sequence[Node]) -> list[tuple[Node, Node]]:
    """Return the items of two lists in pairs, in their order; None stands beside an item without a partner."""
    begin, end = 0, 0
    while begin < min(len(old), len(new)) and same(old[begin], new[begin]):
        begin += 1
    while end < min(len(old), len(new)) - begin and same(old[-1 - end], new[-1 - end]):
        end += 1
    left, right = old[begin : len(old) - end], new[begin : len(new) - end]
    if len(left) * len(right) > LARGEST:
        between: list[tuple[Node, Node]] = [*((each, None) for each in left), *((None, each) for each in right)]
    else:
        between = _cheapest(left, right)
    tail = len(old) - end
    return [*zip(old[:begin], new[:begin], strict=True), *between, *zip(old[tail:], new[len(new) - end :], strict=True)]


def _cheapest(old: Sequence[Node], new: Sequence[Node]) -> list[tuple[Node, Node]]:
    """Alignment of two lists at the least cost (Needleman and Wunsch, 10.1016/0022-2836(70)90057-4)."""
    rows, columns = [_Shape.of(each) for each in old], [_Shape.of(each) for each in new]
    pairs = [[one.cost(other) for other in columns] for one in rows]
    costs = [[GAP * (row + column) for column in range(len(new) + 1)] for row in range(len(old) + 1)]
    for row in range(1, len(old) + 1):
        for column in range(1, len(new) + 1):
            paired = costs[row - 1][column - 1] + pairs[row - 1][column - 1]
            costs[row][column] = min(paired, costs[row - 1][column] + GAP, costs[row][column - 1] + GAP)
    found: list[tuple[Node, Node]] = []
    row, column = len(old), len(new)
    while row or column:
        cost = costs[row][column]
        if row and column and cost == costs[row - 1][column - 1] + pairs[row - 1][column - 1]:
            row, column = row - 1, column - 1
            found.append((old[row], new[column]))
        elif row and cost == costs[row - 1][column] + GAP:
            row -= 1
            found.append((old[row], None))
        else:
            column -= 1
            found.append((None, new[column]))
    return found[::-1]


@dataclass(frozen=True)
class _Shape:
    """A node as it is compared."""

    kind: type
    text: str
    words: Counter[str]

    @classmethod
    def of(cls, node: Node) -> _Shape:
        text = "" if node is None else ast.dump(node)
        return cls(type(node), text, Counter(re.findall(r"\w+", text)))

    def cost(self, other: _Shape) -> float:
        if self.kind is not other.kind:
            return OTHER_STATEMENT if issubclass(self.kind, ast.stmt) else OTHER_TYPE
        if self.text == other.text:
            return 0.0
        shared = (self.words & other.words).total()
        return 0.1 + 0.7 * (1.0 - 2.0 * shared / max(1, self.words.total() + other.words.total()))
