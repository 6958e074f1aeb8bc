"""The Python of a task: a virtual environment of the version that its base image has, with wheels from the index.

It is made outside the sandbox, where the index can be reached. Therefore only wheels are taken, which pip unpacks
without running anything of theirs; and nothing but the sandbox starts its Python once they are there.
"""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from sophron.records.digests import digest
from sophron.records.errors import UserError, shown
from sophron.records.files import FileLock, read_text, write_json
from sophron.records.typed_json import load, to_json
from sophron.tasks.environment import Python

LOCK = "lock.json"
"""Written last: an environment without it was never finished, and is made again."""
INSTALLED = (".pyenv/versions/{}.*/bin/python{}", ".local/share/uv/python/cpython-{}.*/bin/python{}")
"""Where tools put interpreters below a home folder, beside what is on PATH."""
VERSION_S = 20.0


@dataclass(frozen=True)
class Resolved:
    """What pip made of requirements. python: version of the interpreter; packages: `name==version`, sorted."""

    python: str
    packages: tuple[str, ...]


@cache
def interpreter(version: str) -> Path | None:
    """Return a Python of a version such as `3.12` on this machine; None if there is none."""
    on_path = shutil.which(f"python{version}")
    homes = (found for form in INSTALLED for found in sorted(Path.home().glob(form.format(version, version))))
    candidates = [*([Path(on_path)] if on_path else []), *homes]
    return next((path for path in candidates if _answers(path, version)), None)


def _answers(path: Path, version: str) -> bool:
    """Whether a program is such a Python: a shim on PATH may be there for versions that are not."""
    line = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        ran = subprocess.run(
            [path, "-I", "-c", line], check=False, capture_output=True, text=True, timeout=VERSION_S, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ran.stdout.strip() == version


def make(version: str, requirements: Sequence[str], store: Path, timeout_s: float) -> tuple[Python, Resolved]:
    """Return an environment below `store` with these requirements, made once for all tasks that want the same.

    Of two requirements of one package the later counts, as it would if pip were called twice. UserError, a sentence,
    if there is no such Python, or pip cannot install something from wheels.
    """
    base = interpreter(version)
    if base is None:
        raise UserError(
            f"Python {version} is not on this machine; install it (uv python install {version}), or name one that is "
            "there with --python"
        )
    wanted = last_of_each(requirements)
    prefix = store / digest({"python": str(base), "requirements": wanted})[:16]
    with FileLock(store / f"{prefix.name}.lock"):
        if not (prefix / LOCK).is_file():
            _build(base, prefix, wanted, timeout_s)
            write_json(prefix / LOCK, to_json(Resolved(version, tuple(sorted(_installed(prefix))))))
    return Python(prefix.absolute()), load(prefix / LOCK, Resolved)


def last_of_each(requirements: Iterable[str]) -> list[str]:
    """Return requirements with the last one of each package, sorted by name; UserError for what is not one."""
    kept: dict[str, str] = {}
    for text in requirements:
        try:
            kept[canonicalize_name(Requirement(text).name)] = text
        except InvalidRequirement:
            raise UserError(f"{shown(text)} is not a requirement of pip; write it as name==version") from None
    return [kept[name] for name in sorted(kept)]


def of_file(path: Path) -> Iterator[str]:
    """Yield the requirements of a file; UserError with its line for options, which would name other sources."""
    for number, line in enumerate(read_text(path).splitlines(), 1):
        plain = re.sub(r"(?:^|\s)#.*", "", line).strip()
        if plain.startswith("-") or "://" in plain or plain.endswith("\\"):
            raise UserError(f"{path}:{number}: {shown(plain)} is not a requirement by name; write name==version")
        if plain:
            yield plain


def _build(base: Path, prefix: Path, wanted: Sequence[str], timeout_s: float) -> None:
    if prefix.exists():
        shutil.rmtree(prefix)
    _run([str(base), "-I", "-m", "venv", str(prefix)], timeout_s, "the virtual environment cannot be made")
    if wanted:
        pip = [str(prefix / "bin" / "python3"), "-I", "-m", "pip", "install", "--only-binary", ":all:", "--no-input"]
        _run([*pip, "--disable-pip-version-check", "--quiet", *wanted], timeout_s, "pip cannot install from wheels")


def _run(command: Sequence[str], timeout_s: float, failure: str) -> None:
    try:
        ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=timeout_s, cwd="/")
    except subprocess.TimeoutExpired:
        raise UserError(f"{failure}: it took more than {timeout_s:g} s; raise build_timeout_sec") from None
    if ran.returncode:
        said = [line for line in ran.stderr.splitlines() if line.strip()]
        reason = next((line for line in reversed(said) if line.startswith("ERROR:")), said[-1] if said else "")
        raise UserError(f"{failure} ({shown(reason.removeprefix('ERROR: '), 200)}); pin what has wheels")


def _installed(prefix: Path) -> Iterator[str]:
    """What is in it, read from its files: its own Python is not started for that."""
    for site in prefix.glob("lib/python3.*/site-packages"):
        for about in importlib.metadata.distributions(path=[str(site)]):
            yield f"{canonicalize_name(about.metadata['Name'])}=={about.version}"
