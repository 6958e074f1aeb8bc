"""Words put right: a name that is not defined, an attribute that nothing has, an argument that no function takes."""

from __future__ import annotations

import ast
from typing import Any

from sophron.debate.pipelines.edits.ast_diff import Pair, same
from sophron.debate.pipelines.edits.edit_context import File, near
from sophron.debate.pipelines.static_check.import_policy import importable
from sophron.debate.pipelines.static_check.name_resolution import module, parameters

MOST_NEAR = 3
"""A library's own new name for something may be the second or third nearest to the old one."""


def allows_rename(pair: Pair, file: File) -> bool:
    """Return whether a word that meant nothing became the word that is nearest to it."""
    match pair.old, pair.new:
        case ast.Name(id=wrong, ctx=ast.Load()), ast.Name(id=right, ctx=ast.Load()):
            return not file.dynamic and wrong not in file.defined and near(wrong, right, file.defined)
        case ast.Attribute(attr=wrong), ast.Attribute(attr=right):
            return same(pair.old.value, pair.new.value) and _attribute(pair.old.value, wrong, right, file)
        case ast.keyword(arg=str(wrong)), ast.keyword(arg=str(right)):
            return same(pair.old.value, pair.new.value) and _argument(pair.parent, wrong, right, file)
        case _:
            return False


def _attribute(owner: ast.expr, wrong: str, right: str, file: File) -> bool:
    name = file.module_of(owner)
    if name:
        known: Any = module(name)
        missing = not hasattr(known, wrong) and hasattr(known, right)
        return missing and importable(name, right) is None and near(wrong, right, dir(known), MOST_NEAR)
    return wrong not in file.attributes and right in file.attributes and near(wrong, right, ())


def _argument(call: ast.AST | None, wrong: str, right: str, file: File) -> bool:
    if not isinstance(call, ast.Call):
        return False
    known = [each.name for each in parameters(file.function_of(call))]
    taken = {each.arg for each in call.keywords} | set(known[: len(call.args)])
    free = [each for each in known if each not in taken]
    return wrong not in known and right in free and near(wrong, right, free)
