"""Check and bound the parts of a caller's message, and take them as the inputs of an agent. Their text is data."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sophron.records.errors import shown
from sophron.records.files import parse_json

PART_BYTES = 16_000_000
"""Largest single file; a pattern of a hundred thousand points takes three of them."""
MESSAGE_BYTES = 32_000_000
JSON_BYTES = 1_000_000
MOST_PARTS = 32
FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
ENDINGS = {
    "application/json": "json",
    "text/plain": "txt",
    "chemical/x-cif": "cif",
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/webp": "webp",
}


class MessageError(Exception):
    """A message that is no request; one sentence for the caller."""


@dataclass(frozen=True)
class Part:
    """One part of a message as it came. role: what its metadata says it is, else ""; name: its file name, else ""."""

    role: str
    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True)
class AskedInput:
    """An input as the endpoint states it. media_types: those in which it is taken."""

    kind: str
    optional: bool
    media_types: tuple[str, ...]
    about: str = ""


Asked = Mapping[str, AskedInput]
"""Role -> the input that is asked."""


@dataclass(frozen=True)
class Given:
    """One input, checked. files: file name -> content; several for a folder, else one."""

    role: str
    kind: str
    files: Mapping[str, bytes]


def read(parts: Sequence[Part], asked: Asked) -> list[Given]:
    """Return the inputs that `parts` hold.

    A part is the input that its metadata names, else the one that its file is called after, else the only one that is
    needed. Raises MessageError with one sentence.
    """
    if len(parts) > MOST_PARTS:
        raise MessageError(f"the message has {len(parts)} parts; send {MOST_PARTS} or fewer")
    if sum(len(part.content) for part in parts) > MESSAGE_BYTES:
        raise MessageError(f"the message holds more than {MESSAGE_BYTES // 1_000_000} MB; send less")
    by_role: dict[str, list[Part]] = {}
    for part in parts:
        by_role.setdefault(_role(part, asked), []).append(part)
    missing = [role for role, about in asked.items() if role not in by_role and not about.optional]
    if missing:
        raise MessageError(f"the input {missing[0]} is missing; add a part with metadata.role = {missing[0]}")
    return [_given(role, asked[role], found) for role, found in by_role.items()]


def value(kind: str, path: Path) -> Any:
    """Return what an agent is told of a stored input: parsed JSON, text, or the path of a picture, file or folder."""
    if kind == "json":
        return json.loads(path.read_bytes())
    return path.read_text(encoding="utf-8") if kind == "text" else path


def _role(part: Part, asked: Asked) -> str:
    known = ", ".join(asked) or "none"
    if part.role:
        if part.role not in asked:
            raise MessageError(f'there is no input "{shown(part.role)}"; known are {known}')
        return part.role
    if Path(part.name).stem in asked:
        return Path(part.name).stem
    needed = [role for role, about in asked.items() if not about.optional]
    if len(needed) == 1:
        return needed[0]
    raise MessageError(f"a part does not say which input it is; set its metadata.role to one of {known}")


def _given(role: str, about: AskedInput, parts: Sequence[Part]) -> Given:
    kind = about.kind
    if len(parts) > 1 and kind != "folder":
        raise MessageError(f"the input {role} is there {len(parts)} times; send it once")
    files: dict[str, bytes] = {}
    for part in parts:
        if part.media_type and part.media_type not in about.media_types:
            known = ", ".join(about.media_types)
            raise MessageError(f"the input {role} is not taken as {shown(part.media_type)}; known are {known}")
        _check_content(role, kind, part)
        name = _file_name(role, kind, part)
        if name in files:
            raise MessageError(f"the input {role} holds two files called {name}; give each a name of its own")
        files[name] = part.content
    return Given(role, kind, files)


def _check_content(role: str, kind: str, part: Part) -> None:
    if len(part.content) > (JSON_BYTES if kind == "json" else PART_BYTES):
        raise MessageError(f"the input {role} is larger than it may be; send less")
    if kind == "image" and not part.media_type:
        raise MessageError(f"the input {role} does not say what kind of picture it is; set its mediaType")
    try:
        if kind == "json":
            parse_json(part.content)
        elif kind == "text":
            part.content.decode()
    except (ValueError, RecursionError):
        raise MessageError(
            f"the input {role} is no {'JSON' if kind == 'json' else 'text in UTF-8'}; correct it"
        ) from None


def _file_name(role: str, kind: str, part: Part) -> str:
    """A name of ours, but in folders, where names tell files apart; of a file its ending stays, which readers go by."""
    ending = Path(part.name).suffix
    if kind == "file" and FILE_NAME.fullmatch(f"x{ending}"):
        return f"{role}{ending}"
    if kind != "folder":
        return f"{role}.{ENDINGS.get(part.media_type, 'json' if kind == 'json' else 'txt')}"
    if not FILE_NAME.fullmatch(part.name):
        raise MessageError(f'"{shown(part.name)}" is no file name that is taken; use letters, digits, "_", "-" and "."')
    return part.name
