"""Read a Dockerfile as a recipe that needs no Docker: a Python, Debian packages, requirements, copies and commands.

It is an account of what the author wrote and no lock file: what is resolved when it is rebuilt is recorded then. Each
instruction that cannot be rebuilt is refused by name, with its line.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from sophron.records.errors import UserError, shown
from sophron.records.files import read_text
from sophron.tasks.run_instruction import (
    SYSTEM,
    NotRebuiltError,
    Packages,
    Requirements,
    ShellLine,
    Skipped,
    pieces,
)

SYSTEM_PYTHON: Mapping[str, str] = {
    "ubuntu:20.04": "3.8",
    "ubuntu:22.04": "3.10",
    "ubuntu:24.04": "3.12",
    "ubuntu:jammy": "3.10",
    "ubuntu:noble": "3.12",
    "ubuntu:latest": "3.12",
    "debian:bullseye": "3.9",
    "debian:11": "3.9",
    "debian:bookworm": "3.11",
    "debian:12": "3.11",
    "debian:trixie": "3.13",
    "debian:13": "3.13",
}
"""Base image -> the Python of its package python3."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OF_HARBOR = ("tmux", "asciinema")
"""Debian packages with which Harbor looks at its agents; its images have them for that alone."""
SHELLS = ("sh", "bash", "/bin/sh", "/bin/bash", "tail", "sleep")
HIDDEN = ("tests", "solution", "logs")
"""Top folders of the container that only the verify step and the oracle fill."""
READ = ("FROM", "ARG", "ENV", "WORKDIR", "COPY", "ADD", "RUN", "USER", "ENTRYPOINT", "CMD", "HEALTHCHECK", "SHELL")
SILENT = ("LABEL", "EXPOSE", "MAINTAINER", "STOPSIGNAL", "VOLUME")

_OFFICIAL = re.compile(r"^(?:(?:docker\.io|index\.docker\.io|public\.ecr\.aws/docker|mirror\.gcr\.io)/)?(?:library/)?")
"""Where the official images are fetched from; they are the same ones."""
_PYTHON_IMAGE = re.compile(r"python:(3\.\d+)(?:\.\d+)?(?:-(?:slim|bookworm|trixie|bullseye))*")
_UV_IMAGE = re.compile(r"ghcr\.io/astral-sh/uv:(?:[0-9.]+-)?python(3\.\d+)(?:-\w+)*")
_BENCH_IMAGE = re.compile(r"ghcr\.io/laude-institute/t-bench/(ubuntu|python)-(\d+)-(\d+)(?::\w+)?")
_INSTRUCTION = re.compile(r"\s*([A-Za-z]+)(?:\s+(.*))?", re.DOTALL)
_PLACE = re.compile(r"/[\w.-]+(?:/[\w.-]*)*")
_FIELD = re.compile(r"\\(\$)|\$(?:(\w+)|\{(\w+)(?::([-+])([^}]*))?\})")
_PAIR = re.compile(r"""([A-Za-z_]\w*)=((?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s"'\\])*)""", re.DOTALL)


@dataclass(frozen=True)
class Instruction:
    """One instruction. line: where it begins, from 1; text: without its name, continuation lines joined."""

    line: int
    name: str
    text: str


@dataclass(frozen=True)
class Copy:
    """Files of the build context. sources: patterns; target: absolute; into: whether it is a folder."""

    line: int
    sources: tuple[str, ...]
    target: str
    into: bool
    mode: str = ""


@dataclass(frozen=True)
class Command:
    """A shell line, the folder that it runs in, and its variables."""

    line: int
    shell: str
    workdir: str
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    """What a Dockerfile comes to.

    python: version of the interpreter, `3.12`; packages: of Debian, to be there; requirements: calls of pip in their
    order; steps: copies and commands in their order; env: as it is at the end; workdir: absolute; notes: what is left
    out, a sentence each.
    """

    base: str
    python: str
    packages: tuple[str, ...]
    requirements: tuple[Requirements, ...]
    steps: tuple[Copy | Command, ...]
    env: Mapping[str, str]
    workdir: str
    notes: tuple[str, ...] = ()

    @property
    def folders(self) -> tuple[str, ...]:
        """Return the top folders of the container that the task has as its own, sorted."""
        places = [self.workdir, *(step.target if isinstance(step, Copy) else step.workdir for step in self.steps)]
        made = [word for step in self.steps if isinstance(step, Command) for word in step.shell.split()]
        plain = (place.strip("\"'") for place in (*places, *made))
        tops = {PurePosixPath(place).parts[1:2] for place in plain if _PLACE.fullmatch(place)}
        return tuple(sorted(top[0] for top in tops if top and top[0] not in (*SYSTEM, *HIDDEN, "tmp")))


def read(path: Path) -> Recipe:
    """Return the recipe of a Dockerfile; UserError for the first instruction that cannot be rebuilt."""
    recipe, refusals = examine(path)
    if refusals:
        raise UserError(refusals[0])
    return recipe


def examine(path: Path) -> tuple[Recipe, list[str]]:
    """Return what can be rebuilt, and a sentence for each instruction that cannot."""
    reader = _Reader(path)
    for instruction in _last_stage(path, list(instructions(path))):
        reader.take(instruction)
    return reader.recipe(), reader.refusals


def instructions(path: Path) -> Iterator[Instruction]:
    """Yield the instructions of a Dockerfile; comments inside continued lines are left out, as Docker does."""
    begun, text = 0, ""
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.strip().startswith("#"):
            if re.fullmatch(r"#\s*escape\s*=\s*`", line.strip()):
                raise UserError(f"{path}:{number}: another escape character is not read; use the backslash")
            continue
        if not begun and not line.strip():
            continue
        begun = begun or number
        continued = line.rstrip().endswith("\\")
        text += line.rstrip().removesuffix("\\") + " " if continued else line
        if continued or not text.strip():
            continue
        yield _instruction(path, begun, text)
        begun, text = 0, ""
    if text.strip():
        yield _instruction(path, begun, text)


def _instruction(path: Path, line: int, text: str) -> Instruction:
    found = _INSTRUCTION.fullmatch(text)
    if found is None:
        raise UserError(f"{path}:{line}: is not an instruction of a Dockerfile ({shown(text)}); correct the line")
    return Instruction(line, found[1].upper(), (found[2] or "").strip())


def _last_stage(path: Path, found: Sequence[Instruction]) -> list[Instruction]:
    """The instructions of the last stage, behind the ARGs that stand before the first one."""
    starts = [number for number, one in enumerate(found) if one.name == "FROM"]
    if not starts:
        raise UserError(f"{path}: has no FROM, so that nothing says which Python it is; add one")
    return [*(one for one in found[: starts[0]] if one.name == "ARG"), *found[starts[-1] :]]


class _Reader:
    """Takes instructions one by one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.refusals: list[str] = []
        self.notes: list[str] = []
        self.base, self.python, self.workdir = "", "", "/"
        self.packages: list[str] = []
        self.requirements: list[Requirements] = []
        self.steps: list[Copy | Command] = []
        self.env: dict[str, str] = {"PATH": PATH}
        self.arguments: dict[str, str] = {}

    def recipe(self) -> Recipe:
        return Recipe(
            self.base,
            self.python,
            tuple(dict.fromkeys(self.packages)),
            tuple(self.requirements),
            tuple(self.steps),
            dict(self.env),
            self.workdir,
            tuple(dict.fromkeys(self.notes)),
        )

    def take(self, one: Instruction) -> None:
        if one.name in SILENT:
            self.notes.append(f"{self.path.name}:{one.line}: {one.name} means nothing without a container")
            return
        try:
            self._method(one)(one)
        except NotRebuiltError as refusal:
            self.refusals.append(f"{self.path}:{one.line}: {one.name}: {refusal}")

    def _method(self, one: Instruction) -> Callable[[Instruction], None]:
        if "<<" in one.text and one.name in ("RUN", "COPY", "ADD"):
            raise NotRebuiltError("holds a document (<<); put it into a file of environment/")
        method: Callable[[Instruction], None] | None = getattr(self, f"_{one.name.lower()}", None)
        if method is None or one.name not in READ:
            raise NotRebuiltError("is not an instruction that is read; remove it")
        return method

    def _from(self, one: Instruction) -> None:
        words = [word for word in self._filled(one.text).split() if not word.startswith("--")]
        self.base = words[0] if words else ""
        self.python = python_of(self.base)
        if not self.python:
            raise NotRebuiltError(
                f"{shown(self.base)} is a base that is not known here; begin with python:3.x or ubuntu:24.04"
            )

    def _arg(self, one: Instruction) -> None:
        for word in one.text.split():
            name, _, value = word.partition("=")
            self.arguments[name] = self._filled(value.strip("\"'"))

    def _env(self, one: Instruction) -> None:
        before = dict(self.env)
        pairs = _PAIR.findall(one.text)
        if not pairs or not one.text.lstrip().startswith(f"{pairs[0][0]}="):
            name, _, value = one.text.partition(" ")
            pairs = [(name, value.strip())]
        for name, value in pairs:
            self.env[name] = self._filled(_plain(value), before)

    def _workdir(self, one: Instruction) -> None:
        self.workdir = self._absolute(self._filled(_plain(one.text)))

    def _copy(self, one: Instruction) -> None:
        flags, words = self._paths(one)
        if "--from" in flags:
            if not flags["--from"].startswith("ghcr.io/astral-sh/uv"):
                raise NotRebuiltError(f"takes files from {shown(flags['--from'])}, another image; COPY them yourself")
            self.notes.append(f"{self.path.name}:{one.line}: uv is not installed: its calls are those of a stub")
            return
        if "--chown" in flags:
            self.notes.append(f"{self.path.name}:{one.line}: --chown: there is one user in a sandbox")
        if len(words) < 2:
            raise NotRebuiltError("names no source and target; write COPY source target")
        *sources, target = words
        for source in sources:
            if ".." in PurePosixPath(source).parts:
                raise NotRebuiltError(f"{shown(source)} leads out of environment/; keep the files there")
        into = len(sources) > 1 or target.endswith("/") or target in (".", "./")
        place = self._absolute(target)
        self._refuse_place(place)
        self.steps.append(Copy(one.line, tuple(sources), place, into, flags.get("--chmod", "")))

    def _add(self, one: Instruction) -> None:
        _, words = self._paths(one)
        for source in words[:-1]:
            if "://" in source or source.startswith("git@"):
                raise NotRebuiltError(f"fetches {shown(source)}; put it into environment/ and COPY it")
            if re.search(r"\.(tar|tgz|tbz2|txz|tar\.\w+)$", source):
                raise NotRebuiltError(f"unpacks {shown(source)}; COPY it and unpack it by RUN tar")
        self._copy(one)

    def _run(self, one: Instruction) -> None:
        text = re.sub(r"^(?:--mount=type=cache\S*\s+)+", "", one.text)
        if text.startswith("--"):
            raise NotRebuiltError(f"{shown(text.split()[0])} is not done here; remove the option")
        for piece in pieces(shlex.join(_exec_form(text)) if text.startswith("[") else text):
            if isinstance(piece, Packages):
                self.packages += [name for name in piece.names if name not in OF_HARBOR]
                self.notes += [
                    f"{self.path.name}:{one.line}: {name}: of Harbor's terminal, left out"
                    for name in piece.names
                    if name in OF_HARBOR
                ]
                self.requirements += [Requirements(piece.wheels)] * bool(piece.wheels)
                self.notes += [
                    f"{self.path.name}:{one.line}: {name}: its wheel, in place of Debian's" for name in piece.wheels
                ]
            elif isinstance(piece, Requirements):
                files = tuple(map(self._absolute, piece.files))
                self.requirements.append(replace(piece, files=files))
            elif isinstance(piece, ShellLine):
                self.steps.append(Command(one.line, piece.line, self.workdir, {**self.arguments, **self.env}))
            elif isinstance(piece, Skipped):
                self.notes.append(f"{self.path.name}:{one.line}: {piece.note}")

    def _user(self, one: Instruction) -> None:
        if one.text.partition(":")[0] not in ("root", "0"):
            raise NotRebuiltError(f"{shown(one.text)}: there is one user in a sandbox; remove it")

    def _entrypoint(self, one: Instruction) -> None:
        if one.text != "[]":
            raise NotRebuiltError("a program that begins with the container is not started here; remove it")

    def _cmd(self, one: Instruction) -> None:
        words = _exec_form(one.text) if one.text.startswith("[") else one.text.split()
        if words and words[0] not in SHELLS:
            raise NotRebuiltError(f"{shown(words[0])} would run beside the task, and nothing does; remove it")

    def _healthcheck(self, one: Instruction) -> None:
        if one.text.upper() != "NONE":
            raise NotRebuiltError("waits for a service, and none is started here; remove it")

    def _shell(self, one: Instruction) -> None:
        words = _exec_form(one.text)
        if PurePosixPath((words or [""])[0]).name not in ("sh", "bash"):
            raise NotRebuiltError(f"{shown(one.text)} is not a shell that is here; use bash")

    def _paths(self, one: Instruction) -> tuple[dict[str, str], list[str]]:
        """Flags and paths of COPY and ADD, in either form."""
        flags = dict(re.findall(r"(--[a-z]+)=(\S+)", one.text))
        rest = re.sub(r"--[a-z]+(?:=\S+)?\s+", "", one.text)
        words = _exec_form(rest) if rest.startswith("[") else rest.split()
        return flags, [self._filled(_plain(word)) for word in words]

    def _absolute(self, path: str) -> str:
        parts: list[str] = []
        for part in PurePosixPath(self.workdir, path).parts[1:]:
            if part == "..":
                parts = parts[:-1]
            else:
                parts.append(part)
        return "/" + "/".join(parts)

    def _refuse_place(self, place: str) -> None:
        top = PurePosixPath(place).parts[1:2]
        if top and top[0] in HIDDEN:
            raise NotRebuiltError(f"{place} is hidden from the agent until its work is judged; copy elsewhere")
        if not top or top[0] in SYSTEM:
            raise NotRebuiltError(f"{place} is this machine's own, which cannot be changed; copy below /app")

    def _filled(self, text: str, env: Mapping[str, str] | None = None) -> str:
        """`text` with the variables that Docker fills in; one that is not set is empty."""
        known = {**self.arguments, **(self.env if env is None else env)}

        def value(found: re.Match[str]) -> str:
            if found[1]:
                return "$"
            held = known.get(found[2] or found[3], "")
            if found[4] == "+":
                return self._filled(found[5]) if held else ""
            return held or (self._filled(found[5]) if found[4] else "")

        return _FIELD.sub(value, text)


def python_of(image: str) -> str:
    """Return the Python of a base image, `3.12`; empty if the image is not known. Its digest is not looked at."""
    image = _OFFICIAL.sub("", image.partition("@")[0], count=1)
    if found := _PYTHON_IMAGE.fullmatch(image) or _UV_IMAGE.fullmatch(image):
        return found[1]
    if bench := _BENCH_IMAGE.fullmatch(image):
        version = f"{bench[2]}.{bench[3]}"
        return version if bench[1] == "python" else SYSTEM_PYTHON.get(f"ubuntu:{version}", "")
    name = image.removesuffix("-slim")
    name = re.sub(r"(debian:\d+)\.\d+", r"\1", name)  # a point release
    return SYSTEM_PYTHON.get(name, SYSTEM_PYTHON["ubuntu:latest"] if name == "ubuntu" else "")


def _plain(text: str) -> str:
    """`text` without the quotes around it or its parts."""
    return re.sub(r'"((?:[^"\\]|\\.)*)"|\'([^\']*)\'', lambda found: found[1] or found[2] or "", text.strip())


def _exec_form(text: str) -> list[str]:
    try:
        words = json.loads(text)
    except ValueError:
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise NotRebuiltError(f"{shown(text)} is not a list of texts; write it as JSON")
    return words
