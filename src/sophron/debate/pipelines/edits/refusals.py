"""Why an edit is refused: the reason is what the difference touches.

Protected terms are words for a method, a molecule, a flag, an uncertainty or the length of production.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

from sophron.debate.pipelines.edits.ast_diff import Node, Pair
from sophron.debate.pipelines.pipeline import NS_PER_WINDOW
from sophron.debate.pipelines.static_check.stage_source import called

METHOD = re.compile(
    r"gaff2?|opls\w*|openff|smirnoff|cgenff|charmm\w*|amber\w*|ff\d\w*|tip3p\w*|tip4p\w*|opc3?|spce?|obc[12]?|gbn2?|mbar"
    r"|bar|ti|wham|apr|ddm|boresch|pme|hbonds|bcc|rc|resp|cuda|opencl|cpu|reference|langevin\w*"
)
MOLECULES = {"host", "guest", "complex", "system", "solvated", "alone", "bound", "free", "forward", "backward"}
FLAG = re.compile("flag|vars\\(account|account\\.__|setattr\\(account")
UNCERTAINTY = re.compile(r"error_kcal|uncertainty|delta_g|statistical|systematic")


def method_words(text: str) -> list[str]:
    """Return the words of a text that name a method."""
    return [word for word in re.split(r"[^a-z0-9]+", text.lower()) if METHOD.fullmatch(word)]


def molecule_words(text: str) -> list[str]:
    """Return the words of a text that say of which molecule, or from which start, something is."""
    return [word for word in re.split(r"[^a-z0-9]+", text.lower()) if word in MOLECULES]


def protected(pair: Pair) -> bool:
    """Return whether a difference lies in a test, or sets a flag or an uncertainty: only words may be put right."""
    said = written(pair)
    return pair.tested or bool(FLAG.search(said) or UNCERTAINTY.search(said))


def written(pair: Pair) -> str:
    """Return the code of a difference and of the statement around it."""
    return "\n".join(text_of(node) for node in pair.statement)


def around(pair: Pair) -> str:
    """Return the code of a difference, and the names that it stands under: keys, targets, functions, keywords.

    What else a long statement says is no reason to refuse a difference in it.
    """
    said = [text_of(pair.old), text_of(pair.new)]
    for node, _ in pair.within:
        match node:
            case ast.Assign(targets=targets):
                said += [text_of(each) for each in targets]
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                said.append(text_of(target))
            case ast.Call(func=function):
                said.append(text_of(function))
            case ast.keyword(arg=str(name)):
                said.append(name)
            case ast.Subscript(slice=key):
                said.append(text_of(key))
            case _:
                pass
    return "\n".join([*said, *_keys_above(pair)])


def _keys_above(pair: Pair) -> list[str]:
    """Keys of the dictionaries under which a difference stands."""
    found = []
    path = [*[node for node, _ in pair.within], pair.old]
    for node, below in pairwise(path):
        if isinstance(node, ast.Dict):
            found += [text_of(key) for key, value in zip(node.keys, node.values, strict=True) if value is below]
    return found


def text_of(node: Node) -> str:
    """Return the code of a node; "" for what is none by itself."""
    try:
        return ast.unparse(node) if node is not None else ""
    except (ValueError, AttributeError):
        return ""


def lengths(node: Node) -> int:
    """Return how often a piece of code reads the length of production."""
    if node is None:
        return 0
    calls = [called(each) for each in ast.walk(node) if isinstance(each, ast.Call)]
    texts = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
    return sum(name.endswith("ns_per_window") for name in calls) + texts.count(NS_PER_WINDOW)


def numbers(node: Node) -> Counter[str]:
    """Return its numbers."""
    walked = ast.walk(node) if node is not None else ()
    return Counter(repr(each.value) for each in walked if isinstance(each, ast.Constant) and _is_number(each))


def _is_number(node: ast.Constant) -> bool:
    return isinstance(node.value, int | float) and not isinstance(node.value, bool)


def operators(node: Node) -> Counter[str]:
    """Return its arithmetic."""
    walked = ast.walk(node) if node is not None else ()
    arithmetic = (ast.BinOp, ast.UnaryOp, ast.AugAssign)
    return Counter(type(each.op).__name__ for each in walked if isinstance(each, arithmetic))


class RefusalReason(StrEnum):
    """Why an edit is not made; the gravest first if several hold."""

    NOT_FOUND = "not_found"
    NOT_PYTHON = "not_python"
    PRODUCTION = "production"
    FLAG = "flag"
    UNCERTAINTY = "uncertainty"
    GUARD = "guard"
    SWALLOWED = "swallowed"
    METHODOLOGY = "methodology"


@dataclass(frozen=True)
class RefusedEdit:
    """An edit that was not made, and why; one sentence."""

    reason: RefusalReason
    sentence: str


EXITS = ("sys.exit", "exit", "quit", "os._exit", "suppress", "contextlib.suppress")
GUARDS = re.compile(r"\b(Refused|Refusal|LEAST_|SHORTEST_|MOST_)")
SENTENCES = {
    RefusalReason.FLAG: "it changes a convergence flag; a flag says what was found",
    RefusalReason.UNCERTAINTY: "it changes an uncertainty; that is the analysis's to say",
    RefusalReason.GUARD: "it changes a test, or what a test looks at; guards refuse numbers for a reason",
    RefusalReason.SWALLOWED: "it swallows errors, or leaves early; a failure is to be seen",
}


@dataclass(frozen=True)
class Reasons:
    """Judge of the differences of one file. old: its tree before."""

    old: ast.Module

    @cached_property
    def tested(self) -> frozenset[str]:
        """Names that a test looks at: what they are set to is half of the test."""
        tests = [node.test for node in ast.walk(self.old) if isinstance(node, ast.If | ast.While | ast.Assert)]
        tests += [node for node in ast.walk(self.old) if isinstance(node, ast.Compare)]
        named = {each.id for test in tests for each in ast.walk(test) if isinstance(each, ast.Name)}
        return frozenset(named - {"__name__"})

    def gravest(self, differences: Iterable[Pair]) -> RefusedEdit | None:
        """Why they are refused; None if there is none."""
        order = list(RefusalReason)
        found = [self.judged(each) for each in differences]
        return min(found, key=lambda refused: order.index(refused.reason), default=None)

    def judged(self, pair: Pair) -> RefusedEdit:
        """Why one is refused."""
        said, near = written(pair), around(pair)
        if lengths(pair.old) > lengths(pair.new):
            return RefusedEdit(
                RefusalReason.PRODUCTION, f"it no longer reads {NS_PER_WINDOW}; production keeps its length"
            )
        for reason, holds in (
            (RefusalReason.FLAG, bool(FLAG.search(near))),
            (RefusalReason.UNCERTAINTY, bool(UNCERTAINTY.search(near))),
            (RefusalReason.SWALLOWED, _swallows(pair)),
            (RefusalReason.GUARD, self._guards(pair)),
        ):
            if holds:
                return RefusedEdit(reason, SENTENCES[reason])
        return _method(pair, said)

    def _guards(self, pair: Pair) -> bool:
        """Whether a difference is in a test, in what a test looks at, or in a name that guards go by."""
        nodes = [each for node in pair.statement for each in ast.walk(node)]
        raised = any(isinstance(each, ast.Raise | ast.Assert) for each in nodes)
        names = {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        named = any(GUARDS.search(text_of(node)) for node in (pair.old, pair.new))
        return pair.tested or raised or named or bool(names & self.tested)


def _swallows(pair: Pair) -> bool:
    """Whether it catches or leaves where the old code did not."""
    caught = (ast.Try, ast.ExceptHandler, ast.Return, ast.Break, ast.Continue)
    counts = []
    for node in (pair.old, pair.new):
        walked = list(ast.walk(node)) if node is not None else []
        leaves = sum(isinstance(each, caught) for each in walked)
        counts.append(leaves + sum(called(each) in EXITS for each in walked if isinstance(each, ast.Call)))
    return counts[1] > counts[0]


def _method(pair: Pair, said: str) -> RefusedEdit:
    """What is left is the author's choice; the sentence says of what."""
    old, new = pair.old, pair.new
    if numbers(old) != numbers(new):
        return RefusedEdit(RefusalReason.METHODOLOGY, "it changes a number; numbers are the author's choice")
    if operators(old) != operators(new) or isinstance(old, ast.operator | ast.unaryop):
        return RefusedEdit(RefusalReason.METHODOLOGY, "it changes arithmetic; formulas are the author's choice")
    if "ns_per_window" in said or "environ" in said or NS_PER_WINDOW in said:
        return RefusedEdit(
            RefusalReason.PRODUCTION, f"it changes what is made of {NS_PER_WINDOW}; production keeps its length"
        )
    if method_words(text_of(old)) != method_words(text_of(new)):
        return RefusedEdit(RefusalReason.METHODOLOGY, "it changes a method; methods are the author's choice")
    changed = " ".join((text_of(new) or text_of(old)).split())
    shown = changed if len(changed) <= 60 else f"{changed[:57]}..."
    sentence = f"it changes what is computed ({shown}); no mechanical fix that is allowed does that"
    return RefusedEdit(RefusalReason.METHODOLOGY, sentence)
