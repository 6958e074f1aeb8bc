"""What agents remember between iterations: bounded memory, an append-only history, digest-stamped snapshots of both.

Agents are stateless; what one iteration should tell the next goes through files (SciFi, section 3.3). Memory is
Markdown at three levels: of a task run, of a task over its runs, and global. History is a tape of JSON lines.
An iteration never reads the living files: it takes a snapshot, whose name carries its digest, as an input.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sophron.records import clock, files
from sophron.records.errors import UserError, shown
from sophron.records.files import FileLock, write_bytes, write_json, write_text
from sophron.records.typed_json import from_json

LEVELS: Mapping[str, int] = {"task": 8_000, "group": 16_000, "global": 32_000}
"""Bytes that the memory of each level may have: a few pages, which every prompt of the next iteration carries."""
INDEX = "snapshot.json"
_SHARE = 4
_PINNED = " (pinned)"
_HEADER = re.compile(r"## (?P<time>\S+) (?P<by>.+?)(?P<pinned> \(pinned\))?")
_MARKED = re.compile(r"^(\\*#)", re.MULTILINE)
_UNMARKED = re.compile(r"^\\(\\*#)", re.MULTILINE)
_DIGEST_SHOWN = 16

Status = Literal["started", "pass", "fail", "stopped"]


@dataclass(frozen=True)
class Entry:
    """One thing remembered. time: from the clock; by: the step that wrote it; pinned: dropped last."""

    time: str
    by: str
    text: str
    pinned: bool = False

    @property
    def markdown(self) -> str:
        """A heading and the text. Lines of the text that begin with # get a backslash, as Markdown has it."""
        marked = _MARKED.sub(r"\\\1", self.text)
        return f"## {self.time} {self.by}{_PINNED if self.pinned else ''}\n\n{marked}\n\n"


class Memory:
    """The Markdown file at `path`, of one of LEVELS; many processes may add to it at once.

    What is dropped when an entry does not fit any more: the oldest entry that is not pinned; when all others are
    pinned, the oldest of them; never the one that is being added. An entry that alone takes over a quarter of the
    level's bytes is cut to that, and says so. A text that is there already is not stored twice: it becomes the
    newest, and stays pinned if it was.
    """

    def __init__(self, path: Path, level: str) -> None:
        self.path = path
        self.most = LEVELS[level]

    def entries(self) -> list[Entry]:
        """Return all entries, oldest first. UserError if somebody left the file in another form."""
        return _parsed(_text(self.path), self.path)

    def add(self, text: str, *, by: str, pinned: bool = False) -> list[Entry]:
        """Remember `text`; what was dropped for it, oldest first. A kill leaves the old file or the new one."""
        text = _cut(text.replace("\r\n", "\n").strip(), self.most // _SHARE)
        if not text:
            return []
        with FileLock(_lock(self.path)):
            kept = self.entries()
            pinned = pinned or any(entry.pinned for entry in kept if entry.text == text)
            kept = [entry for entry in kept if entry.text != text]
            kept.append(Entry(clock.isoformat(), shown(by), text, pinned))
            dropped = _drop(kept, self.most)
            write_text(self.path, "".join(entry.markdown for entry in kept))
        return dropped


def _drop(entries: list[Entry], most: int) -> list[Entry]:
    """Take out of `entries`, by the rule that Memory states, what is over `most` bytes."""
    dropped = []
    while sum(len(entry.markdown.encode()) for entry in entries) > most:
        old = entries[:-1]
        dropped.append(next((entry for entry in old if not entry.pinned), old[0]))
        entries.remove(dropped[-1])
    return dropped


def _cut(text: str, most: int) -> str:
    data = text.encode(errors="replace")
    if len(data) <= most:
        return data.decode()
    return f"{data[:most].decode(errors='ignore')}\n[cut: {len(data) - most} more bytes]"


def _parsed(text: str, path: Path) -> list[Entry]:
    entries: list[Entry] = []
    for block in re.split(r"^(?=## )", text, flags=re.MULTILINE):
        heading, _, body = block.partition("\n")
        match = _HEADER.fullmatch(heading)
        if match:
            plain = _UNMARKED.sub(r"\1", body.strip("\n"))
            entries.append(Entry(match["time"], match["by"], plain, match["pinned"] is not None))
        elif block.strip():
            raise UserError(
                f'{path}: "{shown(heading)}" is not under a heading "## TIME STEP"; give it one, or remove it'
            )
    return entries


@dataclass(frozen=True)
class HistoryRecord:
    """One line of a history, `schemas/history.schema.yaml`. by: the step that wrote it."""

    time: str
    by: str
    iteration: int
    status: str
    decisions: tuple[str, ...]


class History:
    """The tape at `path`: one JSON line an iteration or decision, `schemas/history.schema.yaml`; only appended to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, status: Status, *, by: str, iteration: int, decisions: Sequence[str] = ()) -> None:
        """Add one record. by: the step; decisions: sentences such as a judgment with its reason, or a new direction.

        Safe with many writers and with kills: what a kill tore is closed by the next append and skipped by readers.
        """
        with FileLock(_lock(self.path)):
            record = {"time": clock.isoformat(), "by": by, "iteration": iteration, "status": status}
            files.append_json_line(self.path, {**record, "decisions": [*decisions]}, sync=True)

    def read(self) -> list[HistoryRecord]:
        """Return all whole records, oldest first."""
        return [from_json(HistoryRecord, record) for record in files.read_json_lines(self.path)[0]]


def snapshot(sources: Mapping[str, Path], folder: Path) -> dict[str, Path]:
    """Copy memories and histories, as they are at one moment, into `folder`: role -> `<role>-<digest><suffix>`.

    The names carry the first 16 digits of the content's sha256, so a changed memory is another input of the next
    iteration and an unchanged one is the same. `snapshot.json` there lists {role: {file, digest}} and is written last.
    A source that is not there yet is an empty one.
    """
    from hashlib import sha256

    with ExitStack() as stack:
        for path in sorted(sources.values()):  # one order for all, or two snapshots wait for each other
            stack.enter_context(FileLock(_lock(path), shared=True))
        contents = {role: _bytes(path) for role, path in sources.items()}
    copies, index = {}, {}
    for role, data in contents.items():
        digest = sha256(data).hexdigest()
        copies[role] = folder / f"{role}-{digest[:_DIGEST_SHOWN]}{sources[role].suffix}"
        index[role] = {"file": copies[role].name, "digest": digest}
        write_bytes(copies[role], data)
    write_json(folder / INDEX, index)
    return copies


def _lock(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _text(path: Path) -> str:
    return _bytes(path).decode(errors="replace")
