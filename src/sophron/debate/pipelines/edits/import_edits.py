"""Imports that may come and go: of what is found, under its usual name, over nothing that has a meaning already."""

from __future__ import annotations

import ast

from sophron.debate.pipelines.edits.ast_diff import Node, Pair
from sophron.debate.pipelines.edits.edit_context import File, definers, near, there
from sophron.debate.pipelines.static_check.import_policy import importable
from sophron.debate.pipelines.static_check.name_resolution import Imported, imported, last

USUAL = {"numpy": "np", "pandas": "pd", "mdtraj": "md", "parmed": "pmd", "networkx": "nx", "openmm.unit": "unit"}
"""The names by which libraries are known in the field."""


def allows_import(pair: Pair, file: File) -> bool:
    """Return whether only imports changed: added ones, and useless or unresolved ones removed or corrected."""
    if not all(isinstance(node, ast.Import | ast.ImportFrom | None) for node in (pair.old, pair.new)):
        return False
    old, new = _by_key(pair.old), _by_key(pair.new)
    lost = [each for key, each in old.items() if key not in new]
    gained = [each for key, each in new.items() if key not in old]
    kept = all(_idle(each, file) for each in lost)
    return kept and all(_plain(each, lost) and _free(each, file) for each in gained)


def _by_key(node: Node) -> dict[tuple[str, str, str], Imported]:
    return {each.key: each for each in imported(node)}


def _idle(name: Imported, file: File) -> bool:
    """Whether an import finds nothing, or nothing reads what it binds."""
    return not there(name) or (name.bound not in file.loaded and name.name != "*" and name.module != "__future__")


def _free(name: Imported, file: File) -> bool:
    """Whether an import finds something that a pipeline may have, and binds a name that meant nothing before."""
    return importable(name.module, name.name) is None and there(name) and name.bound not in file.defined


def _plain(name: Imported, lost: list[Imported]) -> bool:
    """Whether a name is bound as it is known; of ours, one that a single module has, unless a word is put right."""
    if name.name == "*":
        return False
    if any(_corrects(name, each) for each in lost):
        return True
    if name.alias and name.alias not in (name.name or last(name.module), USUAL.get(name.dotted)):
        return False
    return not name.name or len(definers(name.name)) < 2


def _corrects(name: Imported, wrong: Imported) -> bool:
    """Whether one import is another with a misspelt word put right: its module, or its name."""
    if name.module == wrong.module:
        renamed = name.alias == wrong.alias
        return renamed and bool(name.name) and near(wrong.name, name.name, ())
    return (name.name, name.alias) == (wrong.name, wrong.alias) and near(last(wrong.module), last(name.module), ())
