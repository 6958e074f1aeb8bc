"""Allow edits of input and output: paths, folders, archives, output, keywords, the order in which tleap reads."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from sophron.debate.pipelines.edits.ast_diff import Node, Pair, same
from sophron.debate.pipelines.edits.edit_context import File, plain_path
from sophron.debate.pipelines.edits.refusals import method_words, molecule_words, protected
from sophron.debate.pipelines.pipeline import INPUT_NAMES, METADATA_NAME, STAGES
from sophron.debate.pipelines.static_check.stage_source import called, dotted, last, returned

KEYWORDS = {
    "exist_ok": ("mkdir", "makedirs", "touch"),
    "parents": ("mkdir",),
    "mode": ("mkdir", "makedirs"),
    "missing_ok": ("unlink",),
    "encoding": ("open", "read_text", "write_text", "loadtxt", "savetxt"),
    "newline": ("open", "write_text"),
    "text": ("run",),
    "capture_output": ("run",),
    "allow_pickle": ("load", "save", "savez", "savez_compressed"),
}
"""Keywords that compute nothing, with the functions of which that holds."""
SAME_FUNCTIONS = ({"numpy.savez", "numpy.savez_compressed"},)
FORMAT_ERRORS = {"ValueError", "TypeError", "KeyError", "IndexError"}
SAID = {"print", "str", "repr", "len", "round", "format", "join"}
MISSING = {"exists", "is_file", "is_dir"}
HANG = ("bcc", "rc")
"""Charges read from the file where `antechamber` would compute them again (MDForge, appendix D)."""


def allows_io(pair: Pair, file: File) -> bool:
    """Return whether a difference is one of the mechanical ones, wherever else it may not touch what is protected."""
    if _annotation(pair):
        return True
    if pair.old is None:
        return pair.field in ("body", "orelse", "keywords") and _put_in(pair, file)
    if pair.new is None:
        return _taken_away(pair, file)
    if _docstring(pair) or _keyword(pair, file) or _archive(pair, file) or _hang(pair):
        return True
    return _sourcing(pair) or (not protected(pair) and (renamed(pair, file) or as_text(pair) or _first_of(pair, file)))


def _put_in(pair: Pair, file: File) -> bool:
    new = pair.new
    if isinstance(new, ast.keyword):
        return _plumbing(new, pair.parent, file)
    caught = any(isinstance(node, ast.Try) or _suppresses(node) for node, _ in pair.within)
    return _makes_folder(new, file) or _output(new) or (not caught and _early(new))


def _suppresses(node: ast.AST) -> bool:
    return isinstance(node, ast.With) and any("suppress" in ast.unparse(each) for each in node.items)


def _taken_away(pair: Pair, file: File) -> bool:
    """A wrong sanity check of preparation; a keyword without effect on numbers; words to a reader."""
    if isinstance(pair.old, ast.Assert):
        return file.early and not any(isinstance(node, ast.NamedExpr) for node in ast.walk(pair.old))
    if isinstance(pair.old, ast.keyword):
        return _plumbing(pair.old, pair.parent, file)
    return isinstance(pair.old, ast.stmt) and _output(pair.old)


def _plumbing(node: ast.keyword, call: Node, file: File) -> bool:
    functions = KEYWORDS.get(node.arg or "", ())
    known = isinstance(call, ast.Call) and last(called(call, file.names)) in functions
    return known and isinstance(node.value, ast.Constant)


def _keyword(pair: Pair, file: File) -> bool:
    old, new = pair.old, pair.new
    if not isinstance(old, ast.keyword) or not isinstance(new, ast.keyword) or old.arg != new.arg:
        return False
    return _plumbing(old, pair.parent, file) and _plumbing(new, pair.parent, file)


def _annotation(pair: Pair) -> bool:
    kinds = (ast.FunctionDef, ast.arg)
    return pair.field in ("annotation", "returns") and isinstance(pair.parent, kinds) and _inert(pair.new)


def _docstring(pair: Pair) -> bool:
    texts = (pair.old, pair.new)
    return isinstance(pair.parent, ast.Expr) and all(
        isinstance(each, ast.Constant) and isinstance(each.value, str) for each in texts
    )


def _archive(pair: Pair, file: File) -> bool:
    """An archive with or without compression."""
    names = {dotted(each, file.names) for each in (pair.old, pair.new) if isinstance(each, ast.Attribute)}
    return len(names) == 2 and names in SAME_FUNCTIONS


def _hang(pair: Pair) -> bool:
    """`-c bcc` to `-c rc` in the words of a command."""
    match pair.old, pair.new, pair.parent:
        case ast.Constant(value=old), ast.Constant(value=new), ast.List(elts=words) | ast.Tuple(elts=words):
            option = words[pair.index - 1] if 0 < pair.index < len(words) else None
            command = words[0] if words else None
            known = isinstance(command, ast.Constant) and str(command.value).endswith("antechamber")
            return (old, new) == HANG and known and isinstance(option, ast.Constant) and option.value == "-c"
        case _:
            return False


def _sourcing(pair: Pair) -> bool:
    """Another order of tleap's `source` lines, everything else where it was."""
    old, new = list(_lines(pair.old)), list(_lines(pair.new))
    if not any(line.startswith("source ") for line in old) or sorted(old) != sorted(new):
        return False
    return [line for line in old if not line.startswith("source ")] == [
        line for line in new if not line.startswith("source ")
    ]


def _lines(node: Node) -> Iterator[str]:
    """Lines of a script that stands in the code as a text, a text with values, or a list of such."""
    match node:
        case ast.Constant(value=str(text)):
            yield from (line.strip() for line in text.splitlines())
        case ast.JoinedStr(values=values):
            text = "".join(
                str(each.value) if isinstance(each, ast.Constant) else f"{{{ast.dump(each)}}}" for each in values
            )
            yield from (line.strip() for line in text.splitlines())
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            for each in elements:
                lines = list(_lines(each))
                yield from lines or [ast.dump(each)]
        case _:
            pass


def _first_of(pair: Pair, file: File) -> bool:
    """`[0]` behind a function of ours that returns a tuple of things of several types."""
    match pair.old, pair.new:
        case ast.Call() as call, ast.Subscript(value=value, slice=ast.Constant(value=int())):
            kinds = returned(file.function_of(call))
            return same(call, value) and len(kinds) > 1 and len(set(kinds)) == len(kinds)
        case _:
            return False


def _makes_folder(node: Node, file: File) -> bool:
    """`Path("...").mkdir(...)` or `os.makedirs("...", ...)`, inside the work folder."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    call = node.value
    if not all(_plumbing(each, call, file) for each in call.keywords):
        return False
    if dotted(call.func, file.names) == "os.makedirs":
        return len(call.args) == 1 and written_out(call.args[0])
    made = isinstance(call.func, ast.Attribute) and call.func.attr == "mkdir"
    return made and not call.args and isinstance(call.func, ast.Attribute) and written_out(call.func.value)


def _early(node: Node) -> bool:
    """An assertion, or a raise, that a file is there."""
    match node:
        case ast.Assert(test=test, msg=said):
            return _there(test) and _inert(said)
        case ast.If(test=ast.UnaryOp(op=ast.Not(), operand=test), body=[ast.Raise(exc=error, cause=None)], orelse=[]):
            kind, given = (error.func, error.args) if isinstance(error, ast.Call) else (error, [])
            missing = isinstance(kind, ast.Name) and kind.id == "FileNotFoundError"
            return missing and _there(test) and all(_inert(each) for each in given)
        case _:
            return False


def _there(test: ast.expr) -> bool:
    match test:
        case ast.Call(func=ast.Attribute(attr=name, value=place), args=[], keywords=[]):
            return name in MISSING and written_out(place)
        case _:
            return False


def _output(node: Node) -> bool:
    """Words to a reader, without effect; also with errors of their format caught (MDForge, appendix D)."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print")) as call):
            return all(_inert(each) for each in (*call.args, *(each.value for each in call.keywords)))
        case ast.Try(body=body, handlers=handlers, orelse=[], finalbody=[]):
            return all(_output(each) for each in body) and all(_format_handler(each) for each in handlers)
        case _:
            return False


def _format_handler(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    named = all(isinstance(each, ast.Name) and each.id in FORMAT_ERRORS for each in kinds)
    return named and all(isinstance(each, ast.Pass) or _output(each) for each in handler.body)


def _inert(node: Node) -> bool:
    """Whether an expression only reads."""
    if node is None:
        return True
    doing = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Lambda, ast.Starred)
    for each in ast.walk(node):
        if isinstance(each, doing) or (isinstance(each, ast.Call) and last(called(each)) not in SAID):
            return False
    return True


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
