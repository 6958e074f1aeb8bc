"""Paths of tools: `scratch/...` or `<input>/...`, never of the machine, opened without leaving their folder.

A check of a path followed by its use can be raced; a chain of descriptors cannot. Each component is opened relative
to the one before (openat(2) with O_NOFOLLOW), so that a link, planted at any moment, ends the walk.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from sophron.records.errors import UserError, shown

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_HANDLE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


class OutsideError(Exception):
    """A path that is not a plain file or folder below its root; the message is for the model."""


@contextmanager
def folder(root: Path, parts: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """Yield a descriptor of the folder `parts` below `root`; with `make`, missing ones are made.

    Raises OutsideError for a link or a file on the way, FileNotFoundError if it is not there.
    """
    handle = os.open(root, _FOLDER)
    try:
        for part in parts:
            _plain(part)
            if make:
                _make_folder(part, handle)
            inner = _enter(part, handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def _make_folder(part: str, handle: int) -> None:
    try:
        os.mkdir(part, 0o755, dir_fd=handle)
    except FileExistsError:
        return


def _enter(part: str, handle: int) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=handle)
    except FileNotFoundError:
        raise
    except OSError:  # ELOOP or ENOTDIR, by kernel and file system
        raise OutsideError("a part of the path is a link or no folder, and links are not followed") from None


def _plain(part: str) -> None:
    if part in ("", ".", "..") or "/" in part or "\0" in part:
        raise OutsideError('a path is made of plain names, without ".." or empty parts')


@contextmanager
def regular(parent: int, name: str, *, one_name: bool) -> Iterator[int]:
    """Yield a descriptor, for reading, of the regular file `name` in the folder `parent`.

    It is first opened as a mere handle, which neither waits for a FIFO's other end nor touches a device; what the
    handle shows to be a regular file is then opened through that same handle. one_name: refuse a file that has
    another (hard-linked) name. Raises OutsideError, or FileNotFoundError.
    """
    _plain(name)
    handle = os.open(name, _HANDLE, dir_fd=parent)
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise OutsideError(f"it is a {kind(about)}, not a regular file")
        if one_name and about.st_nlink > 1:
            raise OutsideError("it is a hard link to a file that has another name too; copy it and read the copy")
        opened = os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(handle)
    try:
        yield opened
    finally:
        os.close(opened)


def put(parent: int, name: str, data: bytes) -> None:
    """Write `data` as the file `name` in the folder `parent`, in one step.

    A link, FIFO or hard link of that name is replaced, never written through. Raises OutsideError if it is a folder.
    """
    _plain(name)
    temporary = f".{token_hex(8)}.tmp"
    handle = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=parent
    )
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except IsADirectoryError:
        os.unlink(temporary, dir_fd=parent)
        raise OutsideError("there is a folder of that name") from None
    except BaseException:
        os.unlink(temporary, dir_fd=parent)
        raise


def kind(about: os.stat_result) -> str:
    """Return what an entry is, in a word."""
    tests = (
        (stat.S_ISREG, "file"),
        (stat.S_ISDIR, "folder"),
        (stat.S_ISLNK, "link"),
        (stat.S_ISFIFO, "FIFO"),
        (stat.S_ISSOCK, "socket"),
    )
    return next((word for test, word in tests if test(about.st_mode)), "device")


SCRATCH = "scratch"


@dataclass(frozen=True)
class Place:
    """One path below a root. root: a folder, or a single input file (then `parts` is empty)."""

    root: Path
    parts: tuple[str, ...]
    writable: bool


class Places:
    """The roots of a step by name: its scratch, and its declared inputs (files or folders).

    scratch and inputs are paths that the step names, so links in them are followed once, here; below them none is.
    Raises UserError if one is missing, is neither file nor folder, or lies in scratch and leads out of it.
    """

    def __init__(self, scratch: Path, inputs: Mapping[str, Path]) -> None:
        if SCRATCH in inputs:
            raise UserError(f'an input is called "{SCRATCH}", which is the name of the work folder; rename the input')
        self._asked = {SCRATCH: scratch.absolute(), **{name: path.absolute() for name, path in inputs.items()}}
        self.roots = {name: _resolve(path) for name, path in self._asked.items()}
        home = self.roots[SCRATCH]
        for name, path in self.roots.items():
            if _within(self._asked[name], self._asked[SCRATCH], home) and home not in (path, *path.parents):
                raise UserError(f"{self._asked[name]}: leads out of the work folder; name the file that it points to")

    def find(self, path: str) -> Place:
        """Return the place that a model's `path` names; OutsideError with one sentence if it names none."""
        for name, root in self._asked.items():
            for whole in (str(root), str(self.roots[name])):
                if path == whole or path.startswith(f"{whole}/"):
                    return self._place(name, path[len(whole) :].strip("/"))
        name, _, rest = path.strip("/").partition("/")
        if path.startswith("/") or name not in self.roots:
            raise OutsideError(f'"{shown(path)}" is outside; paths begin with {", ".join(self.roots)}')
        return self._place(name, rest.rstrip("/"))

    def _place(self, name: str, rest: str) -> Place:
        parts = tuple(rest.split("/")) if rest else ()
        if ".." in parts:
            raise OutsideError('".." is refused; name the path from its beginning')
        if parts and self.roots[name].is_file():
            raise OutsideError(f'"{name}" is a file, so nothing lies below it')
        return Place(self.roots[name], tuple(part for part in parts if part != "."), name == SCRATCH)


def _resolve(path: Path) -> Path:
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise UserError(f"{path}: a tool's root does not exist; make it first") from None
    if not (target.is_file() or target.is_dir()):
        raise UserError(f"{path}: is neither a file nor a folder, so no tool can read it; grant something else")
    return target


def _within(path: Path, *folders: Path) -> bool:
    return any(folder in path.parents for folder in folders)
