"""What the Engineer may do to a pipeline: mechanical fixes, checked on the code itself and not by its prompt.

The rules are those of MDForge, appendix D. They hold whoever proposes an edit. What a file protects is read from its
syntax tree before and after: its numbers, arithmetic, method words, comparisons and refusals, flags, uncertainties and
the length of production. An edit that touches none of them is mechanical.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sophron.debate.pipeline import NS_PER_WINDOW, STAGES, Pipeline
from sophron.debate.source_checks import called
from sophron.records.canonical import digest

SESSION_S = 3600.0
"""Most wall time of all attempts at one pipeline (MDForge, appendix D: about 60 minutes)."""
METHOD = re.compile(
    r"gaff2?|opls\w*|openff|smirnoff|cgenff|charmm\w*|amber\w*|tip3p|tip4p\w*|opc3?|spce?|obc[12]?|gbn2?|mbar|bar|ti|wham"
    r"|apr|ddm|boresch|pme|hbonds|bcc|rc|resp|cuda|opencl|cpu|reference|langevin\w*"
)
PLAIN_KEYWORDS = frozenset({"exist_ok", "parents", "check", "text", "capture_output", "missing_ok", "allow_pickle"})
"""Keywords whose value is plumbing."""
HANG = ("bcc", "rc")
"""The one method word that may be replaced: charges read from the file where `antechamber` would compute them again."""


class Refusal(StrEnum):
    """Why an edit is not made."""

    NOT_FOUND = "not_found"
    NOT_PYTHON = "not_python"
    METHODOLOGY = "methodology"
    GUARD = "guard"
    FLAG = "flag"
    UNCERTAINTY = "uncertainty"
    PRODUCTION = "production"
    SWALLOWED = "swallowed"


@dataclass(frozen=True)
class Edit:
    """Replace `old`, which stands exactly once in `file`, by `new`."""

    file: str
    old: str
    new: str

    @property
    def digest(self) -> str:
        """Its identity: the same fix twice is no new one."""
        return digest([self.file, self.old, self.new])


@dataclass(frozen=True)
class Refused:
    """An edit that was not made, and why; one sentence."""

    reason: Refusal
    sentence: str


def apply(pipeline: Pipeline, edits: Sequence[Edit]) -> Pipeline | Refused:
    """The pipeline with all of `edits`, or why not; one that is refused refuses them all."""
    files = dict(pipeline.files)
    for edit in edits:
        if files.get(edit.file, "").count(edit.old) != 1 or not edit.old:
            return Refused(Refusal.NOT_FOUND, f"the text to replace does not stand exactly once in {edit.file}")
        files[edit.file] = files[edit.file].replace(edit.old, edit.new)
    for stage in STAGES:
        refused = compare(pipeline.files[stage.file], files[stage.file], early=stage.number < 3)
        if refused:
            return Refused(refused.reason, f"{stage.file}: {refused.sentence}")
    return Pipeline(pipeline.rationale, pipeline.windows, files)


def compare(before: str, after: str, *, early: bool) -> Refused | None:
    """Why the step from one source to another is not mechanical; None where it is.

    early: preparation or equilibration, where an `assert` may be taken away: a wrong sanity check.
    """
    try:
        new = ast.parse(after)
    except (SyntaxError, ValueError, RecursionError) as error:
        return Refused(Refusal.NOT_PYTHON, f"it would be no Python: {error}")
    try:
        old = ast.parse(before)
    except (SyntaxError, ValueError, RecursionError):
        return None  # nothing of it can be protected: Layer-1 looks at what comes of it
    if early and _count(new, ast.Assert) < _count(old, ast.Assert):
        kept = {ast.dump(node) for node in ast.walk(new) if isinstance(node, ast.Assert)}
        old = _without_asserts(old, kept)
    for reason, sentence, protected, may_grow in PROTECTED:
        lost = Counter(protected(old)) - Counter(protected(new))
        gained = Counter(protected(new)) - Counter(protected(old))
        if reason is Refusal.METHODOLOGY and (lost, gained) == ({HANG[0]: 1}, {HANG[1]: 1}):
            continue
        if lost or (gained and not may_grow):
            return Refused(reason, sentence)
    return None


def repeated(fixes: Sequence[Edit]) -> bool:
    """Whether the same fix was made twice, which ends the Engineer's work."""
    return len({fix.digest for fix in fixes}) < len(fixes)


def read(answer: Mapping[str, Any]) -> list[Edit]:
    """The edits in an Engineer's answer (`agents/engineer.schema.yaml`)."""
    return [Edit(each["file"], each["old"], each["new"]) for each in answer["edits"]]


def _count(tree: ast.AST, kind: type[ast.AST]) -> int:
    return sum(isinstance(node, kind) for node in ast.walk(tree))


def _without_asserts(tree: ast.Module, kept: set[str]) -> ast.Module:
    class Drop(ast.NodeTransformer):
        def visit_Assert(self, node: ast.Assert) -> ast.AST | None:
            return node if ast.dump(node) in kept else None

    found = Drop().visit(tree)
    return found if isinstance(found, ast.Module) else tree


def _plain(tree: ast.AST) -> set[int]:
    """Nodes that are values of plumbing keywords."""
    return {
        id(each.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for each in node.keywords
        if each.arg in PLAIN_KEYWORDS
    }


def _numbers(tree: ast.AST) -> Iterator[str]:
    plain = _plain(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and id(node) not in plain:
            yield repr(node.value)


def _arithmetic(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Div):
            yield type(node.op).__name__
        elif isinstance(node, ast.BinOp) and not _is_text(node.right):  # a path joined by / is no quotient
            yield "Div"
        elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            yield type(node.op).__name__


def _is_text(node: ast.expr) -> bool:
    call = isinstance(node, ast.Call) and called(node) == "str"
    return call or isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _words(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        for word in re.split(r"[^a-z0-9]+", text.lower()):
            if METHOD.fullmatch(word):
                yield word


def _tests(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare | ast.Assert | ast.Raise):
            yield ast.dump(node)
        elif isinstance(node, ast.If | ast.While | ast.IfExp):
            yield f"test {ast.dump(node.test)}"


def _writes(stem: re.Pattern[str]) -> Callable[[ast.AST], Iterator[str]]:
    """Everything that a name matching `stem` is set to, whichever way."""

    def found(tree: ast.AST) -> Iterator[str]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(stem.search(ast.dump(target)) for target in targets):
                    yield ast.dump(node)
            name = ast.dump(node.func) if isinstance(node, ast.Call) else ""
            name = (node.arg or "") if isinstance(node, ast.keyword) else name
            if stem.search(name):
                yield ast.dump(node)

    return found


def _production(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        named = isinstance(node, ast.Constant) and node.value == NS_PER_WINDOW
        if named or (isinstance(node, ast.Call) and called(node).endswith("ns_per_window")):
            yield NS_PER_WINDOW


def _swallowed(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            broad = node.type is None or re.search(r"'(Base)?Exception'", ast.dump(node.type))
            silent = all(isinstance(each, ast.Pass | ast.Continue) for each in node.body)
            if (broad and _count(node, ast.Raise) == 0) or silent:
                yield "handler"
        elif isinstance(node, ast.Call) and called(node) in ("sys.exit", "exit", "quit", "os._exit", "suppress"):
            yield "exit"
        elif isinstance(node, ast.Return):
            yield "return"


Protected = tuple[Refusal, str, Callable[[ast.AST], Iterator[str]], bool]
PROTECTED: tuple[Protected, ...] = (
    (Refusal.PRODUCTION, f"it no longer reads {NS_PER_WINDOW}; production keeps its length", _production, True),
    (Refusal.FLAG, "it changes a convergence flag; a flag says what was found", _writes(re.compile("flag")), False),
    (
        Refusal.UNCERTAINTY,
        "it changes an uncertainty; that is the analysis's to say",
        _writes(re.compile("error_kcal|uncertainty|delta_g")),
        False,
    ),
    (Refusal.GUARD, "it takes away or loosens a test; guards refuse numbers for a reason", _tests, True),
    (Refusal.SWALLOWED, "it swallows errors, or leaves early; a failure is to be seen", _swallowed, False),
    (Refusal.METHODOLOGY, "it changes a number; numbers are the author's choice", _numbers, False),
    (Refusal.METHODOLOGY, "it changes arithmetic; formulas are the author's choice", _arithmetic, False),
    (Refusal.METHODOLOGY, "it changes a method; methods are the author's choice", _words, False),
)
"""Reason, sentence, what is protected, and whether more of it may come."""
