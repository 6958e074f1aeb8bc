"""Join the segments of a long run: each try that continues from a restart file writes its own samples and frames.

Names in the work folder, n counting the tries: `run.<n>.{a,b,end}.restart`, `<series>.<n>.dat` (fix ave/time),
`frames.<n>.dcd`. A segment that starts at step R replaces everything after R that earlier ones wrote. The sample
at R itself stays the earlier one: a restart file of a sheared box already holds the box of the step after it.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sophron.interfaces.kind import EngineFailure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Steps = NDArray[np.int64]
    Values = NDArray[Any]

RESTART = re.compile(r"run\.(\d+)\.(?:a|b|end)\.restart")
RESTART_END = b"LammpS RestartT"
"""A restart file begins and ends with these bytes (LAMMPS itself refuses it otherwise)."""


def newest_restart(workdir: Path, series: Sequence[str] = ()) -> Path | None:
    """Return the newest restart file to go on from; None if there is none.

    Files that a kill left unfinished are passed over, and those up to which samples of a series are missing: LAMMPS
    runs on while a full disk takes them, and a run that goes on from there has a gap for good.
    """
    whole = [path for path in workdir.iterdir() if RESTART.fullmatch(path.name) and is_whole(path)]
    newest_first = sorted(whole, key=lambda path: (_number(path), path.stat().st_mtime_ns), reverse=True)
    return next((path for path in newest_first if all(_reaches(workdir, name, path) for name in series)), None)


def _reaches(workdir: Path, name: str, restart: Path) -> bool:
    """Whether the samples of a series reach a restart file without a gap."""
    import numpy as np

    step, paths = timestep_of(restart), _ordered(workdir, f"{name}.*.dat")
    if step is None or not paths:
        return step is None
    taken = [_read_series(path, 1)[0] for path in paths]
    steps = _joined([(one, one) for one in taken]).steps
    steps = steps[steps <= step]
    gaps = np.diff(steps)
    return bool(gaps.size and gaps.max() == gaps.min() and step - steps[-1] < gaps[0])


def _number(path: Path) -> int:
    return int(path.name.split(".")[1])


def is_whole(path: Path) -> bool:
    """Return whether a restart file was written to its end."""
    with path.open("rb") as stream:
        begin = stream.read(len(RESTART_END))
        stream.seek(-min(2 * len(RESTART_END), path.stat().st_size), os.SEEK_END)
        return begin == RESTART_END and RESTART_END in stream.read() and stream.tell() > 2 * len(RESTART_END)


def timestep_of(path: Path) -> int | None:
    """Return the time step at which a restart file was written, from its header; None if that is not to be read.

    The header is a list of (flag, value) from byte 24 on; flags 0 and 4 (version, units) hold texts with their length
    before them, 5 the time step in 8 bytes, the others before it 4 bytes (write_restart.cpp of LAMMPS).
    """
    head = path.read_bytes()[:4096]
    place = 24
    while place + 12 <= len(head):
        flag, value = struct.unpack_from("<ii", head, place)
        if flag == 5:
            return int(struct.unpack_from("<q", head, place + 4)[0])
        place += 8 + (value if flag in (0, 4) and 0 <= value < len(head) else 0)
    return None


def next_number(workdir: Path, series: Iterable[str]) -> int:
    """Return the number of the next segment: one more than that of any that exists."""
    names = (*(f"{name}.*.dat" for name in series), "frames.*.dcd", "run.*.restart")
    return max((_number(path) for name in names for path in workdir.glob(name)), default=-1) + 1


def discard(workdir: Path, series: Iterable[str]) -> None:
    """Remove all segments and restart files, so that a run starts from its first step."""
    for name in (*(f"{name}.*.dat" for name in series), "frames.*.dcd", "run.*.restart"):
        for path in workdir.glob(name):
            path.unlink()


@dataclass(frozen=True)
class Joined:
    """A run joined from its segments, each step once and in order.

    steps: (n,); values: (n, ...), what was taken at each of them; pieces: number of segments that gave some.
    """

    steps: Steps
    values: Values
    pieces: int


def samples(workdir: Path, name: str, columns: int) -> Joined:
    """Return all samples of a series: values (n, columns), float64."""
    return _joined([_read_series(path, columns) for path in _ordered(workdir, f"{name}.*.dat")])


def frames(workdir: Path, atoms: int) -> Joined:
    """Return all trajectory frames: values (n, atoms, 3), float32, unwrapped positions in sigma."""
    import numpy as np

    empty = np.empty(0, np.int64), np.empty((0, atoms, 3), np.float32)
    return _joined([empty, *(read_frames(path) for path in _ordered(workdir, "frames.*.dcd"))])


def check_complete(steps: Steps, name: str, last_step: int, every: int) -> None:
    """Raise EngineFailure unless `steps` are exactly 0, every, 2 every, ..., last_step."""
    import numpy as np

    planned = np.arange(0, last_step + 1, every)
    if not np.array_equal(steps, planned):
        missing = np.setdiff1d(planned, steps)
        where = f"first at step {missing[0]}" if missing.size else "and some are there twice"
        raise EngineFailure(f"{name}: {missing.size} of {planned.size} samples are missing, {where}")


def _ordered(workdir: Path, pattern: str) -> list[Path]:
    return sorted(workdir.glob(pattern), key=_number)


def _joined(segments: Sequence[tuple[Steps, Values]]) -> Joined:
    """Segments in order of their tries; each replaces what earlier ones have after its first step."""
    import numpy as np

    if not segments:
        raise EngineFailure("LAMMPS wrote no samples")
    joined_steps, joined = segments[0]
    source = np.zeros(joined_steps.size, np.int64)
    for number, (steps, values) in enumerate(segments[1:], 1):
        if steps.size:
            kept = joined_steps <= steps[0]
            new = ~np.isin(steps, joined_steps[kept])
            joined = np.concatenate([joined[kept], values[new]])
            source = np.concatenate([source[kept], np.full(int(new.sum()), number)])
            joined_steps = np.concatenate([joined_steps[kept], steps[new]])
    return Joined(joined_steps, joined, int(np.unique(source).size))


def _read_series(path: Path, columns: int) -> tuple[Steps, NDArray[np.float64]]:
    """Steps and values of a `fix ave/time` file; a torn last line is left out."""
    import numpy as np

    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if whole.rpartition(b"\n#")[2].count(b"\n") < 2:  # nothing follows the last line of the head
        return np.empty(0, np.int64), np.empty((0, columns))
    rows = np.loadtxt(BytesIO(whole), ndmin=2)
    return rows[:, 0].astype(np.int64), rows[:, 1:]


MARK = 4
"""Each Fortran record stands between two 4-byte marks that hold its length."""

CELL_BYTES = 48


def read_frames(path: Path) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Steps, shape (frames,), and positions, shape (frames, atoms, 3), of one file; a torn last frame is left out.

    A file that a kill left without its header holds no frames.
    """
    import numpy as np

    data = path.read_bytes()
    offset = 0
    records = []
    for _ in range(3):  # header, titles, number of atoms
        length = int.from_bytes(data[offset : offset + MARK], "little")
        if length == 0 or offset + length + 2 * MARK > len(data):
            return np.empty(0, np.int64), np.empty((0, 0, 3), np.float32)
        records.append(data[offset + MARK : offset + MARK + length])
        offset += length + 2 * MARK
    first, every = np.frombuffer(records[0], "<i4", count=2, offset=8)
    atoms = int.from_bytes(records[2][:MARK], "little")
    axis = np.dtype([("begin", "<i4"), ("values", "<f4", (atoms,)), ("end", "<i4")])
    frame = np.dtype([("cell", "V", CELL_BYTES + 2 * MARK), ("x", axis), ("y", axis), ("z", axis)])
    frames = np.frombuffer(data, frame, count=(len(data) - offset) // frame.itemsize, offset=offset)
    positions = np.stack([frames[name]["values"] for name in "xyz"], axis=-1)
    return int(first) + int(every) * np.arange(len(frames), dtype=np.int64), positions
