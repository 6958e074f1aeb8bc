"""Faults of the machine that a step runs on: what it lacks, in one clause. A person repairs them."""

import errno
import os
import tempfile
from pathlib import Path

PROBE_BYTES = 1 << 20
FAULTS = frozenset(
    {
        *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE, errno.ENOEXEC),
        *(errno.ENFILE, errno.EMFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOTCONN, errno.ENODEV, errno.ETIMEDOUT),
    }
)
"""What the system says of a full or read-only disk, a file system that went away, or exhausted tables."""
REMEDY = "nothing of the science failed: repair the machine, then the same line again: snakemake"


def lacking(error: OSError | ImportError) -> str | None:
    """Return what the machine lacks; None for an error that is a fault in our own code."""
    if isinstance(error, ImportError):
        own = (error.name or "").partition(".")[0] == "sophron"
        return None if own else f"a Python package is missing or broken ({error}); install it where the step runs"
    if error.errno not in FAULTS:
        return None
    where = f" ({os.fspath(error.filename)})" if isinstance(error.filename, str | os.PathLike) else ""
    return f"{error.strerror}{where}"


def unwritable(folder: Path) -> str | None:
    """Return why a file of `PROBE_BYTES` cannot be written in `folder`; None if it can.

    Asked after an engine failed: on a full disk engines say many things, and some say nothing at all.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(PROBE_BYTES))
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as error:
        return f"{error.strerror} ({folder})"
    return None
