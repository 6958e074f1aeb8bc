"""What Layer-1 asks of the source of a stage file, by its syntax tree; nothing here runs it.

These checks are for readable, honest pipelines. What generated code can reach is decided by the sandbox.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sophron.debate.pipeline import INPUT_NAMES, METADATA_NAME, NS_PER_WINDOW, PRODUCTION, StageFile

Found = Iterator[tuple[int, str]]
"""Line from 1, and a sentence."""

IMPORTS = frozenset(
    re.split(
        r"\s+",
        "__future__ argparse collections contextlib copy csv dataclasses enum functools io itertools json logging math "
        "operator os pathlib random re shutil statistics string subprocess sys tempfile textwrap time typing warnings "
        "ase mdtraj networkx numpy openmm openmmtools pandas parmed pymbar rdkit scipy simtk",
    )
)
OWN_IMPORTS = ("sophron.science", "sophron.records.atomic", "sophron.records.documents", "sophron.records.errors")
ANSWERS = "sophron.science.host_guest.exact"
"""It can sum the answer of an exact system; of it, a pipeline may have the interaction alone."""
CALLS = frozenset(
    re.split(
        r"\s+",
        "eval exec compile __import__ breakpoint input os.system os.popen os.fork os.forkpty os.kill os.setsid "
        "subprocess.getoutput subprocess.getstatusoutput os.chroot os.mount",
    )
)
CALL_STEMS = ("os.exec", "os.spawn", "os.posix_spawn")
CHEMISTRY = frozenset({"charge", "charges", "nsym", "sym", "symmetry", "sites", "ph", "pka"})
UNITS = tuple(
    re.split(
        r"\s+",
        "_a _nm _a2 _a3 _ps _fs _ns _s _min _per_ps _k _bar _atm _amu _e _deg _rad _kt _molar _kcal_per_mol "
        "_kj_per_mol _kcal_per_mol_a2 _kcal_per_mol_rad2 _kj_per_mol_nm2 _steps _count _fraction _fractions _per_ns "
        "_mb _g_per_ml _ratio",
    )
)
WITHHELD = re.compile(r"held.?out|reference.?(value|dg|data|s\b)|experiment|guests\.csv|\bexp_?dg\b", re.IGNORECASE)
OUTSIDE = re.compile(r"^(/[A-Za-z.]|~|file:)|(^|/)\.\.(/|$)")
MOLECULE = re.compile(r"^[^\s/]*\.(mol2|pdb|sdf|cif|smi)$")
OWN_MOLECULE = re.compile(r"^(host|guest|complex|system|solvated)[A-Za-z0-9_.-]*$")
SEEDERS = ("setRandomNumberSeed", "default_rng", "seed", "setVelocitiesToTemperature", "RandomState", "Random")


@dataclass(frozen=True)
class Source:
    """A file as it is checked. names: of hosts and guests that no code may depend on."""

    stage: StageFile
    tree: ast.Module
    names: Sequence[str]

    def literals(self) -> Iterator[tuple[ast.Constant, str]]:
        """String literals that are no docstrings."""
        said = {id(node) for node in _docstrings(self.tree)}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
                yield node, node.value


def structure(source: Source) -> Found:
    """A docstring, a function `main`, and a call of it where the file is run."""
    if not ast.get_docstring(source.tree):
        yield 1, "it has no docstring that says what it does"
    if not any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in source.tree.body):
        yield 1, "it has no function main()"
    guards = [node for node in source.tree.body if isinstance(node, ast.If) and "__main__" in ast.dump(node.test)]
    if not any(isinstance(each, ast.Call) and called(each) == "main" for guard in guards for each in ast.walk(guard)):
        yield 1, 'main() is not called below `if __name__ == "__main__":`'


def own_result(source: Source) -> Found:
    """Its own result, by name or through `stage_file.reporting`."""
    named = any(text == source.stage.result for _, text in source.literals())
    reported = any(
        isinstance(node, ast.Call)
        and called(node).rpartition(".")[2] == "reporting"
        and [each.value for each in node.args if isinstance(each, ast.Constant)] == [source.stage.number]
        for node in ast.walk(source.tree)
    )
    if not (named or reported):
        yield 1, f"it never writes {source.stage.result}"


def production_length(source: Source) -> Found:
    """Production takes its length, and every file leaves it alone."""
    texts = [text for _, text in source.literals()]
    asked = any(isinstance(node, ast.Call) and called(node).endswith("ns_per_window") for node in ast.walk(source.tree))
    if source.stage is PRODUCTION and NS_PER_WINDOW not in texts and not asked:
        yield 1, f"it does not read {NS_PER_WINDOW}; production has the length that it states"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and any("environ" in ast.dump(each) for each in node.targets):
            yield node.lineno, "it sets a variable of the environment; what stands there is given"


def imports(source: Source) -> Found:
    """Only the libraries that a pipeline needs."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            names = [(each.name, "") for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [(node.module or ".", each.name) for each in node.names]
        else:
            continue
        for module, name in names:
            if sentence := _import(module, name):
                yield node.lineno, sentence


def _import(module: str, name: str) -> str | None:
    if f"{module}.{name}" == ANSWERS or (module == ANSWERS and name in ("", "*", "binding")):
        return "it imports the exact answers; a pipeline estimates"
    own = any(module == each or module.startswith(f"{each}.") or f"{module}.{name}" == each for each in OWN_IMPORTS)
    if own or module.partition(".")[0] in IMPORTS:
        return None
    return f"it imports {module}, which no pipeline may; take another way or ask for it in the design"


def calls(source: Source) -> Found:
    """No code from text, no shell, no process that outlives the step."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call):
            continue
        name = called(node)
        if name in CALLS or name.startswith(CALL_STEMS):
            yield node.lineno, f"it calls {name}, which no pipeline may"
        shell = next((each.value for each in node.keywords if each.arg == "shell"), None)
        if shell is not None and not (isinstance(shell, ast.Constant) and shell.value is False):
            yield node.lineno, "it calls a shell; give the words of the command as a list"
        if name.rpartition(".")[2] in SEEDERS and any(isinstance(each, ast.Constant) for each in node.args[-1:]):
            yield node.lineno, f"{name} has a seed in the code; take SOPHRON_SEED"
        platform = name.endswith("getPlatformByName") and source.stage is PRODUCTION
        if platform and any(isinstance(each, ast.Constant) for each in node.args):
            yield (
                node.lineno,
                "it names a platform in the code; take SOPHRON_PLATFORM, and let it fail where that is missing",
            )


def chemistry(source: Source) -> Found:
    """No charge, symmetry number, pH or pKa as a literal: they stand in the metadata. A zero charge is no fact."""
    for line, name, value in _bound(source.tree):
        if CHEMISTRY & set(re.split(r"[^a-z]+", name.lower())) and _number(value) not in (None, 0):
            yield line, f"{name} has its value in the code; read it from {METADATA_NAME}"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and called(node).rpartition(".")[2] == "log" and node.args:
            number = _number(node.args[0])
            if number in range(2, 13):
                yield node.lineno, f"log({number:g}) is a symmetry number in the code; read it from {METADATA_NAME}"
        if isinstance(node, ast.List | ast.Tuple):
            words = [each.value if isinstance(each, ast.Constant) else None for each in node.elts]
            for word, after in pairwise(words):
                if word == "-nc" and isinstance(after, str | int):
                    yield node.lineno, f"-nc has a charge in the code; read it from {METADATA_NAME}"


def names(source: Source) -> Found:
    """No name of a host or guest, and no file of one but by its canonical name."""
    for node, text in source.literals():
        words = set(re.split(r"[^a-z0-9]+", text.lower()))
        for name in source.names:
            if name.lower() in words:
                yield node.lineno, f'it names "{name}"; a pipeline runs unchanged on every guest'
        if MOLECULE.match(text) and text not in INPUT_NAMES and not OWN_MOLECULE.match(text):
            yield node.lineno, f"it names {text}; the files are {', '.join(INPUT_NAMES)}"
    for part in ast.walk(source.tree):
        said = part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else ""
        for name in source.names:
            if name.lower() in said.lower().split("_"):
                yield getattr(part, "lineno", 1), f'it names "{name}"; a pipeline runs unchanged on every guest'


def references(source: Source) -> Found:
    """No look for what is withheld, and no path out of the work folder."""
    for node, text in source.literals():
        if "\n" not in text and WITHHELD.search(text) and len(text) < 80:
            yield node.lineno, f'it looks for what is withheld ("{text}")'
        if OUTSIDE.search(text):
            yield node.lineno, f'the path "{text}" leads out of its folder'


def units(source: Source) -> Found:
    """Constants of a module say their unit in their name."""
    for node in source.tree.body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
        numeric = parts and all(_number(each) is not None for each in parts)
        for target in targets:
            if numeric and isinstance(target, ast.Name) and not target.id.lower().endswith(UNITS):
                yield (
                    node.lineno,
                    f"{target.id} does not say its unit; end its name with one, such as _KCAL_PER_MOL or _COUNT",
                )


CHECKS: tuple[tuple[str, Callable[[Source], Found]], ...] = (
    ("structure", structure),
    ("contract", own_result),
    ("contract", production_length),
    ("imports", imports),
    ("calls", calls),
    ("chemistry", chemistry),
    ("names", names),
    ("references", references),
    ("units", units),
)


def called(node: ast.Call) -> str:
    """Dotted name of what is called, "" where it is none."""
    parts: list[str] = []
    function: ast.expr = node.func
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    return ".".join([function.id, *reversed(parts)]) if isinstance(function, ast.Name) else ".".join(reversed(parts))


def _number(node: ast.expr | None) -> float | int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = _number(node.operand)
        return None if inner is None else -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    return None


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


def _docstrings(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr):
                yield first.value
