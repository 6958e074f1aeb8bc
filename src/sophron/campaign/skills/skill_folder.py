"""Read a skill in the Agent Skills format: a folder with a SKILL.md, whole and once, with one digest for all its files.

What was read is what is used: the texts that an agent gets and the scripts that its sandbox sees come from the bytes
whose digest was signed, whatever happens to the folder afterwards.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from sophron.records import documents
from sophron.records.digests import digest
from sophron.records.errors import UserError, shown
from sophron.records.files import read_bytes, read_text, write_bytes
from sophron.records.strict_yaml import parse

SKILL_FILE = "SKILL.md"
FENCE = "---\n"
MOST_FILES, MOST_BYTES = 500, 20_000_000
WHOLE = {"disclosure": "whole"}
"""Metadata of a skill whose text stands in the prompt of every agent that has it."""
IGNORED = ("__pycache__", ".git", ".DS_Store")


@dataclass(frozen=True)
class Skill:
    """A skill. front: what its SKILL.md says of it; body: its text; files: path below its folder -> bytes.

    A plain text `<name>.md` has no files: its text is all that there is.
    """

    name: str
    body: str
    path: Path
    front: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def description(self) -> str:
        """What it does and when it is to be used, on one line."""
        return " ".join(str(self.front.get("description", "")).split())

    @property
    def whole(self) -> bool:
        """Whether its text stands in each prompt; else an agent with tools is shown its description first."""
        return not self.files or WHOLE.items() <= dict(self.front.get("metadata", {})).items()

    @cached_property
    def digest(self) -> str:
        """Digest of the paths and bytes of all its files."""
        return digest({name: sha256(content).hexdigest() for name, content in self.files.items()})

    def write(self, folder: Path) -> None:
        """Write its files below `folder`; a script may be run, if it begins with `#!`."""
        for name, content in self.files.items():
            write_bytes(folder / name, content)
            if content.startswith(b"#!"):
                (folder / name).chmod(0o755)


def find(folders: list[Path], name: str) -> Skill:
    """Return the skill `name` of the first folder that has it: `<name>/SKILL.md`, or a plain text `<name>.md`.

    UserError if none has, or it is not valid.
    """
    for folder in folders:
        if (folder / name / SKILL_FILE).is_file():
            return read(folder / name)
        if (path := folder / f"{name}.md").is_file():
            return Skill(name, read_text(path), path)
    raise UserError(f'there is no skill "{shown(name)}"; put it into agents/skills/{shown(name)}/{SKILL_FILE}')


def read(folder: Path) -> Skill:
    """Read and check a folder. UserError with file, line and key if it is not a skill, or holds what no skill may."""
    return of_files(folder, dict(files_of(folder)))


def of_files(folder: Path, files: Mapping[str, bytes]) -> Skill:
    """Return the skill that files make up. folder: where they are, or are to be. UserError as of `read`."""
    path = folder / SKILL_FILE
    if SKILL_FILE not in files:
        raise UserError(f"{path}: there is no such file; a skill is a folder with a {SKILL_FILE}")
    try:
        text = files[SKILL_FILE].decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not UTF-8 text; save it as plain UTF-8") from None
    if not text.startswith(FENCE) or FENCE not in text[len(FENCE) :]:
        raise UserError(f"{path}:1: has no front matter; begin with a line `---`, keys, and a line `---`")
    head, body = text[len(FENCE) :].split(FENCE, 1)
    data, lines = parse(f"\n{head}".encode(), str(path))
    document = documents.Document(data, path, lines)
    documents.validate(document, "skill")
    if data["name"] != folder.resolve().name:
        raise UserError(f"{document.where(['name'])}: the skill must be called as its folder, {shown(folder.name)}")
    return Skill(data["name"], body, path, data, files)


def files_of(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (path, bytes) of each file, in order. UserError for a link, a device, or more than a skill may hold."""
    if folder.is_symlink() or not folder.is_dir():
        raise UserError(f"{folder}: is not a folder; name the folder that holds {SKILL_FILE}")
    found, size = 0, 0
    for above, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in IGNORED)
        for name in sorted([*folders, *names]):
            path = Path(above) / name
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode) or name in IGNORED:
                continue
            if not stat.S_ISREG(mode):
                raise UserError(f"{path}: is a link or device, which a skill may not hold; copy what it points to")
            content = read_bytes(path, MOST_BYTES)
            found, size = found + 1, size + len(content)
            if found > MOST_FILES or size > MOST_BYTES:
                raise UserError(
                    f"{folder}: holds more than {MOST_FILES} files or {MOST_BYTES // 1_000_000} MB; shorten it"
                )
            yield path.relative_to(folder).as_posix(), content
