"""Allow edits of paths: those that may be corrected, and those that an edit may write out."""

from __future__ import annotations

import ast
import re

from sophron.debate.pipelines.edits.ast_diff import Node, Pair, same
from sophron.debate.pipelines.edits.edit_context import File, plain_path
from sophron.debate.pipelines.edits.protected_terms import method_words, molecule_words
from sophron.debate.pipelines.pipeline import INPUT_NAMES, METADATA_NAME, STAGES
from sophron.debate.pipelines.static_check.name_resolution import called, dotted, last

OPENERS = ("open", "load", "loadtxt", "save", "savez", "savez_compressed", "savetxt", "load_json", "write_json")
PATHS = ("Path", "PurePath", "joinpath")


def renamed(pair: Pair, file: File) -> bool:
    """Return another relative path of the same kind, molecule and window.

    Of another name if no other stage has the old.
    """
    match pair.old, pair.new:
        case ast.Constant(value=str(old)), ast.Constant(value=str(new)) if _opened(pair):
            before, after = plain_path(old), plain_path(new)
            if before is None or after is None or before.suffix != after.suffix:
                return False
            kept = {METADATA_NAME, *INPUT_NAMES, *(stage.result for stage in STAGES), "windows"}
            unknown = before.name not in file.others and not kept & {before.name, after.name}
            named = before.name == after.name or unknown
            digits = [re.findall(r"\d+", re.sub(r"\bstage_\d\d\b", "", each)) for each in (old, new)]
            words = [(sorted(method_words(each)), sorted(molecule_words(each))) for each in (old, new)]
            return named and digits[0] == digits[1] and words[0] == words[1]
        case _:
            return False


def _opened(pair: Pair) -> bool:
    """Whether a text stands where a path does."""
    if isinstance(pair.parent, ast.BinOp):
        return isinstance(pair.parent.op, ast.Div)
    if not isinstance(pair.parent, ast.Call) or pair.field != "args":
        return False
    name = last(called(pair.parent))
    return name in PATHS or (name in OPENERS and pair.index == 0)


def as_text(pair: Pair) -> bool:
    """Return a path given as text, or a text as a path."""
    for inner, outer in ((pair.old, pair.new), (pair.new, pair.old)):
        if isinstance(outer, ast.Call) and dotted(outer.func, {}) in ("str", "Path", "os.fspath"):
            plain = len(outer.args) == 1 and not outer.keywords
            return plain and same(inner, outer.args[0]) and _is_path(inner)
    return False


def _is_path(node: Node) -> bool:
    match node:
        case ast.Call(func=function):
            return last(dotted(function, {})) in ("Path", "PurePath")
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _is_path(left) or _is_text(right)
        case ast.Attribute(attr="parent", value=value):
            return _is_path(value) or isinstance(value, ast.Name)
        case _:
            return False


def _is_text(node: Node) -> bool:
    text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    call = isinstance(node, ast.Call) and called(node) == "str"
    return text or call or isinstance(node, ast.JoinedStr)


def written_out(node: ast.expr) -> bool:
    """Return a path that is written out, or made from names and texts."""
    match node:
        case ast.Constant(value=str(text)):
            return plain_path(text) is not None
        case ast.Call(func=ast.Name(id="Path" | "PurePath" | "str"), args=[inner], keywords=[]):
            return written_out(inner)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return written_out(left) and written_out(right)
        case ast.Attribute(attr="parent", value=value):
            return written_out(value)
        case ast.Name():
            return True
        case _:
            return False
