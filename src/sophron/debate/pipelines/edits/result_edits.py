"""Allow edits of what a result is made of: an unknown key, the type of a value, the unit of a quantity.

They change how a value is written and never which value it is. A key keeps the unit that it names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache

from sophron.debate.pipelines.edits.ast_diff import Node, Pair, same
from sophron.debate.pipelines.edits.edit_context import File, near
from sophron.debate.pipelines.edits.refusals import around
from sophron.debate.pipelines.static_check.stage_source import called, last, words
from sophron.records import documents

SCHEMA = "debate/stage_result"
TYPES = ("float", "int", "bool", "str", "list")
METHODS = ("tolist", "item")
UNITS = words("kcal kj mol a nm a2 nm2 ps ns fs s k e g ml bar molar rad deg")
SECONDS = {"sec": "s", "secs": "s", "second": "s", "seconds": "s"}
FILLED = re.compile("convergence_flags|diagnostics|energy_components")
EMPTY = ("None", "''", "{}", "[]")


@cache
def _keys() -> frozenset[str]:
    """All keys that a result may have, at whichever depth its schema names them."""
    properties = documents.schema(SCHEMA)["properties"]
    inner = (*properties["diagnostics"]["properties"], *properties["failure"]["properties"])
    return frozenset([*properties, *inner])


@cache
def _required() -> frozenset[str]:
    return frozenset(documents.schema(SCHEMA)["required"])


def allows_result(pair: Pair, file: File) -> bool:
    """Return whether a difference puts a key, a type or a unit of a result right."""
    del file
    match pair.old, pair.new:
        case ast.Dict() as old, ast.Dict() as new:
            return _is_result(old) and _same_values(_items(old), _items(new))
        case ast.keyword(arg=str(wrong)), ast.keyword(arg=str(right)):
            return _fills(pair.parent) and corrects(wrong, right) and written_as(pair.old.value, pair.new.value)
        case ast.Constant(value=str(wrong)), ast.Constant(value=str(right)) if _is_key(pair):
            return corrects(wrong, right)
        case ast.expr() as old, ast.expr() as new:
            return (_in_result(pair) and written_as(old, new)) or _in_unit(old, new)
        case _:
            return False


def _is_key(pair: Pair) -> bool:
    return isinstance(pair.parent, ast.Dict) and pair.field == "keys"


def corrects(wrong: str, right: str) -> bool:
    """Return whether a key that no result has became the near one that results have, with the same unit."""
    if wrong == right:
        return True
    return wrong not in _keys() and right in _keys() and _unit(wrong) == _unit(right) and near(wrong, right, _keys(), 3)


def _unit(key: str) -> list[str]:
    parts = [SECONDS.get(word, word) for word in key.lower().split("_")]
    return sorted(word for word in parts if word in UNITS)


def _items(node: ast.Dict) -> dict[str, ast.expr]:
    keys = [each.value if isinstance(each, ast.Constant) else ast.unparse(each) if each else "**" for each in node.keys]
    return {str(key): value for key, value in zip(keys, node.values, strict=True)}


def _is_result(node: ast.Dict) -> bool:
    return {"stage", "status"} <= _items(node).keys()


def _same_values(old: Mapping[str, ast.expr], new: Mapping[str, ast.expr]) -> bool:
    """Whether one result says what another says: keys put right, required ones put in empty, unknown ones gone."""
    lost, gained = [key for key in old if key not in new], [key for key in new if key not in old]
    for key in gained:
        wrong = next((each for each in lost if corrects(each, key) and written_as(old[each], new[key])), None)
        if wrong is not None:
            lost.remove(wrong)
        elif key not in _required() or ast.unparse(new[key]) not in EMPTY:
            return False
    kept = all(_kept(old[key], new[key]) for key in old if key in new)
    return kept and all(key not in _keys() for key in lost)


def _kept(old: ast.expr, new: ast.expr) -> bool:
    """The same value, also as another type; of a dictionary, each of its values."""
    if isinstance(old, ast.Dict) and isinstance(new, ast.Dict):
        before, after = _items(old), _items(new)
        return before.keys() == after.keys() and all(_kept(before[key], after[key]) for key in before)
    return written_as(old, new)


def _fills(call: Node) -> bool:
    return isinstance(call, ast.Call) and last(called(call)) in ("update", "dict")


def _in_result(pair: Pair) -> bool:
    """Whether a value stands under a key of a result, or in what fills its diagnostics or flags."""
    said = ast.unparse(pair.parent) if isinstance(pair.parent, ast.Assign | ast.Call | ast.Dict | ast.keyword) else ""
    if isinstance(pair.parent, ast.Dict) and pair.field == "values":
        return bool(_keys() & _items(pair.parent).keys()) or bool(FILLED.search(around(pair)))
    if isinstance(pair.parent, ast.keyword):
        return pair.parent.arg in _keys()
    if isinstance(pair.parent, ast.Assign) and pair.field == "value":
        return bool(
            re.match(r"\w+(\.|\[['\"])(diagnostics|convergence_flags|energy_components|\w+_kcal_per_mol)", said)
        )
    return False


def written_as(old: Node, new: Node) -> bool:
    """Return whether an expression is another one in the type that JSON wants: `float(x)`, `x.tolist()`, `[x]`."""
    if same(old, new):
        return True
    match new:
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in TYPES:
            return written_as(old, inner)
        case ast.Call(func=ast.Attribute(value=inner, attr=name), args=[], keywords=[]) if name in METHODS:
            return written_as(old, inner)
        case ast.List(elts=[inner]):
            return same(old, inner)
        case ast.ListComp(
            elt=ast.Call(func=ast.Name(id=name), args=[ast.Name(id=one)], keywords=[]),
            generators=[ast.comprehension(target=ast.Name(id=other), iter=inner, ifs=[])],
        ) if name in TYPES and one == other:
            return same(old, inner)
        case _:
            return False


def _in_unit(old: ast.expr, new: ast.expr) -> bool:
    """A quantity as a plain number in a unit that is named: `x.value_in_unit(unit.kelvin)`."""
    match new:
        case ast.Call(func=ast.Attribute(value=inner, attr="value_in_unit"), args=[named], keywords=[]):
            return same(old, inner) and bool(re.fullmatch(r"[\w.*/ ()-]+", ast.unparse(named)))
        case ast.Call(func=ast.Name(id="float"), args=[inner], keywords=[]):
            return not same(old, inner) and _in_unit(old, inner)
        case _:
            return False
