"""Check what a stage file may reach: libraries, our own modules, functions, the environment.

These checks catch what is written in the open. What generated code can reach is decided by the sandbox.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import sophron
from sophron.debate.pipelines.pipeline import PRODUCTION
from sophron.debate.pipelines.static_check.stage_source import (
    OWN,
    Found,
    Source,
    called,
    dotted,
    imported,
    last,
    number,
    words,
)

STANDARD = frozenset(
    re.split(
        r"\s+",
        "__future__ abc argparse array bisect cmath collections contextlib copy csv dataclasses datetime decimal enum "
        "errno fractions functools glob gzip hashlib heapq io itertools json logging math numbers operator os pathlib "
        "pprint random re shutil statistics string struct subprocess sys tempfile textwrap time traceback types typing "
        "warnings zipfile",
    )
)
"""Of the standard library."""
LIBRARIES = words("ase mdtraj networkx numpy openmm openmmtools pandas parmed pymbar rdkit scipy simtk")
IMPORTS = STANDARD | LIBRARIES
SCIENCE = "sophron.science.host_guest"
OWN_PACKAGES = (
    "sophron.science.estimators",
    *(f"{SCIENCE}.{name}" for name in ("preparation", "protocols", "sampling")),
)
"""What a pipeline takes of ours: no package that knows a benchmark, a guest, a reference or an exact answer."""
OWN_MODULES = frozenset(
    [f"{SCIENCE}.stage_file_api", *(f"sophron.records.{name}" for name in ("documents", "errors", "files"))]
)
ANSWERS = f"{SCIENCE}.systems.exact_reference"
CALLS = frozenset(
    re.split(
        r"\s+",
        "eval exec compile __import__ breakpoint input os.system os.popen os.fork os.forkpty os.kill os.setsid "
        "subprocess.getoutput subprocess.getstatusoutput os.chroot os.mount os.putenv os.unsetenv os._exit os.abort "
        "globals sys.path sys.prefix sys.base_prefix sys.exec_prefix sys.executable sys.meta_path sys.path_hooks "
        "sys.settrace sys.setprofile sys._getframe numpy.ctypeslib numpy.f2py numpy.distutils pandas.eval "
        "pandas.read_pickle os.symlink os.link types.CodeType types.FunctionType sys.addaudithook",
    )
)
CALL_STEMS = ("os.exec", "os.spawn", "os.posix_spawn", "logging.handlers", "logging.config", "numpy.f2py.")
LOADERS = ("loadPluginLibrary", "loadPluginsFromDirectory", "read_pickle")
HIDDEN = re.compile(
    r"__(dict|class|bases|mro|subclasses|globals|builtins|code|loader|spec|path|import|getattribute|closure|reduce)__"
)
HIDDEN_TEXT = re.compile(r"__(class|bases|mro|subclasses|globals|builtins|code|loader|import|getattribute|closure)__")
PROGRAMS = words(
    "tleap teleap antechamber parmchk2 parmchk sqm cpptraj ambpdb acdoctor prepgen respgen resp espgen "
    "bondtype atomtype am1bcc add_to_box pdb4amber packmol reduce nproc"
)
"""What a stage file may start: AmberTools."""
KEYS = re.compile(r"(api_?key|access_?key|secret|token|passw|credential)", re.IGNORECASE)
BY_TEXT = ("getattr", "setattr", "delattr", "vars")
SHELL = re.compile(r"^(/\S*/)?(ba|da|k|z|c|tc)?sh$")
SHELL_LINE = re.compile(r"^\s*(/\S*/)?(ba|da|k|z|c|tc)?sh\s+-")
SEEDERS = {"setVelocitiesToTemperature": 1} | dict.fromkeys(
    ("setRandomNumberSeed", "default_rng", "seed", "RandomState", "Random"), 0
)
"""Functions whose last argument is a seed, with the arguments that come before it."""
SEEDS = re.compile(r"(^|_)(seed|random_state)$", re.IGNORECASE)
ENVIRONMENT_CHANGES = ("update", "setdefault", "pop", "popitem", "clear", "__setitem__", "__delitem__")


def imports(source: Source) -> Found:
    """Only the libraries that a pipeline needs, and of ours what is no answer."""
    for node in ast.walk(source.tree):
        for each in imported(node):
            if sentence := importable(each.module, each.name):
                yield getattr(node, "lineno", 1), sentence
    for node in ast.walk(source.tree):
        name = dotted(node, source.names) if isinstance(node, ast.Attribute) else ""
        if name.startswith(f"{OWN}.") and (sentence := _withheld(name)):
            yield getattr(node, "lineno", 1), sentence


def importable(module: str, name: str) -> str | None:
    """Return why a pipeline may not import `name` of `module` ("" for the module itself); None if it may."""
    whole = f"{module}.{name}" if name else module
    if ANSWERS in (module, whole) or module.startswith(f"{ANSWERS}."):
        return "it imports the exact answers; a pipeline estimates"
    if whole in CALLS or whole.startswith(CALL_STEMS):
        return f"it imports {whole}, which no pipeline may call"
    if module.partition(".")[0] in IMPORTS or _own(module) or _own(whole):
        return _withheld(whole)
    wanted = whole if module.startswith(f"{OWN}.") else module
    near = next((each for each in own_names() if module.startswith(f"{OWN}.") and last(each) == last(module)), None)
    remedy = f"import {near}" if near else "take another way or ask for it in the design"
    return f"it imports {wanted}, which no pipeline may; {remedy}"


def _own(module: str) -> bool:
    return module in OWN_MODULES or module.startswith(tuple(f"{each}." for each in OWN_PACKAGES))


def _withheld(name: str) -> str | None:
    """Why a dotted name of ours is none that a pipeline may have: it passes through a module that is not permitted."""
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        whole = ".".join(parts[:length])
        owner, _, inner = whole.rpartition(".")
        beside = _modules().get(inner, whole) if _own(owner) else whole  # a module that a permitted one has imported
        if beside in _modules().values() and not _own(beside) and (whole == beside or inner not in COMMON):
            return f"it reaches {beside}, which no pipeline may; a pipeline estimates"
    return None


COMMON = frozenset({"data"})
"""Names of modules that are usual names of something else."""


@cache
def _modules() -> dict[str, str]:
    """Return all modules of ours that hold science of hosts and guests: their last name and their dotted name."""
    folder = _folder(SCIENCE)
    paths = [path.relative_to(folder).with_suffix("") for path in folder.rglob("*.py") if path.stem != "__init__"]
    return {path.name: f"{SCIENCE}.{'.'.join(path.parts)}" for path in paths}


@cache
def own_modules() -> tuple[Path, ...]:
    """Return the files of the modules that a pipeline may import."""
    packages = [path for each in OWN_PACKAGES for path in _folder(each).glob("*.py")]
    modules = [_folder(each).with_suffix(".py") for each in OWN_MODULES]
    return tuple(sorted(path for path in (*packages, *modules) if path.is_file()))


@cache
def own_names() -> tuple[str, ...]:
    """Return the dotted names of these modules."""
    top = Path(sophron.__file__).parent.parent
    return tuple(".".join(path.relative_to(top).with_suffix("").parts) for path in own_modules())


def _folder(module: str) -> Path:
    return Path(sophron.__file__).parent.joinpath(*module.split(".")[1:])


def calls(source: Source) -> Found:
    """Find code made from text, a shell, or a process that outlives the step, by whatever name these go."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            name = dotted(node, source.names)
            own = isinstance(node, ast.Name) and node.id in source.stored and node.id not in source.names
            if not own and (name in CALLS or name.startswith(CALL_STEMS)):
                yield node.lineno, f"it calls {name}, which no pipeline may"
        yield from (*_hidden(source, node), *_shells(source, node), *_chosen(source, node), *_started(source, node))
    for line, text in source.literals:
        if HIDDEN_TEXT.search(text):
            yield line, f'it names the insides of an object in a text ("{text[:60]}"); use objects by their own names'


def _hidden(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    """Ways around names: attributes by text, the insides of objects, other modules changed."""
    if isinstance(node, ast.Attribute) and HIDDEN.fullmatch(node.attr) and id(node) not in source.type_names:
        yield node.lineno, f"it takes {node.attr}; use objects by their own names"
    if isinstance(node, ast.Attribute) and node.attr == "__file__":
        yield node.lineno, "it takes __file__ of a module; what is installed is no input"
    if isinstance(node, ast.Call) and last(called(node, source.names)) in LOADERS:
        yield node.lineno, f"it calls {last(called(node))}, which runs foreign code"
    if isinstance(node, ast.Name) and node.id == "__builtins__":
        yield node.lineno, "it takes __builtins__; use functions by their own names"
    if isinstance(node, ast.Attribute) and dotted(node, source.names) == "sys.modules":
        yield node.lineno, "it takes sys.modules; import what it needs"
    by_text = isinstance(node, ast.Call) and called(node, source.names) in BY_TEXT
    if isinstance(node, ast.Call) and by_text and node.args and source.is_imported(node.args[0]):
        yield node.lineno, f"it calls {called(node)} of a module; use what it has by name"
    changes = isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Attribute) and changes and (source.is_imported(node.value) or node.attr == "document"):
        yield node.lineno, f"it changes {ast.unparse(node)}; what a module holds is given"


def _shells(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    sentence = "it calls a shell; give the words of the command as a list"
    if isinstance(node, ast.Call):
        shell = next((each.value for each in node.keywords if each.arg == "shell"), None)
        if shell is not None and not (isinstance(shell, ast.Constant) and shell.value is False):
            yield node.lineno, sentence
    if isinstance(node, ast.List | ast.Tuple) and node.elts:
        first = node.elts[0].value if isinstance(node.elts[0], ast.Constant) else None
        if isinstance(first, str) and SHELL.match(first):
            yield node.lineno, sentence
        python = dotted(node.elts[0], source.names) == "sys.executable" or str(first).startswith("python")
        if python and len(node.elts) > 1:
            yield node.lineno, "it runs Python from text; write it in the file"
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and SHELL_LINE.match(node.value):
        yield node.lineno, sentence


def _started(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    """Programs that are none of AmberTools; a command that is put together elsewhere is the sandbox's matter."""
    if not isinstance(node, ast.Call) or not called(node, source.names).startswith("subprocess."):
        return
    command = node.args[0] if node.args else next((each.value for each in node.keywords if each.arg == "args"), None)
    for each in _assigned(source.tree, command):
        first = each.elts[0] if isinstance(each, ast.List | ast.Tuple) and each.elts else each
        program = first.value.split() if isinstance(first, ast.Constant) and isinstance(first.value, str) else []
        if program and program[0].rpartition("/")[2] not in PROGRAMS:
            yield node.lineno, f"it starts {program[0]}, which is none of AmberTools"


def _assigned(tree: ast.Module, node: ast.expr | None) -> Iterator[ast.expr]:
    """An expression, or what a name was set to."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split":
        node = node.func.value
    if not isinstance(node, ast.Name):
        yield from [node] if node is not None else []
        return
    for each in ast.walk(tree):
        if isinstance(each, ast.Assign) and any(isinstance(to, ast.Name) and to.id == node.id for to in each.targets):
            yield each.value


def _chosen(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    """Seeds and platforms in the code."""
    if not isinstance(node, ast.Call):
        return
    name = called(node, source.names)
    given = [each.value for each in node.keywords if SEEDS.search(each.arg or "")]
    if last(name) in SEEDERS and len(node.args) > SEEDERS[last(name)]:
        given.append(node.args[-1])
    if any(number(each, source.numbers) is not None for each in given):
        yield node.lineno, f"{name} has a seed in the code; take SOPHRON_SEED"
    platform = name.endswith("getPlatformByName") and source.stage is PRODUCTION
    if platform and any(isinstance(each, ast.Constant) for each in node.args):
        yield (
            node.lineno,
            "it names a platform in the code; take SOPHRON_PLATFORM, and let it fail where that is missing",
        )


def environment(source: Source) -> Found:
    """Find changes of environment variables, which may only be read, and a look for keys among them."""
    for line, text in source.literals:
        if KEYS.search(text) and re.fullmatch(r"\w+", text):
            yield line, f'it looks for a key ("{text}"); a stage file needs none'
    for node in ast.walk(source.tree):
        shown = isinstance(node, ast.Call) and last(called(node)) in SHOWING
        if isinstance(node, ast.Call) and shown and any(_environ(source, each) for each in _inside(node)):
            yield node.lineno, "it writes the whole environment out; read the variables that it needs"
        if _changes_environment(source, node):
            line = getattr(node, "lineno", 1)
            yield line, "it sets a variable of the environment; what stands there is given"


def _changes_environment(source: Source, node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return not isinstance(node.ctx, ast.Load) and _environ(source, node.value)
    if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        alias = isinstance(node, ast.Assign) and _environ(source, node.value)
        return not alias and any(_environ(source, each) for each in targets)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ENVIRONMENT_CHANGES and _environ(source, node.func.value)
    return False


SHOWING = ("print", "dump", "dumps", "write", "write_text", "write_json", "str", "repr")


def _inside(call: ast.Call) -> Iterator[ast.AST]:
    """The whole of what is given to a call, `dict(x)`, `str(x)` and `x.items()` taken off."""
    for node in (*call.args, *(each.value for each in call.keywords)):
        yield _bare(node)


def _bare(node: ast.AST) -> ast.AST:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("items", "values"):
        return _bare(node.func.value)
    if isinstance(node, ast.Call) and node.args and called(node) in ("dict", "str", "repr", "list"):
        return _bare(node.args[0])
    return node


def _environ(source: Source, node: ast.AST) -> bool:
    return dotted(node, source.names) in ("os.environ", "os.environb")
