"""What a RUN line of a Dockerfile comes to without a container: Debian packages, requirements of pip, plain commands.

A chain of simple commands is taken apart. Other shell code is one command, unless it fetches or installs something:
such a mixture is refused by name.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from sophron.records.errors import shown


class NotRebuiltError(Exception):
    """An instruction that cannot be rebuilt here; a clause that says why, and a remedy."""


@dataclass(frozen=True)
class Packages:
    """Debian packages that are to be there. names: without versions; wheels: modules of Python, by names of PyPI."""

    names: tuple[str, ...]
    wheels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Requirements:
    """One call of pip. names: requirements as written; files: paths of requirement files in the container."""

    names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class ShellLine:
    """Code for a shell, run in a sandbox whose only writable folders are those of the task."""

    line: str


@dataclass(frozen=True)
class Skipped:
    """What is left out, and why."""

    note: str


Piece = Packages | Requirements | ShellLine | Skipped

CHAINED = ("&&", ";")
PLAIN = frozenset((
    "[", ":", "test", "true", "false", "set", "unset", "export", "cd", "pwd", "sh", "bash", "sleep", "python",
    "python3", "mkdir", "rmdir", "rm", "cp", "mv", "ln", "install", "touch", "truncate", "chmod", "dd", "tee", "ls",
    "find", "echo", "printf", "seq", "cat", "head", "tail", "cut", "sort", "uniq", "tr", "wc", "grep", "sed", "awk",
    "base64", "tar", "gzip", "gunzip", "zip", "unzip", "cc", "gcc", "g++", "gfortran", "make", "cmake",
))  # fmt: skip
"""Programs that make files of the task; what else a line starts is refused."""
FETCHING = ("curl", "wget", "aria2c", "rsync", "scp", "huggingface-cli", "hf", "playwright")
INSTALLING = ("apt", "apt-get", "dpkg", "pip", "pip3", "uv", "conda", "mamba", "npm", "yarn", "cargo", "go", "gem", "R")
ACCOUNTS = ("useradd", "adduser", "groupadd", "usermod", "su", "sudo", "chown", "chgrp", "passwd")
DAEMONS = ("service", "systemctl", "nohup", "cron", "sshd")
LOCAL_GIT = frozenset(
    ("init", "config", "add", "commit", "branch", "checkout", "switch", "tag", "rm", "mv", "reset", "status", "log")
)
SYSTEM = ("bin", "boot", "dev", "etc", "lib", "lib64", "proc", "run", "sbin", "sys", "usr", "var")
"""Top folders of the container that are this machine's, read-only."""

_UV_SCRIPT = re.compile(r"\b(curl|wget)\b[^|;&]*astral\.sh/uv[^|;&]*\|\s*(?:env\s+\S+\s+)?(ba)?sh\b(?:\s+-\S*)*")
_CODE = frozenset(("if", "then", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "{"))
_OPERATORS = ("|", "||", "&", "(", ")", "<", "<<", "<<<", "|&", ";;")
_READING = ("cat", "ls", "find", "test", "[", "echo", "printf", "grep", "head", "tail", "wc")
"""Programs that write only where their output goes."""
_APT_SILENT = ("update", "clean", "autoclean", "autoremove", "upgrade", "dist-upgrade", "purge", "remove")
_INTERPRETER = re.compile(
    r"python3?(?:\.\d+)?(?:-(?:pip|venv|minimal|full|is-python3|distutils|wheel|setuptools))?|python-is-python3"
)
"""What every virtual environment has."""
_MODULE = re.compile(r"python3-(?!dev$|dbg$|apt$|gi$|tk$|doc$|all|lib)([a-z0-9][\w.+-]*)")
WHEELS: Mapping[str, str] = {
    "yaml": "pyyaml", "bs4": "beautifulsoup4", "pil": "pillow", "sklearn": "scikit-learn", "skimage": "scikit-image",
    "opencv": "opencv-python-headless", "dateutil": "python-dateutil", "tz": "pytz", "magic": "python-magic",
    "docx": "python-docx", "serial": "pyserial", "zmq": "pyzmq", "openssl": "pyopenssl", "jwt": "pyjwt",
    "pycryptodome": "pycryptodomex", "git": "gitpython",
}  # fmt: skip
"""Modules of Debian whose names on PyPI are others."""
_PIP_VALUE = ("--timeout", "--retries", "--root-user-action", "--python", "--progress-bar", "--cache-dir")
_PIP_INDEX = ("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--default-index", "--index")
_PIP_TARGET = ("-t", "--target", "--prefix", "--user", "-c", "--constraint", "-e", "--editable")


def pieces(line: str) -> list[Piece]:
    """Return what a RUN line comes to, in its order. NotRebuiltError for what cannot be done here."""
    line, taken = _UV_SCRIPT.subn("true", line)
    made: list[Piece] = [Skipped("uv is not installed: its calls while grading are those of a stub")] * bool(taken)
    commands = _chain(line)
    if commands is None:
        return [*made, _code(line)]
    for operator, words in commands:
        piece = _piece(words)
        if isinstance(piece, ShellLine) and made and isinstance(made[-1], ShellLine):
            made[-1] = ShellLine(f"{made[-1].line} {operator} {piece.line}")
        else:
            made.append(piece)
    return made


def _words(line: str) -> list[str]:
    """Words and operators; quotes are kept, so that a word can be handed to a shell again."""
    lexer = shlex.shlex(line, posix=False, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        raise NotRebuiltError("its quotes do not close; close them") from None


def _chain(line: str) -> list[tuple[str, list[str]]] | None:
    """(operator before it, words) of each simple command; None if the line is more than a chain of them."""
    commands: list[tuple[str, list[str]]] = [("", [])]
    for word in _words(line):
        if word in CHAINED:
            commands.append((word, []))
        elif word in _OPERATORS or word in _CODE or "$(" in word or "`" in word or not _is_closed(word):
            return None
        else:
            commands[-1][1].append(word)
    return [(operator, words) for operator, words in commands if words]


def _is_closed(word: str) -> bool:
    """Whether a word holds whole quotes and escapes, so that the line was cut where a shell would cut it."""
    try:
        shlex.split(word)
    except ValueError:
        return False
    return True


def _code(line: str) -> ShellLine:
    """Shell code as one command. NotRebuiltError if it fetches, installs, or writes to the system."""
    words = [word.strip("\"'()`$;&|<>") for word in re.split(r"[\s;|&()`]+", line)]
    for word in words:
        name = PurePosixPath(word).name if word else ""
        if why := _refused_program(name, []):
            raise NotRebuiltError(f"shell code that calls {name}: {why}")
        if name in INSTALLING:
            raise NotRebuiltError(f"mixes {name} with other shell code; install in a RUN line of its own")
    _refuse_system(words)
    return ShellLine(line)


def _piece(words: Sequence[str]) -> Piece:
    """One simple command."""
    plain = [_unquoted(word) for word in words]
    while plain and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*=.*", plain[0], re.DOTALL):
        plain = plain[1:]
    if not plain:
        return ShellLine(" ".join(words))
    program, rest = PurePosixPath(plain[0]).name, plain[1:]
    if reader := _INSTALLERS.get(program):
        return reader(program, rest)
    if re.fullmatch(r"python[0-9.]*", program) and rest[:2] == ["-m", "pip"]:
        return _pip(program, rest[2:])
    if why := _refused_program(program, rest):
        raise NotRebuiltError(f"{program}: {why}")
    if _only_caches(program, rest):
        return Skipped(f"{' '.join(plain)}: there is no such cache")
    if not _is_run_here(program, plain[0]):
        raise NotRebuiltError(
            f"{shown(program)} is not a program that is run here; put what it makes into environment/"
        )
    _refuse_system(_redirected(plain) if program in _READING else plain[1:])
    return ShellLine(" ".join(words))


def _unquoted(word: str) -> str:
    return "".join(shlex.split(word))


def _is_run_here(program: str, path: str) -> bool:
    """Whether a program makes files of the task: a plain one, an interpreter, or one of the task's own."""
    own = "/" in path and PurePosixPath(path).parts[1:2] not in [(top,) for top in SYSTEM]
    return own or program in PLAIN or program == "git" or bool(re.fullmatch(r"python[0-9.]*", program))


def _refused_program(program: str, arguments: Sequence[str]) -> str:
    """Why a program is not run; empty if it may be."""
    if program in FETCHING:
        return "fetches something while it builds; put the file into environment/ and COPY it"
    if program in ACCOUNTS:
        return "there is one user in a sandbox; remove it"
    if program in DAEMONS:
        return "no service is started here; run the task elsewhere"
    if program == "git" and arguments:
        verb = next((word for word in arguments if not word.startswith("-")), "")
        return "" if verb in LOCAL_GIT else f"git {shown(verb)} fetches something; put the files into environment/"
    return ""


def _only_caches(program: str, arguments: Sequence[str]) -> bool:
    """Whether a command removes what package managers leave, and nothing else."""
    paths = [word for word in arguments if not word.startswith("-")]
    caches = ("/var/lib/apt/lists", "/var/cache", "/var/tmp", "/root/.cache", "/tmp", "~/.cache")  # noqa: S108 - names
    return program == "rm" and bool(paths) and all(path.startswith(caches) for path in paths)


def _redirected(words: Sequence[str]) -> list[str]:
    """The files that output goes to."""
    return [words[number + 1] for number, word in enumerate(words[:-1]) if word in (">", ">>", "&>")]


def _refuse_system(words: Sequence[str]) -> None:
    for word in words:
        path = PurePosixPath(word)
        if path.is_absolute() and len(path.parts) > 1 and path.parts[1] in SYSTEM and word != "/dev/null":
            raise NotRebuiltError(f"{shown(word)} is this machine's own, which cannot be changed; keep it below /app")


def _apt(program: str, words: Sequence[str]) -> Piece:
    verb, *rest = [word for word in words if not word.startswith("-") and "=" not in word.partition("::")[2]] or [""]
    if verb in _APT_SILENT:
        return Skipped(f"{program} {verb}: packages are those of this machine")
    if verb != "install":
        raise NotRebuiltError(f"{program} {shown(verb)} is not done here; install packages by name")
    for word in rest:
        if word.startswith(("/", "./")) or word.endswith(".deb"):
            raise NotRebuiltError(f"{program} installs the file {shown(word)}; name a package of Debian")
    return of_debian([re.split(r"[=/]", word)[0].removesuffix(":amd64") for word in rest])


def of_debian(names: Sequence[str]) -> Packages:
    """Return Debian packages, modules of Python as wheels: the Python of a task is an environment without Debian's."""
    there = [name for name in names if not _INTERPRETER.fullmatch(name)]
    modules = {name: found[1] for name in there if (found := _MODULE.fullmatch(name))}
    plain = [name for name in there if name not in modules]
    return Packages(tuple(dict.fromkeys(plain)), tuple(WHEELS.get(name, name) for name in modules.values()))


def _uv(program: str, words: Sequence[str]) -> Piece:
    if list(words[:2]) == ["pip", "install"]:
        return _pip(program, words[1:])
    raise NotRebuiltError(f"uv {shown(' '.join(words[:2]))} is not done here; install by pip or uv pip")


def _pip(program: str, words: Sequence[str]) -> Piece:
    if not words or words[0] != "install":
        if words and words[0] in ("cache", "list", "--version", "check"):
            return Skipped(f"{program} {words[0]}: makes nothing")
        raise NotRebuiltError(f"{program} {shown(' '.join(words[:1]))} is not done here; install packages by name")
    names: list[str] = []
    files: list[str] = []
    rest = iter(words[1:])
    for word in rest:
        option, _, value = word.partition("=")
        if word in ("-r", "--requirement") or option == "--requirement":
            files.append(value or next(rest, ""))
        elif option in _PIP_INDEX:
            raise NotRebuiltError(
                f"{program} takes packages from {shown(value or next(rest, ''))}; name releases of PyPI"
            )
        elif option in _PIP_TARGET:
            raise NotRebuiltError(f"{program} {option} is not done here; install into the environment itself")
        elif word in _PIP_VALUE:
            next(rest, None)
        elif not word.startswith("-"):
            names.append(_requirement(program, word))
    return Requirements(tuple(names), tuple(files))


def _requirement(program: str, word: str) -> str:
    if "://" in word or "@" in word.partition("[")[0]:
        raise NotRebuiltError(f"{program} installs from {shown(word)}; name a release of PyPI")
    if word.startswith((".", "/")) or word.endswith((".whl", ".gz", ".zip")):
        raise NotRebuiltError(f"{program} installs {shown(word)}, which is not a release; name one")
    return word


_INSTALLERS: Mapping[str, Callable[[str, Sequence[str]], Piece]] = {
    "apt": _apt,
    "apt-get": _apt,
    "pip": _pip,
    "pip3": _pip,
    "uv": _uv,
}
