"""Files that are whole or absent: temporary name, fsync, rename."""

import contextlib
import json
import os
import shutil
import tempfile
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
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fchmod(stream.fileno(), 0o644)
            os.fsync(stream.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    _sync_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """`write_bytes` for text (UTF-8)."""
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    """`value` as indented JSON with sorted keys: equal values give equal bytes."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n")


def place(source: Path, target: Path) -> None:
    """Let `target` hold the content of `source` in one step, without a copy where the file system can link.

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
