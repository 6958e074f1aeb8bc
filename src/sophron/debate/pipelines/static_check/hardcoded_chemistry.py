"""Find hard-coded chemistry in a stage file: charges, symmetry, acidity, names of molecules, withheld values."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from itertools import pairwise

from sophron.debate.pipelines.pipeline import INPUT_NAMES, METADATA_NAME
from sophron.debate.pipelines.static_check.import_policy import importable
from sophron.debate.pipelines.static_check.stage_source import Found, Source, called, last, number, parameters

CHEMISTRY = frozenset({"charge", "charges", "nsym", "sym", "symmetry", "sites", "ph", "pka", "pkas", "acidity"})
SYMMETRY_NUMBERS = range(2, 13)
GAS_CONSTANTS = (1.98720425864083e-3, 8.31446261815324e-3)
"""In kcal/mol/K and kJ/mol/K."""
TEMPERATURES_K = (293.15, 298.0, 298.15, 300.0, 310.0)
"""At which RT ln(n) is known by heart."""
DIGITS = 4
"""Significant digits from which on a number is taken for RT ln(n); shorter ones are too often something else."""
MOLECULAR = re.compile(r"atom|particle|residue|topology|mol\b|molecule|guest|host|ligand|smiles", re.IGNORECASE)
WITHHELD = re.compile(r"held.?out|reference.?(value|dg|data|s\b)|experiment|guests\.csv|\bexp_?dg\b", re.IGNORECASE)
OUTSIDE = re.compile(r"^(/[A-Za-z.]|~|file:)|(^|/)\.\.(/|$)")
MOLECULE = re.compile(r"^[^\s/]*\.(mol2|pdb|sdf|cif|smi)$")
OWN_MOLECULE = re.compile(r"^(host|guest|complex|system|solvated)[A-Za-z0-9_.-]*$")
CHARGE_OPTION = re.compile(r"(^|\s)-nc\s+[-+]?\d")


def chemistry(source: Source) -> Found:
    """Find a charge, symmetry number, pH or pKa as a literal: they belong in the metadata. A zero charge may stay."""
    for line, name, value in (*_bound(source.tree), *_given(source)):
        if _chemical(name) and number(value) not in (None, 0):
            yield line, f"{name} has its value in the code; read it from {METADATA_NAME}"
    for node in ast.walk(source.tree):
        yield from (*_symmetry(source, node), *_charge_in_words(node))
    for line, text in source.literals:
        if CHARGE_OPTION.search(text):
            yield line, f"-nc has a charge in the code; read it from {METADATA_NAME}"


def _symmetry(source: Source, node: ast.AST) -> Found:
    """A symmetry number under a logarithm, or the term that it makes."""
    if isinstance(node, ast.Call) and last(called(node, source.names)) == "log" and node.args:
        found = number(node.args[0], source.numbers)
        if found in SYMMETRY_NUMBERS:
            yield node.lineno, f"log({found:g}) is a symmetry number in the code; read it from {METADATA_NAME}"
    if isinstance(node, ast.Constant) and isinstance(node.value, float) and (said := _rotational(node.value)):
        yield node.lineno, f"{node.value} is {said}, a symmetry number in the code; read it from {METADATA_NAME}"


def _charge_in_words(node: ast.AST) -> Found:
    if isinstance(node, ast.List | ast.Tuple):
        words = [each.value if isinstance(each, ast.Constant) else None for each in node.elts]
        for word, after in pairwise(words):
            if word == "-nc" and isinstance(after, str | int):
                yield node.lineno, f"-nc has a charge in the code; read it from {METADATA_NAME}"


def dispatch(source: Source) -> Found:
    """Find a branch for one guest: a number of atoms, or a charge, compared with one in the code."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Compare) or not all(
            isinstance(each, ast.Eq | ast.NotEq | ast.In) for each in node.ops
        ):
            continue
        parts = [node.left, *node.comparators]
        values = [number(each, source.numbers) for part in parts for each in getattr(part, "elts", [part])]
        said = " ".join(ast.unparse(part) for part in parts)
        if all(value in (None, 0) or (value == 1 and "charge" not in said) for value in values):
            continue
        if _chemical(said) or (_counts(parts) and MOLECULAR.search(said)):
            sentence = f'"{ast.unparse(node)}" picks out a guest; a pipeline runs unchanged on every guest'
            yield node.lineno, sentence


def _counts(parts: list[ast.expr]) -> bool:
    """Whether one side says how many there are."""
    calls = [last(called(node)).lower() for node in parts if isinstance(node, ast.Call)]
    named = [ast.unparse(node).lower() for node in parts if isinstance(node, ast.Name | ast.Attribute)]
    return any(name == "len" or "num" in name for name in calls) or any("atoms" in name for name in named)


def _chemical(name: str) -> bool:
    return bool(CHEMISTRY & set(re.split(r"[^a-z]+", name.lower())))


def _rotational(value: float) -> str | None:
    """What a number is where it is RT ln(n) to the digits that are written; None where it has too few, or is not."""
    written = re.sub(r"^0+|[.-]", "", repr(abs(value))).lstrip("0")
    if len(written) < DIGITS:
        return None
    for gas in GAS_CONSTANTS:
        for temperature in TEMPERATURES_K:
            for sites in SYMMETRY_NUMBERS:
                if math.isclose(abs(value), gas * temperature * math.log(sites), rel_tol=2e-4):
                    return f"RT ln({sites}) at {temperature:g} K"
    return None


def names(source: Source) -> Found:
    """Find names of hosts or guests, and files of them under any but the canonical name."""
    for line, text in source.literals:
        words = set(re.split(r"[^a-z0-9]+", text.lower()))
        for name in source.guests:
            if name.lower() in words:
                yield line, f'it names "{name}"; a pipeline runs unchanged on every guest'
        if MOLECULE.match(text) and text not in INPUT_NAMES and not OWN_MOLECULE.match(text):
            yield line, f"it names {text}; the files are {', '.join(INPUT_NAMES)}"
    for part in ast.walk(source.tree):
        said = part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else ""
        for name in source.guests:
            if name.lower() in said.lower().split("_"):
                yield getattr(part, "lineno", 1), f'it names "{name}"; a pipeline runs unchanged on every guest'


def references(source: Source) -> Found:
    """Find a search for withheld values, and a path out of the work folder."""
    for line, text in source.literals:
        if "\n" not in text and WITHHELD.search(text) and len(text) < 80:
            yield line, f'it looks for what is withheld ("{text}")'
        if OUTSIDE.search(text):
            yield line, f'the path "{text}" leads out of its folder'


def _bound(tree: ast.Module) -> Iterator[tuple[int, str, ast.expr | None]]:
    """Every place where a name gets a value: assignments, defaults, keywords, keys of dictionaries."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            yield from ((node.lineno, name, node.value) for target in node.targets for name in _named(target))
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr | ast.AugAssign):
            yield from ((node.lineno, name, node.value) for name in _named(node.target))
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.value.lineno, node.arg, node.value
        elif isinstance(node, ast.arguments):
            for argument, default in zip(reversed(node.args), reversed(node.defaults), strict=False):
                yield default.lineno, argument.arg, default
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield value.lineno, key.value, value


def _named(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Attribute):
        yield target.attr
    elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        yield str(target.slice.value)


def _given(source: Source) -> Iterator[tuple[int, str, ast.expr]]:
    """What functions of ours are given by place, with the names that the functions have for it."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and node.args and any(number(each) is not None for each in node.args):
            name = called(node, source.names)
            known = parameters(name) if importable(name.rpartition(".")[0], "") is None else []
            for parameter, value in zip(known, node.args, strict=False):
                yield value.lineno, parameter.name, value
