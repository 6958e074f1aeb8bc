"""Locks that die with their holder (flock), with a note of who holds them."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self


class LockHeldError(Exception):
    """Somebody else holds the lock."""


class FileLock:
    """A flock on `path`; the file stays, the lock ends with the process, however it ends.

    shared: many may hold it at once, an exclusive one waits for all. blocking: wait, or raise LockHeldError.
    """

    def __init__(self, path: Path, *, shared: bool = False, blocking: bool = True) -> None:
        self.path = path
        self.shared = shared
        self.blocking = blocking
        self._handle: int | None = None
        self._noted = False

    def acquire(self) -> None:
        """Take the lock."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        mode = fcntl.LOCK_SH if self.shared else fcntl.LOCK_EX
        try:
            fcntl.flock(handle, mode if self.blocking else mode | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise LockHeldError(str(self.path)) from None
        except BaseException:
            os.close(handle)
            raise
        self._handle = handle

    def note(self, text: str) -> None:
        """Write who holds the lock into its file (exclusive locks)."""
        if self._handle is not None:
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, text.encode(), 0)
            self._noted = True

    def release(self) -> None:
        """Give the lock back, without a note of a holder; harmless where it is not held."""
        if self._handle is not None:
            if self._noted:
                os.ftruncate(self._handle, 0)
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> Self:
        if self._handle is None:
            self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
