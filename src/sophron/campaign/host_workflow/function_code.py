"""Identity of Python code that a Snakefile holds: `run:` bodies, params functions, and what these call.

By bytecode, so that comments and layout do not count. Functions, and modules beside the workflow, are followed;
globals count by value. Of `config` only the keys that are looked up by a literal name count, otherwise all of it.
"""

import dis
import hashlib
import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sophron.campaign.host_workflow.plain_values import Plain

Key = tuple[str, ...]
WHOLE: Key = ()
"""Stands for all of `config`."""
LOOKUPS = ("BINARY_SUBSCR", "BINARY_OP")


@dataclass
class FunctionCode:
    """Collects what a function consists of. folders: where code of the workflow lies; names: those of the job."""

    plain: Plain
    folders: tuple[Path, ...]
    config: Mapping[str, Any]
    parts: dict[str, object] = field(default_factory=dict)
    _seen: set[int] = field(default_factory=set)

    def add(self, name: str, function: Callable[..., Any]) -> None:
        """Add a function with all that it reaches."""
        function = inspect.unwrap(getattr(function, "func", function))  # functools.partial
        code = getattr(function, "__code__", None)
        if code is None or id(code) in self._seen:
            return
        self._seen.add(id(code))
        self.parts[f"function {name}"] = code_digest(code)
        if defaults := (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.parts[f"defaults of {name}"] = self.plain(defaults)
        for cell in function.__closure__ or ():
            self._global(f"{name}.closure", cell.cell_contents)
        scope = function.__globals__
        for used in _names(code):
            if used in scope and used != "config":
                self._global(used, scope[used])
        for key in config_keys(code):
            self.add_config(key)

    def add_config(self, key: Key) -> None:
        """Add the value of `config` under these keys; all of it if there is none, or if a key is not there."""
        value: Any = self.config
        for name in key:
            if not isinstance(value, Mapping) or name not in value:
                break
            value = value[name]
        self.parts[".".join(("config", *key))] = self.plain(value)

    def _global(self, name: str, value: Any) -> None:
        if isinstance(value, types.FunctionType):
            if self._is_local(value.__code__.co_filename):
                self.add(name, value)
        elif isinstance(value, types.ModuleType):
            path = getattr(value, "__file__", None)
            if path and self._is_local(path):
                self.parts[f"module {name}"] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        elif isinstance(value, type):
            if self._is_local(_file_of(value)):
                for method, body in sorted(vars(value).items()):
                    if isinstance(body, types.FunctionType):
                        self.add(f"{name}.{method}", body)
        elif isinstance(value, str | int | float | bool | list | tuple | dict | set | frozenset | None):
            self.parts[f"global {name}"] = self.plain(value)

    def _is_local(self, path: str) -> bool:
        """Whether code of this file belongs to the workflow: Snakefiles are compiled under their own path."""
        return any(folder in Path(path).resolve().parents for folder in self.folders)


def _file_of(value: type) -> str:
    import sys

    return getattr(sys.modules.get(value.__module__), "__file__", None) or ""


def code_digest(code: types.CodeType) -> str:
    """Return the hex sha256 of bytecode, names and constants, of inner functions too; no line, no file name."""
    constants = [
        code_digest(constant) if isinstance(constant, types.CodeType) else repr(_sorted(constant))
        for constant in code.co_consts
    ]
    text = repr((code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants))
    return hashlib.sha256(text.encode()).hexdigest()


def _sorted(constant: Any) -> Any:
    return sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _names(code: types.CodeType) -> list[str]:
    return sorted({name for one in _codes(code) for name in one.co_names})


def config_keys(code: types.CodeType) -> set[Key]:
    """Return the keys under which `config` is looked up; `WHOLE` for any other use of it."""
    found: set[Key] = set()
    for one in _codes(code):
        steps = [step for step in dis.get_instructions(one) if step.opname not in ("CACHE", "PUSH_NULL")]
        for place, step in enumerate(steps):
            if step.argval == "config" and step.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME")):
                found.add(_literal_keys(steps[place + 1 :]))
    return found


def _literal_keys(steps: list[dis.Instruction]) -> Key:
    key: list[str] = []
    for constant, lookup in zip(steps[::2], steps[1::2], strict=False):
        if not (constant.opname == "LOAD_CONST" and isinstance(constant.argval, str) and lookup.opname in LOOKUPS):
            break
        key.append(constant.argval)
    return tuple(key)
