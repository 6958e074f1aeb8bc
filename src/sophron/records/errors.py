"""Errors that a user can cause: one sentence that says what is wrong, where, and what to do."""

import errno
import os
from collections.abc import Iterable

from sophron.records import sanitize


class UserError(Exception):
    """Shown as it is, without a traceback; the command ends with exit code 2."""


class Refused(UserError):
    """The gate says no: nothing was run and nothing was changed."""


_FULL = "the disk is full, or your quota is; make room and give the same command again"
_REMEDIES = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: "the file would be larger than your limit allows (ulimit -f); raise it",
    errno.EACCES: "permission denied; see who owns it and its mode (ls -l), or work in a folder of your own",
    errno.EPERM: "the system does not permit it; see who owns it and its mode (ls -l)",
    errno.EROFS: "the file system is read-only; work in a folder that can be written",
    errno.EISDIR: "is a folder where a file belongs; move it away",
    errno.ENOTDIR: "a file stands where a folder belongs; move it away",
    errno.EEXIST: "is there already; move it away",
    errno.ENOENT: "there is no such file or folder; correct the path, or restore it",
    errno.ELOOP: "is a symbolic link that leads back to itself; remove it",
    errno.ENAMETOOLONG: "the name is too long; give a shorter one",
    errno.EMFILE: "too many files are open (ulimit -n); raise the limit",
    errno.ENFILE: "too many files are open on this machine; end other programs",
    errno.ENOMEM: "memory is short; end other programs",
    errno.EAGAIN: "the system is short of processes or memory (ulimit -u); end other programs",
    errno.EIO: "the disk or file server gave an error; see the system's log, and try again",
    errno.ESTALE: "the file server has lost the folder; enter it anew (cd), and try again",
    errno.ENXIO: "is not a plain file (a FIFO, socket or device); move it away",
}


def shown(text: str, most: int = 60) -> str:
    """Return a stranger's text for a sentence: one line, hidden characters as escapes, `most` characters."""
    return sanitize.escape(text, most)


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "known are", cutoff: float = 0.6) -> str:
    """Return the clause that names the nearest of the known names, or all of them if none is near.

    cutoff: likeness from which a name is near, 0 to 1.
    """
    from difflib import get_close_matches

    names = list(known)
    near = get_close_matches(name, names, n=1, cutoff=cutoff)
    return f'did you mean "{near[0]}"?' if near else f"{otherwise} {', '.join(names) or 'none'}"


def of_system(error: OSError) -> str:
    """Return the sentence for what the operating system refused: the file, the reason and the remedy."""
    name = error.filename if error.filename is not None else error.filename2
    where = f"{shown(os.fsdecode(name), 300)}: " if isinstance(name, str | bytes | os.PathLike) else ""
    reason = error.strerror or str(error) or type(error).__name__
    return where + _REMEDIES.get(error.errno or 0, f"{shown(reason, 200)}; see the file system, and try again")
