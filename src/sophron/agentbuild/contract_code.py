"""What a contract of another domain brings along: its checks, its sources of samples, its schemas.

`checks.py` and `samples.py` lie in the folder of the contract; their public functions stand beside the installed ones,
by name. Names are read without running anything. A function is run when it is called for, which in a campaign is after
the contract was compared with the digest that was signed. Schemas lie in `schemas/`, that of the agent's answer in
`blank/schemas/`, because it goes with the agent.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from sophron.records import entry_points
from sophron.records.digests import file_digest
from sophron.records.errors import UserError, shown

CHECKS, SAMPLES = "sophron.rubric_checks", "sophron.samples"
FILES = {CHECKS: "checks.py", SAMPLES: "samples.py"}
"""Registry -> file of a contract that adds to it."""
SCHEMAS = ("schemas", "blank/schemas")


def names(folder: Path, group: str) -> list[str]:
    """Return the sorted names that a contract may use of a registry: installed ones, and those of its own file.

    UserError if its file is not Python, and if it takes an installed name.
    """
    installed, own = entry_points.names(group), _functions(folder / FILES[group])
    for name in own:
        if name in installed:
            raise UserError(f"{folder / FILES[group]}: {name} is a name of the registry {group}; choose another one")
    return sorted([*installed, *own])


def load(folder: Path | None, group: str, name: str) -> Any:
    """Return the function called `name`: the contract's own, or the installed one. UserError if there is neither."""
    if folder is not None and name in _functions(folder / FILES[group]):
        return getattr(_module(folder / FILES[group]), name)
    return entry_points.load(group, name)


def schema(folder: Path, name: str) -> str:
    """Return what `records.documents` knows a schema by: a file of the contract if there is one of that name."""
    for place in SCHEMAS:
        path = (folder / place / name).absolute()
        if name and path.with_name(f"{path.name}.schema.yaml").is_file():
            return str(path)
    return name


def _functions(path: Path) -> list[str]:
    if not path.is_file():
        return []
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except (SyntaxError, ValueError) as error:
        raise UserError(f"{path}: is not Python ({shown(str(error), 120)}); correct it") from None
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]


def _module(path: Path) -> ModuleType:
    """The file as a module, run once; nothing is written beside it, as an import would."""
    name = f"sophron_contract_{path.stem}_{file_digest(path)[:12]}"
    if name not in sys.modules:
        module = ModuleType(name)
        module.__file__ = str(path)
        sys.modules[name] = module
        try:
            exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)  # noqa: S102 - people wrote and signed it
        except BaseException as error:
            del sys.modules[name]
            if isinstance(error, ModuleNotFoundError):
                raise UserError(f"{path}: needs {error.name}, which is not installed; install it") from None
            raise
    return sys.modules[name]
