"""Identity of Python code that a Snakefile holds: `run:` bodies, params functions, and what these call.

By bytecode, so that comments and layout do not count. Functions, and modules beside the workflow, are followed;
globals count by value. Of `config` only the keys that are looked up by a literal name count, otherwise all of it.
"""

import dis
import functools
import hashlib
import inspect
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sophron.campaign.host_workflow import script_files
from sophron.campaign.host_workflow.plain_values import Plain

Key = tuple[str, ...]
WHOLE: Key = ()
"""Stands for all of `config`."""
LOOKUPS = ("BINARY_SUBSCR", "BINARY_OP")
LOADS = ("LOAD_GLOBAL", "LOAD_NAME")
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
INSTALLED = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib"))
"""Where installed packages lie, which may be inside the workflow's folder; a lock file under `also` stands for them."""
ENVIRONMENT = {"environ", "getenv"}


@dataclass
class FunctionCode:
    """Collects what a function consists of. folders: where code of the workflow lies; files: of its Snakefiles.

    unseen: what it uses that cannot be signed.
    """

    plain: Plain
    folders: tuple[Path, ...]
    config: Mapping[str, Any]
    files: frozenset[str] = frozenset()
    parts: dict[str, object] = field(default_factory=dict)
    unseen: set[str] = field(default_factory=set)
    _seen: set[int] = field(default_factory=set)

    def add(self, name: str, function: Any) -> None:
        """Add a function with all that it reaches; of another callable its class and its state."""
        if isinstance(function, functools.partial):
            self.put(f"arguments of {name}", self.plain([list(function.args), function.keywords]))
            self.add(name, function.func)
            return
        function = inspect.unwrap(getattr(function, "__func__", function))
        code = getattr(function, "__code__", None)
        if code is None:
            self._instance(name, function)
        elif id(code) not in self._seen:
            self._seen.add(id(code))
            self._code(name, function, code)

    def put(self, name: str, value: object) -> None:
        """Keep a part; two of one name, say helpers of two modules, both count."""
        while self.parts.get(name, value) != value:
            name += "'"
        self.parts[name] = value

    def _code(self, name: str, function: types.FunctionType, code: types.CodeType) -> None:
        self.put(f"function {name}", code_digest(code, self.plain.places.strip))
        if defaults := (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.put(f"defaults of {name}", self.plain(defaults))
        for free, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._global(f"{name}.{free}", cell.cell_contents)
        scope = function.__globals__
        for used in _names(code):
            if used in scope and used != "config":
                self._global(used, scope[used])
        if ENVIRONMENT & {*_names(code)}:
            self.unseen.add("environment variables (os.environ)")
        for key in config_keys(code):
            self.add_config(key, scope.get("config", self.config))

    def add_config(self, key: Key, config: Mapping[str, Any] | None = None) -> None:
        """Add the value of `config` under these keys; all of it if there is none, or if a key is not there."""
        value: Any = self.config if config is None else config
        for name in key:
            if not isinstance(value, Mapping) or name not in value:
                break
            value = value[name]
        self.put(".".join(("config", *key)), self.plain(value))

    def _global(self, name: str, value: Any) -> None:
        if isinstance(value, functools.partial):
            self.add(name, value)
        elif isinstance(value, types.FunctionType | types.MethodType):
            if self._is_local(inspect.unwrap(value).__code__.co_filename):
                self.add(name, value)
        elif isinstance(value, types.ModuleType):
            path = getattr(value, "__file__", None)
            if path and self._is_local(path):
                for one, text in script_files.closure(Path(path), Path(path).read_text(errors="replace")).items():
                    self.put(f"module {one.name}", hashlib.sha256(text.encode()).hexdigest())
        elif isinstance(value, type):
            self._class(name, value)
        elif not isinstance(value, types.BuiltinFunctionType) and not self._is_snakemakes(value):
            self._instance(name, value)

    def _class(self, name: str, value: type) -> None:
        if not self._is_local_class(value):
            return
        for member, body in sorted(vars(value).items()):
            inner = getattr(body, "__func__", getattr(body, "fget", body))
            if isinstance(inner, types.FunctionType):
                self.add(f"{name}.{member}", inner)
            elif not member.startswith("__"):
                self.put(f"{name}.{member}", self.plain(body))
        for base in value.__bases__:
            self._class(base.__name__, base)

    def _instance(self, name: str, value: Any) -> None:
        """A value counts by what it holds; of one whose class belongs to the workflow the class counts too."""
        if self._is_local_class(type(value)) and hasattr(value, "__dict__"):
            self._class(type(value).__name__, type(value))
            self.put(f"global {name}", self.plain(vars(value)))
        else:
            self.put(f"global {name}", self.plain(value))

    def _is_local_class(self, value: type) -> bool:
        path = _file_of(value)
        return not path or self._is_local(path)

    def _is_snakemakes(self, value: Any) -> bool:
        """Whether Snakemake put it into the scope of every Snakefile, such as `rules`: what it holds is seen elsewhere.

        A class of a Snakefile says that it is of Snakemake's module too.
        """
        library = type(value).__module__.partition(".")[0]
        plain = isinstance(value, Mapping | list | str)
        return library in ("snakemake", "logging") and not plain and not self._is_local_class(type(value))

    def _is_local(self, path: str) -> bool:
        """Whether code of this file belongs to the workflow: Snakefiles are compiled under their own path."""
        if path in self.files:
            return True
        parents = Path(path).resolve().parents if path else ()
        installed = "site-packages" in Path(path).parts or any(folder in parents for folder in INSTALLED)
        return not installed and any(folder in parents for folder in self.folders)


def _file_of(value: type) -> str:
    """The file of a class, by a method or the module that holds it; empty for one of a Snakefile without methods."""
    for body in vars(value).values():
        if isinstance(body, types.FunctionType):
            return body.__code__.co_filename
    module = sys.modules.get(value.__module__)
    return (getattr(module, "__file__", None) or "built in") if hasattr(module, value.__name__) else ""


def code_digest(code: types.CodeType, strip: Callable[[str], str] = str) -> str:
    """Return the hex sha256 of bytecode, names and constants, of inner functions too; no line, no file name.

    strip: takes the folders of this checkout out of a text.
    """
    constants = [
        code_digest(constant, strip) if isinstance(constant, types.CodeType) else strip(repr(_sorted(constant)))
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
    """Return the keys under which `config` is looked up; `WHOLE` for any other use of it, as of `workflow.config`."""
    found: set[Key] = set()
    for one in _codes(code):
        steps = [step for step in dis.get_instructions(one) if step.opname not in ("CACHE", "PUSH_NULL")]
        for place, step in enumerate(steps):
            if step.argval == "config" and step.opname.startswith(LOADS):
                found.add(_literal_keys(steps[place + 1 :]))
            elif step.argval == "config" and step.opname.startswith(ATTRIBUTES):
                found.add(WHOLE)
    return found


def _literal_keys(steps: list[dis.Instruction]) -> Key:
    key: list[str] = []
    for constant, lookup in zip(steps[::2], steps[1::2], strict=False):
        if not (constant.opname == "LOAD_CONST" and isinstance(constant.argval, str) and lookup.opname in LOOKUPS):
            break
        key.append(constant.argval)
    return tuple(key)
