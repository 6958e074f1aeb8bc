"""Carry out the checks of an expectation on a frozen piece of work: each passes, or says in a sentence why not.

What is read was left by an agent: files are regular ones below the work folder, bounded in size, and whatever is wrong
with one is a failed check and never an error.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from sophron.interfaces.kind import EnvironmentFailure
from sophron.records.errors import shown
from sophron.records.files import parse_json
from sophron.tasks import folder_tree
from sophron.tasks.expectations import Check, Expectation

MOST_BYTES = 100_000_000
MOST_PIXELS = 50_000_000

Run = Callable[[str], tuple[int, str]]
"""A shell line in the sandbox of the task -> its exit code, and what it printed."""


class _NotMetError(Exception):
    """Why a check does not pass; the rest of a sentence that begins with its file."""


@dataclass(frozen=True)
class Work:
    """What is checked. folder: the frozen work folder; before: path -> sha256 as the task gave it; run: of commands."""

    folder: Path
    before: Mapping[str, str]
    run: Run


@dataclass(frozen=True)
class Finding:
    """What came of one sentence. met: whether every check passed; None if no program checks it; faults: why not."""

    text: str
    met: bool | None
    faults: tuple[str, ...] = ()


def find(expectation: Expectation, work: Work) -> Finding:
    """Carry out the checks of one sentence; all of them, so that a worker hears of each."""
    if not expectation.checks:
        return Finding(expectation.text, None, (f"UNVERIFIED: no program checks {shown(expectation.why, 90)}",))
    faults = [fault for check in expectation.checks for fault in _faults(check, work)]
    return Finding(expectation.text, not faults, tuple(faults))


def _faults(check: Check, work: Work) -> Iterator[str]:
    try:
        _CHECKS[check.check](check, work)
    except _NotMetError as fault:
        yield f"{check.file}: {fault}" if check.file else str(fault)


def _place(check: Check, work: Work) -> Path:
    """The file of a check, if it is a plain one below the work folder."""
    parts = PurePosixPath(check.file).parts
    path = work.folder.joinpath(*parts)
    if ".." in parts or PurePosixPath(check.file).is_absolute():
        raise _NotMetError("leads out of the work folder")
    if not path.resolve().is_relative_to(work.folder.resolve()):
        raise _NotMetError("is a link that leads out of the work folder")
    if not path.exists():
        raise _NotMetError("is not there")
    return path


def _file(check: Check, work: Work) -> Path:
    path = _place(check, work)
    if not path.is_file():
        raise _NotMetError("is not a plain file")
    if path.stat().st_size > MOST_BYTES:
        raise _NotMetError(f"is larger than the {MOST_BYTES:,} bytes that are read")
    return path


def _text(check: Check, work: Work) -> str:
    try:
        return _file(check, work).read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise _NotMetError("is not text in UTF-8") from None


def _bounded(check: Check, name: str, value: float) -> None:
    """Raise _NotMetError for a value outside the bounds of a check."""
    low, high = check.least, check.most
    below = low is not None and (value <= low if check.open_least else value < low)
    above = high is not None and (value >= high if check.open_most else value > high)
    if below or above or not math.isfinite(value):
        raise _NotMetError(f"{name} is {value:g}, out of bounds")


def _exists(check: Check, work: Work) -> None:
    _place(check, work)


def _size(check: Check, work: Work) -> None:
    _bounded(check, "its size in bytes", _file(check, work).stat().st_size)


def _document(check: Check, work: Work) -> Any:
    """JSON of a file. Of YAML a task's own test program is the judge: its numbers are not one kind of number."""
    try:
        return parse_json(_text(check, work))
    except (ValueError, RecursionError):
        raise _NotMetError("is not JSON") from None


def _json(check: Check, work: Work) -> None:
    _document(check, work)


def _keys(check: Check, work: Work) -> None:
    document = _document(check, work)
    missing = [name for name in check.names if not isinstance(document, Mapping) or name not in document]
    if missing:
        raise _NotMetError(f"has no key {shown(missing[0])}")


def _range(check: Check, work: Work) -> None:
    value = _document(check, work)
    for key in check.key.split("."):
        if not isinstance(value, Mapping) or key not in value:
            raise _NotMetError(f"has no key {shown(check.key)}")
        value = value[key]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _NotMetError(f"{shown(check.key)} is not a number")
    _bounded(check, shown(check.key), value)


def _table(check: Check, work: Work) -> Sequence[Sequence[str]]:
    text = _text(check, work)
    separator = "\t" if check.file.endswith(".tsv") else ","
    try:
        return [row for row in csv.reader(text.splitlines(), delimiter=separator) if row]
    except csv.Error:
        raise _NotMetError("is not a table") from None


def _columns(check: Check, work: Work) -> None:
    header = [name.strip() for name in next(iter(_table(check, work)), [])]
    missing = [name for name in check.names if name not in header]
    if missing:
        raise _NotMetError(f"has no column {shown(missing[0])}")


def _rows(check: Check, work: Work) -> None:
    _bounded(check, "the number of its rows", max(0, len(_table(check, work)) - 1))


def _contains(check: Check, work: Work) -> None:
    if check.text not in _text(check, work):
        raise _NotMetError(f'does not contain "{shown(check.text)}"')


def _image(check: Check, work: Work) -> None:
    path = _file(check, work)
    try:
        from PIL import Image
    except ImportError:
        raise EnvironmentFailure(f"{path}: images are looked at by Pillow; install it: pip install pillow") from None
    kinds = [check.text.upper()] if check.text else ["PNG", "JPEG"]
    try:
        with Image.open(path, formats=kinds) as image:
            large = image.width * image.height > MOST_PIXELS
            colours = None if large else image.convert("RGB").getcolors(maxcolors=1)
    except Exception:  # noqa: BLE001 - a hostile image may end its decoder in any way
        raise _NotMetError(f"is not a valid {check.text.upper() or 'image'}") from None
    if large:
        raise _NotMetError(f"has more than {MOST_PIXELS:,} pixels")
    if colours is not None:  # None if there are more
        raise _NotMetError("is blank: all of its pixels have one colour")


def _prints(check: Check, work: Work) -> None:
    code, printed = work.run(check.command)
    if check.text not in printed:
        raise _NotMetError(f'{shown(check.command)} ended with {code} and did not print "{shown(check.text)}"')


def _succeeds(check: Check, work: Work) -> None:
    code, _ = work.run(check.command)
    if code:
        raise _NotMetError(f"{shown(check.command)} ended with {code}")


def _unchanged(check: Check, work: Work) -> None:
    """A file is as it was; without one, all files are that were given, save those that may change."""
    now = folder_tree.digests(work.folder)
    if check.file:
        names = [name for name in work.before if name == check.file or name.startswith(f"{check.file.rstrip('/')}/")]
        if not names:
            raise _NotMetError("was not among the files of the task")
    else:
        names = [name for name in work.before if name not in check.names]
    changed = [name for name in names if now.get(name) != work.before[name]]
    if changed:
        raise _NotMetError(f"{shown(changed[0])} was changed")


_CHECKS: Mapping[str, Callable[[Check, Work], None]] = {
    "exists": _exists,
    "size": _size,
    "image": _image,
    "json": _json,
    "keys": _keys,
    "range": _range,
    "columns": _columns,
    "rows": _rows,
    "contains": _contains,
    "prints": _prints,
    "succeeds": _succeeds,
    "unchanged": _unchanged,
}
