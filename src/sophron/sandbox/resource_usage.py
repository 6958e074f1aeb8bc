"""Measure what a sandboxed program uses: time and memory of its processes, System V shared memory, disk space.

System V shared memory may belong to no process, and no limit of the kernel's counts it. Its list, /proc/sysvipc/shm, is
that of the namespace of whoever opens it: so it is opened inside, before the program starts, and that open file is
taken over with pidfd_getfd(2) (Linux 5.6).
"""

import ctypes
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sophron.interfaces.sandbox import Grant
from sophron.records.process_identity import stat_fields

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class ProcessUsage(NamedTuple):
    """threads; cpu_s: with ended children; resident_mb, shared_mb: what processes share is counted for each of them."""

    threads: int = 0
    cpu_s: float = 0.0
    resident_mb: float = 0.0
    shared_mb: float = 0.0


def of_processes(processes: Iterable[Path]) -> ProcessUsage:
    """Return the sum over those of `processes`, folders such as /proc/17, that have not ended."""
    sums = [ProcessUsage()]
    for process in processes:
        try:
            fields, pages = stat_fields(process), (process / "statm").read_text(encoding="ascii").split()
        except OSError:
            continue
        resident, shared = (int(count) * _PAGE_BYTES / 1e6 for count in pages[1:3])
        sums.append(ProcessUsage(int(fields[17]), sum(map(int, fields[11:15])) / _TICKS_PER_S, resident, shared))
    return ProcessUsage(*map(sum, zip(*sums, strict=True)))


_PIDFD_GETFD = 438
"""One number on every processor."""
_RESIDENT = "rss"
_LIBRARY = ctypes.CDLL(None, use_errno=True)


@contextmanager
def shared_segments(first: int, number: int) -> Iterator[int | None]:
    """Yield our copy of descriptor `number` of the only child of process `first`; None if the kernel refuses it."""
    copy = -1
    children = Path(f"/proc/{first}/task/{first}/children").read_text(encoding="ascii").split()
    for child in children:
        handle = os.pidfd_open(int(child))
        try:
            copy = _LIBRARY.syscall(_PIDFD_GETFD, handle, number, 0)
        finally:
            os.close(handle)
    try:
        yield None if copy < 0 else copy
    finally:
        if copy >= 0:
            os.close(copy)


def shared_segments_mb(handle: int | None) -> float:
    """Return the memory in MB that the segments of a list take, attached or not; 0 without a list."""
    if handle is None:
        return 0.0
    os.lseek(handle, 0, os.SEEK_SET)
    with os.fdopen(os.dup(handle), encoding="ascii") as stream:
        heads, *rows = (line.split() for line in stream)
    return sum(int(row[heads.index(_RESIDENT)]) for row in rows) / 1e6


_PERIOD_S = 0.2
_SHARE = 20
"""A look may take at most one part in so many of the time."""
_LEAST_FREE_BYTES = 100_000_000
_ENTRY_BYTES = 4096
"""What an empty file is counted as: directories and inodes take room too."""


class DiskWatch:
    """Looks, not too often, at what `grant.disk_mb` bounds: the work folder, and the files that output goes to.

    It also says "passed" if the file system has less than 100 MB left, however that came about: space can be
    taken in ways that no listing shows.
    """

    def __init__(self, grant: Grant, outputs: Sequence[Path]) -> None:
        self._most = None if grant.disk_mb is None else grant.disk_mb * 1_000_000
        self._workdir = grant.workdir
        self._outputs = outputs
        self._next = 0.0

    def passed(self, hidden: int) -> bool:
        """Return whether the limit is passed.

        `hidden`: bytes in files that are deleted but open, which no folder lists.
        """
        started = time.monotonic()
        if self._most is None or started < self._next:
            return False
        left = self._most - hidden
        for size in self._sizes():
            left -= size
            if left < 0:
                return True
        room = os.statvfs(self._workdir)
        taken = time.monotonic() - started
        self._next = started + max(_PERIOD_S, _SHARE * taken)
        return room.f_bavail * room.f_frsize < _LEAST_FREE_BYTES

    def _sizes(self) -> Iterator[int]:
        yield from (path.stat().st_size for path in self._outputs)
        yield from _below(self._workdir)


def _below(folder: Path | str) -> Iterator[int]:
    """Bytes of each entry below a folder, of those that can be seen while a program is changing them."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                about = entry.stat(follow_symlinks=False)
                yield max(about.st_blocks * 512, _ENTRY_BYTES)
                if entry.is_dir(follow_symlinks=False):
                    yield from _below(entry.path)
    except OSError:
        return
