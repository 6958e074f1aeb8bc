"""Why an edit is refused: the reason is what the difference touches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from sophron.debate.pipelines.edits.ast_diff import Pair
from sophron.debate.pipelines.edits.protected_terms import (
    FLAG,
    UNCERTAINTY,
    lengths,
    method_words,
    numbers,
    operators,
    text_of,
    written,
)
from sophron.debate.pipelines.pipeline import NS_PER_WINDOW
from sophron.debate.pipelines.static_check.name_resolution import called


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
        said = written(pair)
        if lengths(pair.old) > lengths(pair.new):
            return RefusedEdit(
                RefusalReason.PRODUCTION, f"it no longer reads {NS_PER_WINDOW}; production keeps its length"
            )
        for reason, holds in (
            (RefusalReason.FLAG, bool(FLAG.search(said))),
            (RefusalReason.UNCERTAINTY, bool(UNCERTAINTY.search(said))),
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
