"""Append-only files of one JSON record a line: a kill leaves whole lines, or one torn line that readers skip."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sophron.records import files
from sophron.records.errors import UserError


def append(path: Path, record: Mapping[str, object], *, sync: bool = False) -> None:
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


def read(path: Path, offset: int = 0) -> tuple[list[dict[str, Any]], int]:
    """Return the records from byte `offset` on, and the offset to go on from; a line that is no JSON object is skipped.

    A last line without an end is left for the next call: its writer may still be at it.
    """
    if not path.exists():
        return [], 0
    with files.opened(path) as stream:
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
