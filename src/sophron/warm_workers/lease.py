"""A file that says that a run goes on: workers end a step, or do not begin it, once the file is gone.

A pool may carry a step on when its driver is dead, and some cannot be told otherwise. The driver holds a lock on its
lease, which a kill releases; the next run of the same folder removes leases without a holder, and waits until workers
have seen it, so that no step of a dead run writes into what a living one makes.
"""

import os
import time
from pathlib import Path

from sophron.records import process_identity
from sophron.records.files import FileLock, LockHeldError

LOOK_S = 2.0  # between two looks of a worker
SEEN_S = 2 * LOOK_S


class Lease:
    """This run's lease in `folder`. Made on one machine, the driver's; removed when the run ends."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"{process_identity.host()}-{os.getpid()}-{time.time_ns()}.lease"
        self._lock = FileLock(self.path, blocking=False)
        if _end_dead(folder):
            time.sleep(SEEN_S)
        self._lock.acquire()

    def end(self) -> None:
        """End the lease: the run is over, in whatever way."""
        self.path.unlink(missing_ok=True)
        self._lock.release()


def _end_dead(folder: Path) -> bool:
    """Remove leases of dead runs; True if there was one. One of another machine says nothing here: it stays."""
    found = False
    for path in folder.glob(f"{process_identity.host()}-*.lease"):
        try:
            with FileLock(path, blocking=False):
                path.unlink(missing_ok=True)
                found = True
        except LockHeldError:
            continue
    return found
