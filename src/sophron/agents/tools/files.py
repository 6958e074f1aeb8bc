"""The tools that read, list and search a step's inputs and scratch, and write into its scratch."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sophron.agents.tools import safe_open
from sophron.agents.tools.safe_open import OutsideError, Place, Places
from sophron.interfaces.model_backend import Tool
from sophron.records.errors import shown
from sophron.records.sanitize import escape_lines

READ_BYTES = 48_000
WRITE_BYTES = 1_000_000
ENTRIES = 400
HITS = 100
LINE = 300
SEARCHED_BYTES = 64_000_000
SEARCHED_FILE_BYTES = 16_000_000
DEPTH = 24

_PATH = {"type": "string", "minLength": 1, "maxLength": 4096}

TOOLS = (
    Tool(
        "read_file",
        f"Read a text file below an input or scratch: at most {READ_BYTES} bytes from byte `offset` on.",
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["path"],
            "properties": {"path": _PATH, "offset": {"type": "integer", "minimum": 0}},
        },
    ),
    Tool(
        "list_folder",
        "List a folder below an input or scratch; without a path, the names that paths begin with.",
        {"type": "object", "additionalProperties": False, "properties": {"path": _PATH}},
    ),
    Tool(
        "search_text",
        "Find the lines that hold `text` (literally, upper and lower case alike) in a file, or in all below a folder.",
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["path", "text"],
            "properties": {"path": _PATH, "text": {"type": "string", "minLength": 1, "maxLength": 200}},
        },
    ),
    Tool(
        "write_file",
        f"Write a text file below scratch, at most {WRITE_BYTES} bytes; a file of that name is replaced.",
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["path", "text"],
            "properties": {"path": _PATH, "text": {"type": "string", "maxLength": WRITE_BYTES}},
        },
    ),
)


class Files:
    """The file tools of one step. Each method raises OutsideError or OSError for what a model got wrong."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def read_file(self, path: str, offset: int = 0) -> str:
        """Return a header with the range of bytes, then the text; what is no UTF-8 shows as U+FFFD."""
        with _file(self._places.find(path)) as handle:
            size = os.fstat(handle).st_size
            begin = min(offset, size)
            data = os.pread(handle, READ_BYTES, begin)
        header = f"[{shown(path, 200)}: bytes {begin} to {begin + len(data)} of {size}]"
        return f"{header}\n{escape_lines(data.decode(errors='replace'), READ_BYTES)}"

    def list_folder(self, path: str = "") -> str:
        """Return one line an entry: kind, size in bytes, name."""
        if not path:
            return "\n".join(f"{_word(root)} {name}" for name, root in self._places.roots.items())
        place = self._places.find(path)
        if place.root.is_file():
            raise OutsideError(f'"{shown(path)}" is a file; read it')
        with safe_open.folder(place.root, place.parts) as handle:
            names = sorted(os.listdir(handle))  # noqa: PTH208 - by descriptor, not by path
            lines = [_entry(handle, name) for name in names[:ENTRIES]]
        more = [f"[{len(names) - ENTRIES} more]"] if len(names) > ENTRIES else []
        return "\n".join(lines + more) or "[empty]"

    def search_text(self, path: str, text: str) -> str:
        """Return one line a hit: file, line number, line."""
        place = self._places.find(path)
        hits: list[str] = []
        bytes_left = SEARCHED_BYTES
        for name, data in _contents(place, shown(path, 200)):
            bytes_left -= len(data)
            hits += _hits(name, data, text.casefold(), HITS - len(hits))
            if len(hits) >= HITS or bytes_left <= 0:
                return "\n".join([*hits, "[stopped here: name a smaller folder or a longer text]"])
        return "\n".join(hits) or "[no line holds it]"

    def write_file(self, path: str, text: str) -> str:
        """Write a file below scratch, and say how many bytes were written."""
        place = self._places.find(path)
        if not place.writable or not place.parts:
            raise OutsideError(f'"{shown(path)}" cannot be written; files are written below scratch only')
        data = text.encode()
        if len(data) > WRITE_BYTES:
            raise OutsideError(f"{len(data)} bytes are more than the {WRITE_BYTES} that one file may have")
        with safe_open.folder(place.root, place.parts[:-1], make=True) as handle:
            safe_open.put(handle, place.parts[-1], data)
        return f"[wrote {len(data)} bytes to {shown(path, 200)}]"


@contextmanager
def _file(place: Place) -> Iterator[int]:
    """Open a place's file and yield its descriptor. A root that is a file is opened by its name in its folder."""
    root, parts = (place.root, place.parts) if place.root.is_dir() else (place.root.parent, (place.root.name,))
    if not parts:
        raise OutsideError("it is a folder; list it")
    with (
        safe_open.folder(root, parts[:-1]) as parent,
        # What is in scratch a program may have put there; an input may well be a hard link (`records.files.place`).
        safe_open.regular(parent, parts[-1], one_name=place.writable) as handle,
    ):
        yield handle


def _contents(place: Place, asked: str) -> Iterator[tuple[str, bytes]]:
    """Name and content of each regular file at or below a place, in order of names; what is no file is left out."""
    if place.root.is_file() or _is_file(place):
        with _file(place) as handle:
            yield asked, os.pread(handle, SEARCHED_FILE_BYTES, 0)
        return
    with safe_open.folder(place.root, place.parts) as top:
        for above, folders, names, handle in os.fwalk(".", dir_fd=top):
            folders[:] = sorted(folders) if above.count("/") < DEPTH else []
            for name in sorted(names):
                try:
                    with safe_open.regular(handle, name, one_name=place.writable) as opened:
                        data = os.pread(opened, SEARCHED_FILE_BYTES, 0)
                except (OutsideError, OSError):
                    continue
                yield "/".join((asked, *above.split("/")[1:], name)), data


def _is_file(place: Place) -> bool:
    with safe_open.folder(place.root, place.parts[:-1]) as parent:
        return bool(place.parts) and stat.S_ISREG(os.lstat(place.parts[-1], dir_fd=parent).st_mode)


def _hits(name: str, data: bytes, text: str, most: int) -> list[str]:
    hits: list[str] = []
    for number, line in enumerate(data.decode(errors="replace").split("\n"), 1):
        if len(hits) == most:
            break
        if text in line.casefold():
            hits.append(f"{shown(name, 200)}:{number}: {escape_lines(line, LINE)}")
    return hits


def _word(root: Path) -> str:
    return "file" if root.is_file() else "folder"


def _entry(handle: int, name: str) -> str:
    about = os.lstat(name, dir_fd=handle)
    return f"{safe_open.kind(about)} {about.st_size} {shown(name, 200)}"
