"""Protected terms in code: words for a method, a molecule, a flag, an uncertainty or the length of production."""

from __future__ import annotations

import ast
import re
from collections import Counter

from sophron.debate.pipelines.edits.ast_diff import Node, Pair
from sophron.debate.pipelines.pipeline import NS_PER_WINDOW
from sophron.debate.pipelines.static_check.name_resolution import called

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
