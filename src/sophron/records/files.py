"""Reading files that a person, a model or a broken disk may have left: only where they are regular, and never waiting.

Standard library only: the gate reads through it.
"""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from sophron.records.errors import UserError, of_system

MAX_BYTES = 4_000_000
"""Largest document that is read."""


@contextmanager
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
    """Return the content of a regular file of UTF-8 text; UserError if it is none."""
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not UTF-8 text; save it as plain UTF-8") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def load_json(path: Path) -> Any:
    """Return a JSON file as plain data; UserError if it is not JSON (NaN is none)."""
    try:
        return json.loads(read_bytes(path, MAX_BYTES), parse_constant=_no_constant)
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
