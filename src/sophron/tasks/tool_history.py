"""The history of a worker's tool calls, as the harness saw them: what was called, what it showed, which files changed.

One line of JSON a call. Which files a call changed is seen by comparing the work folder before and after it, and
never taken from the worker's word or from times that it can set.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sophron.records import files
from sophron.records.digests import file_digest
from sophron.records.errors import UserError
from sophron.records.typed_json import RecordError, from_json, left_out, to_json
from sophron.tasks import folder_tree

NAME = "tool_calls.jsonl"
CLOCK_S = 2.0
"""Seconds by which a file system's clock may differ from ours."""
_Stat = tuple[int, int, int, int]


@dataclass(frozen=True)
class RecordedCall:
    """One tool call of a worker.

    arguments: as the worker gave them, such as `line` or `argv` of a command, `path` and `text` of a written file;
    output: what it was shown; failed: whether the tool said that it failed. begun, ended: seconds since 1970.
    changed: path in the work folder -> sha256 of its new content, empty if it was removed; rewritten: paths written
    again with the same content; dated: paths whose time of modification the call set to another time than its own.
    """

    tool: str
    arguments: Mapping[str, Any]
    output: str = left_out("")
    failed: bool = left_out(default=False)
    begun: float = left_out(0.0)
    ended: float = left_out(0.0)
    changed: Mapping[str, str] = field(default_factory=dict)
    rewritten: tuple[str, ...] = left_out(())
    dated: Mapping[str, float] = field(default_factory=dict)

    @property
    def command(self) -> str:
        """Return the shell line, or the words of the command; empty if no program ran."""
        line = self.arguments.get("line") or self.arguments.get("command") or ""
        return str(line) or " ".join(str(word) for word in self.arguments.get("argv", ()))

    @property
    def written(self) -> frozenset[str]:
        """Return the paths that it wrote, with new content or the same."""
        return frozenset({*(path for path, digest in self.changed.items() if digest), *self.rewritten})


def load(path: Path) -> tuple[RecordedCall, ...]:
    """Return the calls of a history in their order; none if there is no file. UserError if a line is not a call."""
    try:
        return tuple(from_json(RecordedCall, line) for line in files.read_json_lines(path)[0])
    except RecordError as error:
        raise UserError(f"{path}: is not a history of tool calls ({error}); let the attempt run again") from None


class Recorder:
    """Records the calls that change a work folder. It may be made anew for each call.

    Digests are kept beside the history, so that a call costs no more than what it changes.
    """

    def __init__(self, folder: Path, history: Path) -> None:
        self._folder, self._history = folder, history
        self._kept = history.with_suffix(".digests.json")
        self._stats = _stats(folder)
        kept = files.load_json(self._kept) if self._kept.is_file() else {}
        self._digests = {
            name: kept[name][-1] if kept.get(name, [])[:-1] == [*about] else _digest(folder, name)
            for name, about in self._stats.items()
        }

    @contextmanager
    def call(self, tool: str, arguments: Mapping[str, Any]) -> Iterator[list[tuple[str, bool]]]:
        """Record what is done inside the `with`. Append to what it yields: (what the worker is shown, failed)."""
        shown: list[tuple[str, bool]] = []
        begun = time.time()
        try:
            yield shown
        finally:
            output, failed = shown[-1] if shown else ("", True)
            self._append(RecordedCall(tool, dict(arguments), output, failed, begun, time.time()))

    def _append(self, call: RecordedCall) -> None:
        stats = _stats(self._folder)
        wrote = [name for name, about in stats.items() if self._stats.get(name) != about]
        digests = {name: _digest(self._folder, name) for name in wrote}
        changed = {name: value for name, value in digests.items() if self._digests.get(name) != value}
        changed |= {name: "" for name in self._stats if name not in stats}
        rewritten = tuple(name for name in wrote if name not in changed)
        times = {name: stats[name][0] / 1e9 for name in wrote}
        odd = {name: at for name, at in times.items() if not call.begun - CLOCK_S <= at <= call.ended + CLOCK_S}
        self._digests = {name: digests.get(name) or self._digests[name] for name in stats}
        self._stats = stats
        files.write_json(self._kept, {name: [*about, self._digests[name]] for name, about in stats.items()})
        record = replace(call, changed=changed, rewritten=rewritten, dated=odd)
        files.append_json_line(self._history, to_json(record))


def _stats(folder: Path) -> dict[str, _Stat]:
    """What tells that a regular file was written: its times, its size, its place on the disk."""
    found = {}
    for name in folder_tree.names(folder) if folder.is_dir() else ():
        about = os.lstat(folder / name)
        if stat.S_ISREG(about.st_mode):
            found[name] = (about.st_mtime_ns, about.st_ctime_ns, about.st_size, about.st_ino)
    return found


def _digest(folder: Path, name: str) -> str:
    try:
        return file_digest(folder / name)
    except OSError:  # unreadable, or removed by a program that still runs
        return "unreadable"


def changes_of(calls: Sequence[RecordedCall], path: str) -> list[int]:
    """Return the numbers of the calls that gave a file new content, or removed it."""
    return [number for number, call in enumerate(calls) if path in call.changed]
