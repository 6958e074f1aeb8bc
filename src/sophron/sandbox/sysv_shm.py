"""System V shared memory of a sandbox, which may belong to no process and which no limit of the kernel's counts.

Its list, /proc/sysvipc/shm, is that of the namespace of whoever opens it: so it is opened inside, before the program
starts, and that open file is taken over with pidfd_getfd(2) (Linux 5.6).
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PIDFD_GETFD = 438
"""One number on every processor."""
_RESIDENT = "rss"
_LIBRARY = ctypes.CDLL(None, use_errno=True)


@contextmanager
def listed(first: int, number: int) -> Iterator[int | None]:
    """Our copy of descriptor `number` of the only child of process `first`; None if the kernel refuses it."""
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


def resident_mb(handle: int | None) -> float:
    """Return the memory in MB that the segments of a list take, attached or not; 0 without a list."""
    if handle is None:
        return 0.0
    os.lseek(handle, 0, os.SEEK_SET)
    with os.fdopen(os.dup(handle), encoding="ascii") as stream:
        heads, *rows = (line.split() for line in stream)
    return sum(int(row[heads.index(_RESIDENT)]) for row in rows) / 1e6
