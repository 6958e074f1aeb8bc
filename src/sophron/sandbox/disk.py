"""Measure the disk space that a sandboxed program takes, against its limit."""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from sophron.interfaces.sandbox import Grant

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
