"""Starting bwrap so that nothing inside can outlive the caller, and nothing runs before that is certain."""

import json
import os
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from sophron.interfaces.sandbox import Grant
from sophron.records.errors import UserError
from sophron.sandbox import kernel_limits, resource_usage, seccomp

# bwrap asks the kernel to end the sandbox with its parent, but only once the mounts are made. Until then the caller
# may be killed unnoticed, so the program waits for a word from it, and gives up if the line is dead. (To ask for
# that signal before bwrap does would be worse: it dies halfway, and leaves a child that waits for it for ever. The
# tenth of a millisecond in which that can still happen leaves an idle process behind, never a running program.)
# What it opens first, the list of System V segments, is of its own namespace; the caller takes a copy of it.
_GATE = 'exec 9</proc/sysvipc/shm; echo >&0 && read -r go && unset go OLDPWD SHLVL && exec "$@" </dev/null 9<&-'


_SEGMENTS = 9
"""The number of that descriptor inside."""


@dataclass(frozen=True)
class Inside:
    """A running sandbox.

    first: pid of its first process, as seen from outside; segments: descriptor of its list of System V shared memory,
    None if the kernel does not hand it out.
    """

    first: int
    segments: int | None


@contextmanager
def closing(*descriptors: int) -> Iterator[tuple[int, ...]]:
    """Close file descriptors on leaving."""
    with ExitStack() as stack:
        for descriptor in descriptors:
            stack.callback(os.close, descriptor)
        yield descriptors


def written(path: Path) -> BinaryIO:
    """Return `path` opened for output.

    A link of that name is refused: a program may have planted it in its work folder.
    """
    try:
        return os.fdopen(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644), "wb"
        )
    except OSError as error:
        raise UserError(f"{path}: output cannot go there ({error.strerror}); remove what is there") from None


@contextmanager
def started(
    bwrap: str, arguments: Sequence[str], command: Sequence[str], grant: Grant, streams: tuple[BinaryIO, BinaryIO]
) -> Iterator[tuple[subprocess.Popen[bytes], Inside | None]]:
    """Run `command` behind bwrap's `arguments`: yields the monitor and what is known of the inside.

    That is None if the sandbox could not be made; bwrap has then said why on the second stream. The monitor is
    ended and reaped on leaving.
    """
    ours, theirs = socket.socketpair()
    made = os.memfd_create("status"), os.memfd_create("arguments"), os.memfd_create("filter")
    with ours, closing(*made) as (status, listed, filtered):
        # Not a pipe: a bwrap that reports to nobody would die of it halfway, and its child wait for it for ever.
        words = [*arguments, "--json-status-fd", str(status)]
        if program := seccomp.program():
            words += ["--seccomp", str(filtered)]
            _filled(filtered, program)
        # Through a descriptor: command lines can be read by other accounts.
        _filled(listed, "".join(f"{word}\0" for word in words).encode())
        with theirs:
            monitor = subprocess.Popen(
                [bwrap, "--args", str(listed), "--", "/bin/sh", "-c", _GATE, "sh", *command],
                stdin=theirs.fileno(),
                stdout=streams[0],
                stderr=streams[1],
                env={},  # the grant's is set inside; bwrap itself must not see it
                pass_fds=(listed, status, filtered),
                start_new_session=True,
                preexec_fn=partial(_prepare, kernel_limits.wanted(grant)),  # noqa: PLW1509 - it only calls the C library
            )
        try:
            first = _first(status) if _said(ours) else None
            if first is None:
                yield monitor, None
                return
            with resource_usage.shared_segments(first, _SEGMENTS) as segment_list, _bounded(first, grant.processes):
                ours.sendall(b"\n")
                yield monitor, Inside(first, segment_list)
        finally:
            monitor.kill()
            monitor.wait()


def _filled(descriptor: int, data: bytes) -> None:
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)


def _said(line: socket.socket) -> bool:
    """Wait until the gate inside speaks; False if the other end was closed instead."""
    try:
        return line.recv(1) != b""
    except ConnectionResetError:
        return False


def _first(status: int) -> int:
    """Pid of the sandbox's first process, from the first line that bwrap reported."""
    return int(json.loads(os.pread(status, 4096, 0).splitlines()[0])["child-pid"])


def _bounded(first: int, most: int | None) -> AbstractContextManager[None]:
    """The kernel's bound, at twice the limit: whoever passes it slowly is seen and told, before a fork fails."""
    if most is None:
        return nullcontext()
    children = Path(f"/proc/{first}/task/{first}/children").read_text(encoding="ascii").split()
    return kernel_limits.bound_processes([first, *map(int, children)], 2 * most)


def _prepare(wanted: list[kernel_limits.Limit]) -> None:
    kernel_limits.apply(wanted)
    kernel_limits.leave_keyring()
    kernel_limits.heed_interrupts()
