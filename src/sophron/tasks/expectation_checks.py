"""Carry out the checks of an expectation on a frozen piece of work: each passes, or says in a sentence why not.

What is read was left by an agent: files are regular ones below the work folder, bounded in size, and whatever is wrong
with one is a failed check and never an error.
"""

from __future__ import annotations

import csv
import fnmatch
import math
import re
import shlex
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any

from sophron.interfaces.kind import EnvironmentFailure
from sophron.records.digests import file_digest
from sophron.records.errors import shown
from sophron.records.files import parse_json
from sophron.tasks import folder_tree
from sophron.tasks.expectations import Check, Expectation
from sophron.tasks.tool_history import RecordedCall

MOST_BYTES = 100_000_000
MOST_PIXELS = 50_000_000

Run = Callable[[str], tuple[int, str]]
"""A shell line in the sandbox of the task -> its exit code, and what it printed."""
TEST_PROGRAMS: Mapping[str, str] = {".py": "python3", ".sh": "bash"}
_SHAPES = (
    "import h5py, json, sys; found = {}; h5py.File(sys.argv[1], 'r').visititems(lambda name, one: found.update({name: "
    "list(one.shape) if hasattr(one, 'shape') else None})); print(json.dumps(found))"
)
"""Names and shapes of an HDF5 file; run in the sandbox, since the file is an agent's."""


class _NotMetError(Exception):
    """Why a check does not pass; the rest of a sentence that begins with its file."""


@dataclass(frozen=True)
class Work:
    """What is checked. folder: the frozen work folder; before: path -> sha256 as the task gave it; run: of commands.

    calls: what the worker called, as the harness recorded it; None if nothing was recorded.
    """

    folder: Path
    before: Mapping[str, str]
    run: Run
    calls: Sequence[RecordedCall] | None = None


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
    for one in _matching(check, work):
        try:
            _CHECKS[one.check](one, work)
        except _NotMetError as fault:
            yield f"{one.file}: {fault}" if one.file else str(fault)


def _matching(check: Check, work: Work) -> list[Check]:
    """One check for each file that a pattern matches; the check itself if it has no pattern, or nothing matches."""
    if "*" not in check.file or check.check in ("files", "absent"):
        return [check]
    names = sorted(str(path.relative_to(work.folder)) for path in work.folder.glob(check.file) if path.is_file())
    return [replace(check, file=name) for name in names] or [check]


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


def _plain(check: Check, work: Work) -> Path:
    path = _place(check, work)
    if not path.is_file():
        raise _NotMetError("is not a plain file")
    return path


def _file(check: Check, work: Work) -> Path:
    path = _plain(check, work)
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
    _bounded(check, "its size in bytes", _plain(check, work).stat().st_size)


def _absent(check: Check, work: Work) -> None:
    if "*" in check.file and any(work.folder.glob(check.file)):
        raise _NotMetError("is there")
    try:
        _place(check, work)
    except _NotMetError as reason:
        if "link" not in str(reason):
            return
    raise _NotMetError("is there")


def _files(check: Check, work: Work) -> None:
    _place(replace(check, file=str(PurePosixPath(check.file).parent)), work)
    _bounded(check, "the number of files", sum(path.is_file() for path in work.folder.glob(check.file)))


def _document(check: Check, work: Work) -> Any:
    """JSON of a file. Of YAML a task's own test program is the judge: its numbers are not one kind of number."""
    try:
        return parse_json(_text(check, work))
    except (ValueError, RecursionError):
        raise _NotMetError("is not JSON") from None


def _json(check: Check, work: Work) -> None:
    _document(check, work)


def _keys(check: Check, work: Work) -> None:
    array_file = Path(check.file).suffix in (".h5", ".hdf5", ".npz")
    document = _shapes(check, work) if array_file else _document(check, work)
    missing = [name for name in check.names if not isinstance(document, Mapping) or name not in document]
    if missing:
        raise _NotMetError(f"has no key {shown(missing[0])}")


def _shapes(check: Check, work: Work) -> Mapping[str, Sequence[int] | None]:
    """Name -> shape of the arrays in a file of NumPy or HDF5; the one of a .npy has no name."""
    path = _plain(check, work)
    if path.suffix in (".h5", ".hdf5"):
        code, printed = work.run(f"python3 -I -c {shlex.quote(_SHAPES)} {shlex.quote(check.file)}")
        if code and "No module named" in printed:
            raise EnvironmentFailure(f"{path}: HDF5 is read by h5py; install it: pip install h5py")
        try:
            return {name: shape and tuple(shape) for name, shape in dict(parse_json(printed)).items()}
        except (ValueError, TypeError):
            raise _NotMetError("is not HDF5") from None
    try:
        if path.suffix == ".npy":
            with path.open("rb") as stream:
                return {"": _header_shape(stream)}
        with zipfile.ZipFile(path) as members:
            return {name.removesuffix(".npy"): _header_shape(members.open(name)) for name in members.namelist()}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, SyntaxError):
        raise _NotMetError("is not a file of NumPy") from None


def _header_shape(stream: IO[bytes]) -> tuple[int, ...]:
    """The shape that the head of an array's file says; its content is not read."""
    import numpy as np

    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return tuple(read(stream)[0])


def _shape(check: Check, work: Work) -> None:
    shapes = _shapes(check, work)
    if check.key and check.key not in shapes:
        raise _NotMetError(f"has no key {shown(check.key)}")
    found = shapes[check.key] if check.key else next(iter(shapes.values()), None)
    if found is None or tuple(found) != check.shape:
        raise _NotMetError(f"{shown(check.key) or 'its array'} has another shape, {shown(str(found))}")


def _value_of(check: Check, work: Work) -> Any:
    value = _document(check, work)
    if isinstance(value, Mapping) and check.key in value:
        return value[check.key]
    for key in check.key.split("."):
        if not isinstance(value, Mapping) or key not in value:
            raise _NotMetError(f"has no key {shown(check.key)}")
        value = value[key]
    return value


def _value(check: Check, work: Work) -> None:
    value = _value_of(check, work)
    wanted = parse_json(check.text)
    if value != wanted or isinstance(value, bool) != isinstance(wanted, bool):
        raise _NotMetError(f"{shown(check.key)} is {shown(str(value), 40)}, not {shown(check.text, 40)}")


def _range(check: Check, work: Work) -> None:
    value = _value_of(check, work)
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


def _lines(check: Check, work: Work) -> None:
    _bounded(check, "the number of its lines", len(_text(check, work).splitlines()))


def _equals(check: Check, work: Work) -> None:
    if _text(check, work).strip() != check.text.strip():
        raise _NotMetError(f'is not "{shown(check.text)}"')


def _same(check: Check, work: Work) -> None:
    """A file has the content of another: as the task gave it, or as it is now if the task did not give it."""
    (other,) = check.names
    wanted = work.before.get(other) or file_digest(_plain(Check("exists", other), work))
    if file_digest(_plain(check, work)) != wanted:
        raise _NotMetError(f"is not identical to {shown(other)}")


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


def _pixels(check: Check, work: Work) -> None:
    path = _file(check, work)
    from PIL import Image

    try:
        with Image.open(path, formats=["PNG", "JPEG"]) as image:
            size = image.size
    except Exception:  # noqa: BLE001 - a hostile image may end its decoder in any way
        raise _NotMetError("is not a valid image") from None
    fits = (
        size == check.shape if check.text else all(has >= least for has, least in zip(size, check.shape, strict=True))
    )
    if not fits:
        raise _NotMetError(f"has {size[0]} x {size[1]} pixels")


def _prints(check: Check, work: Work) -> None:
    code, printed = work.run(check.command)
    if check.text not in printed:
        raise _NotMetError(f'{shown(check.command)} ended with {code} and did not print "{shown(check.text)}"')


def _succeeds(check: Check, work: Work) -> None:
    code, printed = work.run(check.command)
    if code:
        last = next((line for line in reversed(printed.splitlines()) if line.strip()), "")
        raise _NotMetError(f"{shown(check.command)} ended with {code}" + (f" ({shown(last, 200)})" if last else ""))


def _passes(check: Check, work: Work) -> None:
    """A test file ends with 0, if it is the one that the task gave."""
    path = _plain(check, work)
    if check.file in work.before and file_digest(path) != work.before[check.file]:
        raise _NotMetError("was changed")
    is_pytest = path.suffix == ".py" and (path.stem.startswith("test_") or path.stem.endswith("_test"))
    program = "python3 -m pytest -q -p no:cacheprovider" if is_pytest else TEST_PROGRAMS.get(path.suffix)
    if program is None:
        raise _NotMetError(f"is no test that can be run here; known are {', '.join(TEST_PROGRAMS)}")
    code, printed = work.run(f"{program} {shlex.quote(check.file)}")
    if code and "No module named pytest" in printed:
        raise EnvironmentFailure(f"{path}: this test is run by pytest; install it: pip install pytest")
    if code or (is_pytest and not re.search(r"\b\d+ passed", printed)):
        raise _NotMetError(f"does not pass, it ended with {code}")


def _ran(check: Check, work: Work) -> None:
    if work.calls is None:
        raise _NotMetError(f"{shown(check.command)}: nothing was recorded of what was run")
    if not any(ran(check.command, call) for call in work.calls):
        raise _NotMetError(f"{shown(check.command)} was not run")


def ran(command: str, call: RecordedCall) -> bool:
    """Return whether a call that did not fail ran a command; more arguments may follow, and others go before.

    What stands behind `||`, or behind `&&` in a line whose end says nothing of it, may not have run: it does not count.
    """
    wanted = _words(command)
    if call.failed or not call.command:
        return False
    lists = re.split(r"[;\n]|(?<!&)&(?!&)", call.command)
    for number, one in enumerate(lists):
        chain = re.split(r"&&", one.split("||")[0])
        sure = chain if number == len(lists) - 1 else chain[:1]
        if any(_words(part)[: len(wanted)] == wanted for steps in sure for part in steps.split("|")):
            return True
    return False


_BEFORE_A_COMMAND = re.compile(r"^\s*(?:[A-Za-z_]\w*=\S*\s+|(?:time|nohup|exec)\s+|timeout\s+\S+\s+)*")


def _words(command: str) -> list[str]:
    """The words of a command, without what sets its surroundings; python3 is python."""
    plain = _BEFORE_A_COMMAND.sub("", command).strip("() \t")
    words = [word.strip("'\"").removeprefix("./") for word in plain.split()]
    return ["python" if re.fullmatch(r"(?:\S*/)?python3?(?:\.\d+)?", word) else word for word in words]


def _unchanged(check: Check, work: Work) -> None:
    """The files that were given below a place, or at it, are as they were, save those that may change."""
    now = folder_tree.digests(work.folder)
    place = check.file.rstrip("/")
    names = [name for name in work.before if not place or name == place or name.startswith(f"{place}/")]
    if check.file and not names:
        raise _NotMetError("was not among the files of the task")
    # A folder is changed by a file that was added, too; what Python leaves where it imports is nobody's change.
    names += [name for name in now if place and name.startswith(f"{place}/") and "__pycache__" not in name]
    free = {name for one in check.names for name in _allowed(one, work.before)}
    changed = [name for name in names if name not in free and now.get(name) != work.before.get(name)]
    if changed:
        raise _NotMetError(f"{shown(changed[0])} {'was changed' if changed[0] in now else 'is not there'}")


def _allowed(name: str, given: Mapping[str, str]) -> list[str]:
    """The files that a name may stand for: itself, those below it, or the only one of this name in any folder."""
    named = [one for one in given if PurePosixPath(one).name == name]
    below = [one for one in given if one.startswith(f"{name.rstrip('/')}/") or fnmatch.fnmatchcase(one, name)]
    return [name, *below, *(named if len(named) == 1 and "/" not in name else [])]


_CHECKS: Mapping[str, Callable[[Check, Work], None]] = {
    "exists": _exists,
    "absent": _absent,
    "size": _size,
    "files": _files,
    "pixels": _pixels,
    "value": _value,
    "lines": _lines,
    "shape": _shape,
    "equals": _equals,
    "same": _same,
    "passes": _passes,
    "ran": _ran,
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
