"""Files that are whole or absent: temporary name, fsync, rename."""

import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import Any


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
    """`write_bytes` for a file that must not be there yet (FileExistsError)."""
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
    """`write_bytes` for text (UTF-8)."""
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    """`value` as indented JSON with sorted keys: equal values give equal bytes."""
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
        shutil.copyfile(source, temporary)
    temporary.replace(target)
    temporary.unlink(missing_ok=True)  # a rename between two links to one file does nothing and leaves both
    os.utime(target)  # a link shares its time with the source; Snakemake wants outputs newer than inputs


def move(source: Path, target: Path) -> None:
    """Move a file or folder, across file systems too; nothing is overwritten (FileExistsError)."""
    if target.exists():
        raise FileExistsError(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(source, target)
    _sync_folder(target.parent)
