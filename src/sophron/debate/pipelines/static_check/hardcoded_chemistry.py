"""Find hard-coded chemistry in a stage file: charges, symmetry, acidity, names of molecules, withheld values."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from sophron.debate.pipelines.pipeline import INPUT_NAMES, METADATA_NAME
from sophron.debate.pipelines.static_check.import_policy import importable
from sophron.debate.pipelines.static_check.stage_source import (
    Found,
    Source,
    called,
    dotted,
    last,
    number,
    parameters,
    words,
)

CHARGES = frozenset({"charge", "charges"})
CHEMISTRY = CHARGES | {"nsym", "sym", "symmetry", "sites", "ph", "pka", "pkas", "acidity"}
ABOUT_CHARGES = words(
    "tolerance tol difference deviation threshold limit lambda lambdas scale window windows step steps "
    "count number index column columns off on"
)
"""Words beside `charge` that make a number something else than a charge."""
SYMMETRY_NUMBERS = range(2, 13)
GAS_CONSTANTS = (1.98720425864083e-3, 8.31446261815324e-3)
"""In kcal/mol/K and kJ/mol/K."""
TEMPERATURES_K = (293.15, 298.0, 298.15, 300.0, 310.0)
"""At which RT ln(n) is known by heart."""
DIGITS = 4
"""Significant digits from which on a number is taken for RT ln(n); shorter ones are too often something else."""
MOLECULAR = re.compile(r"atom|particle|residue|topology|mol\b|molecule|guest|host|ligand|smiles", re.IGNORECASE)
WITHHELD = re.compile(
    r"held.?out|references?[._-]?(values?|dg|data)\b|\breferences([./_-]|$)|guests\.csv|\bexp(erimental)?_?dg\b"
    r"|experiment\w*[._-](values?|data|json|csv|yaml)\b",
    re.IGNORECASE,
)
OUTSIDE = re.compile(r"^(/[A-Za-z.]|~([a-z]*/|$)|(file|https?|ftp|s3):)|(^|/)\.\.(/|$)")
NOWHERE = "/dev/null"
MOLECULE = re.compile(r"^[^\s/]*\.(mol2|pdb|sdf|cif|smi)$")
OWN_MOLECULE = re.compile(
    r"^(host|guest|complex|system|solvat|particle|dimer|pair|ligand|receptor|topolog|struct|model|box|vacuum|water|"
    r"solvent|minimi[sz]ed|equilibrat|relax|restrain|prep|start|initial|init|final|last|end|out|in(put)?[._-]|frame|"
    r"state|stage|window|win|lambda|traj|sample|anchor|align|orient|dummy|dummies|pull|apr|bound|free|alone|tmp|temp|"
    r"positions|coords|\{\}|\*)[A-Za-z0-9_.{}*-]*$",
    re.IGNORECASE,
)
"""A file that a pipeline makes for itself, by how its name begins."""
ORDINARY = words(
    "weak middle medium strong low high small large near far in out between inner outer bound free open "
    "closed first second third last short long left right top bottom light heavy fast slow"
)
"""Names of guests that are words of everyone: only a comparison with one picks out a guest."""
ANCHOR = re.compile(r"^[dgh][1-3]$")
"""Names of guests that are the usual names of anchors as well."""
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
    """Find a branch for one guest: a number of atoms, or a charge, compared with one in the code.

    A test that only fails picks out nothing.
    """
    failing = {id(each) for test in _tests_that_fail(source.tree) for each in ast.walk(test)}
    for node in ast.walk(source.tree):
        if id(node) in failing:
            continue
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
    parts = set(re.split(r"[^a-z]+", name.lower()))
    found = CHEMISTRY & parts
    return bool(found) and not (found <= CHARGES and parts & ABOUT_CHARGES)


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


def _tests_that_fail(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) or (
            isinstance(node, ast.If) and not node.orelse and all(isinstance(each, ast.Raise) for each in node.body)
        ):
            yield node.test


def names(source: Source) -> Found:
    """Find names of hosts or guests, and files of them under any but the canonical name.

    A text names a guest if it is that name, or a word without spaces that holds it; prose and names of variables choose
    nothing. A name that is a common word, or that of an anchor, counts in a comparison alone.
    """
    compared = {text.lower() for node in ast.walk(source.tree) if isinstance(node, ast.Compare) for text in _said(node)}
    for line, text in source.literals:
        for name in (each.lower() for each in source.guests):
            common = name in ORDINARY or ANCHOR.match(name)
            if _holds(text, name) and (text.lower() in compared if common else _is_name(text, source.guests)):
                yield line, f'it names "{name}"; a pipeline runs unchanged on every guest'
        if MOLECULE.match(text) and text not in INPUT_NAMES and not OWN_MOLECULE.match(text):
            yield line, f"it names {text}; the files are {', '.join(INPUT_NAMES)}"
    for node in ast.walk(source.tree):
        given = {each.arg.lower() for each in node.keywords if each.arg} if isinstance(node, ast.Call) else set()
        if (
            isinstance(node, ast.Call)
            and called(node) == "dict"
            and given & ({*map(str.lower, source.guests)} - ORDINARY)
        ):
            yield node.lineno, "it has a table by guest; a pipeline runs unchanged on every guest"


def _said(node: ast.AST) -> Iterator[str]:
    yield from (each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str))


def _holds(text: str, name: str) -> bool:
    """Whether a name stands in a text as a word."""
    return bool(re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", text.lower()))


def _is_name(text: str, guests: Sequence[str]) -> bool:
    """Whether a text that holds a name is one, or a list of such, and no prose."""
    known = {*map(str.lower, guests)}
    listed = all(word in known or word.isdigit() for word in re.split(r"[^a-z0-9_]+", text.lower()) if word)
    return listed or not re.search(r"\s", text.strip())


def references(source: Source) -> Found:
    """Find a search for withheld values, and a path out of the work folder."""
    for line, text in source.literals:
        if WITHHELD.search(text) and not re.search(r"\s", text):
            yield line, f'it looks for what is withheld ("{text}")'
        if "\n" not in text and text != NOWHERE and OUTSIDE.search(text):
            yield line, f'"{text[:80]}" leads out of its folder'
    for node in ast.walk(source.tree):
        if sentence := _climbs(source, node):
            yield getattr(node, "lineno", 1), sentence


TAKES_PATH = ("Path", "open", "listdir", "walk", "scandir", "glob", "rglob", "iglob", "chdir", "exists")
HOMES = frozenset({"pathlib.Path.home", "os.path.expanduser", "os.path.expandvars", "os.pardir", "os.path.pardir"})
LINKS = ("symlink_to", "hardlink_to", "symlink", "link", "expanduser")


def _climbs(source: Source, node: ast.AST) -> str | None:
    """Why an expression leads out of the work folder, if it does, by other means than a text."""
    if isinstance(node, ast.Call):
        name = called(node, source.names)
        root = any(isinstance(each, ast.Constant) and each.value in ("/", "..", "~") for each in node.args)
        if last(name) in TAKES_PATH and root:
            return f"{last(name)} of the root leads out of its folder"
        if name in HOMES or last(name) in LINKS:
            return f"{last(name)} leads out of its folder; take relative paths below it"
    return _climbs_by_name(source, node) if isinstance(node, ast.Attribute) else None


def _climbs_by_name(source: Source, node: ast.Attribute) -> str | None:
    here = ast.unparse(node.value)
    out = {
        "parents": re.search(r"__file__|\bcwd\(", here),
        "parent": re.search(r"\bcwd\(|__file__.*\.parent\b", here),
    }
    if dotted(node, source.names) in HOMES or out.get(node.attr):
        return f"{node.attr} leads out of its folder; take relative paths below it"
    return None


MEASURED = words(
    "overlaps minimum_overlap effective_samples inefficiencies statistical_inefficiency "
    "block_difference_kcal_per_mol hysteresis_kcal_per_mol sampled_ns density_g_per_ml "
    "statistical_error_kcal_per_mol delta_g_kcal_per_mol"
)
"""Keys of a result whose values are measured, never written down."""


def measured(source: Source) -> Found:
    """Find a diagnostic that is a number in the code, and a result that is written around `reporting`."""
    for line, name, value in _stated(source.tree):
        parts = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
        if name in MEASURED and parts and all(number(each) not in (None, 0) for each in parts):
            yield line, f"{name} is a number in the code; a diagnostic is measured"
    reports = any(isinstance(node, ast.Call) and last(called(node)) == "reporting" for node in ast.walk(source.tree))
    for line, text in source.literals:
        if text in HARNESS_FILES or (reports and text == source.stage.result):
            yield line, f"{text} is written by the harness; a stage file does not"


HARNESS_FILES = ("executed.json", "outcome.json")


def _stated(tree: ast.Module) -> Iterator[tuple[int, str, ast.expr | None]]:
    """What a result is made of: keys of dictionaries, keywords of `update`, items and attributes that are set."""
    for node in ast.walk(tree):
        match node:
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield key.lineno, key.value, value
            case ast.Call(keywords=given) if last(called(node)) in ("update", "dict"):
                yield from ((each.value.lineno, each.arg, each.value) for each in given if each.arg)
            case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=str(name)))], value=value):
                yield node.lineno, name, value
            case ast.Assign(targets=[ast.Attribute(attr=name)], value=value):
                yield node.lineno, name, value
            case _:
                pass


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
