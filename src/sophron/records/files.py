"""Files: where they lie, read within bounds and only if regular, written whole or not at all, locked.

A person, a model or a broken disk may have left what is read, so nothing here waits for a FIFO. What is written has a
temporary name, is synced and renamed; a kill during an append leaves whole lines, or one torn line that readers skip.
A lock (flock) dies with its holder. Standard library only: the gate reads through it.
"""

import contextlib
import fcntl
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from sophron.records.errors import UserError, of_system

MAX_BYTES = 4_000_000
"""Largest document that is read."""


@contextlib.contextmanager
def opened(path: Path, most: int | None = None) -> Iterator[BinaryIO]:
    """Open a regular file for reading. UserError if it is not one (a FIFO would wait), or above `most` bytes."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            _check(path, os.fstat(handle), most)
            with os.fdopen(handle, "rb", closefd=False) as stream:
                yield stream
        finally:
            os.close(handle)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file; correct the path, or restore it") from None
    except OSError as error:
        error.filename = str(path)
        raise UserError(of_system(error)) from None


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """Return the content of a regular file; UserError as of `opened`."""
    with opened(path, most) as stream:
        return stream.read()


def _check(path: Path, about: os.stat_result, most: int | None) -> None:
    if stat.S_ISDIR(about.st_mode):
        raise UserError(f"{path}: is a folder where a file belongs; move it away")
    if not stat.S_ISREG(about.st_mode):
        raise UserError(f"{path}: is not a plain file (a FIFO, socket or device); move it away")
    if most is not None and about.st_size > most:
        raise UserError(f"{path}: larger than {most // 1_000_000} MB; a document of Sophron is small text")


def read_text(path: Path) -> str:
    """Return the content of a regular file of UTF-8 text; UserError if it is not."""
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not UTF-8 text; save it as plain UTF-8") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def parse_json(text: str | bytes, **hooks: Any) -> Any:
    """Return JSON text as plain data; ValueError for NaN and infinities too. hooks: of `json.loads`."""
    return json.loads(text, parse_constant=_no_constant, **hooks)


def load_json(path: Path) -> Any:
    """Return a JSON file as plain data; UserError if it is not JSON (NaN is not)."""
    try:
        return parse_json(read_bytes(path, MAX_BYTES))
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"{path}: is not valid JSON ({error}); restore it, or remove it to have it made again"
        ) from None


def read_json(path: Path) -> Any:
    """Return the value in a JSON file.

    Raise ValueError if it is not JSON, or nested beyond any use. UserError as of `opened`.
    """
    try:
        return json.loads(read_bytes(path))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes(path: Path, data: bytes) -> None:
    """Put `data` at `path` in one step; a reader sees the old content or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        _replace(path, path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp"), data)
    except OSError as error:
        error.filename = str(path)  # the temporary name says nothing to anybody
        raise


def _replace(path: Path, temporary: Path, data: bytes) -> None:
    # The mode is the umask's, and in a shared folder the group is the folder's: several people may work there.
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(path.parent)


def create_bytes(path: Path, data: bytes) -> None:
    """Write as `write_bytes` does a file that must not be there yet (FileExistsError)."""
    whole = path.with_name(f".{path.name}.{os.getpid()}.new")
    write_bytes(whole, data)
    try:
        os.link(whole, path)
    except FileExistsError:
        raise
    except OSError:  # a file system that cannot link
        if path.exists():
            raise FileExistsError(path) from None
        whole.replace(path)
    finally:
        whole.unlink(missing_ok=True)
    _sync_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """Write text as `write_bytes` does, in UTF-8."""
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON with sorted keys: equal values give equal bytes."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n")


def place(source: Path, target: Path) -> None:
    """Let `target` hold the content of `source` in one step, without a copy if the file system can link.

    `source` stays, so that a kill between two files of one result loses nothing.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    try:
        os.link(source, temporary)
    except OSError:  # another file system, or one that cannot link
        import shutil

        shutil.copyfile(source, temporary)
    temporary.replace(target)
    temporary.unlink(missing_ok=True)  # a rename between two links to one file does nothing and leaves both
    os.utime(target)  # a link shares its time with the source; Snakemake wants outputs newer than inputs


def move(source: Path, target: Path) -> None:
    """Move a file or folder, across file systems too; nothing is overwritten (FileExistsError)."""
    if target.exists():
        raise FileExistsError(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    import shutil

    shutil.move(source, target)
    _sync_folder(target.parent)


def append_json_line(path: Path, record: Mapping[str, object], *, sync: bool = False) -> None:
    """Add one record; the caller holds the file's lock. A line that a kill tore is closed first.

    sync: wait until it is on the disk. UserError if the disk takes only a part of it.
    """
    # ASCII alone: answers may hold lone surrogates, which UTF-8 cannot.
    line = json.dumps(record, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        size = os.fstat(handle).st_size
        if size and os.pread(handle, 1, size - 1) != b"\n":
            line = b"\n" + line
        if os.write(handle, line) != len(line):
            raise UserError(f"{path}: the disk took only a part of a record; make room")
        if sync:
            os.fsync(handle)
    finally:
        os.close(handle)


def read_json_lines(path: Path, offset: int = 0) -> tuple[list[dict[str, Any]], int]:
    """Return the records from byte `offset` on, and the offset to go on from; a line that is no JSON object is skipped.

    A last line without an end is left for the next call: its writer may still be at it.
    """
    if not path.exists():
        return [], 0
    with opened(path) as stream:
        stream.seek(offset)
        data = stream.read()
    whole = data.rfind(b"\n") + 1
    records = [_parsed(line) for line in data[:whole].split(b"\n")]
    return [record for record in records if record is not None], offset + whole


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


class LockHeldError(Exception):
    """Somebody else holds the lock."""


class FileLock:
    """A flock on `path`; the file stays, the lock ends with the process, however it ends.

    shared: many may hold it at once, an exclusive one waits for all. blocking: wait, or raise LockHeldError.
    """

    def __init__(self, path: Path, *, shared: bool = False, blocking: bool = True) -> None:
        self.path = path
        self.shared = shared
        self.blocking = blocking
        self._handle: int | None = None
        self._noted = False

    def acquire(self) -> None:
        """Take the lock."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        mode = fcntl.LOCK_SH if self.shared else fcntl.LOCK_EX
        try:
            fcntl.flock(handle, mode if self.blocking else mode | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise LockHeldError(str(self.path)) from None
        except BaseException:
            os.close(handle)
            raise
        self._handle = handle

    def fileno(self) -> int:
        """Return the descriptor of a held lock; a process that inherits it holds the lock too. ValueError if not."""
        if self._handle is None:
            raise ValueError(f"{self.path} is not held")
        return self._handle

    def note(self, text: str) -> None:
        """Write who holds the lock into its file (exclusive locks)."""
        if self._handle is not None:
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, text.encode(), 0)
            self._noted = True

    def release(self) -> None:
        """Give the lock back, without a note of a holder; harmless where it is not held."""
        if self._handle is not None:
            if self._noted:
                os.ftruncate(self._handle, 0)
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> Self:
        if self._handle is None:
            self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def resource(*parts: str) -> Path:
    """Return the path of an installed data file or folder, e.g. `resource("schemas", "campaign.schema.yaml")`."""
    return Path(__file__).parent.parent.joinpath(*parts)


def user_configuration(program: str = "sophron") -> Path:
    """Return the folder of a program's configuration; UserError for an account without a home."""
    from platformdirs import user_config_path

    try:
        return user_config_path(program, appauthor=False)
    except RuntimeError:
        raise UserError("this account has no home folder; set HOME, or XDG_CONFIG_HOME, to a folder of yours") from None


def user_state() -> Path:
    """Return the folder of what Sophron remembers beyond one campaign; UserError for an account without a home."""
    from platformdirs import user_state_path

    try:
        return user_state_path("sophron", appauthor=False)
    except RuntimeError:
        raise UserError("this account has no home folder; set HOME, or XDG_STATE_HOME, to a folder of yours") from None
