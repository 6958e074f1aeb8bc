"""Starting bwrap so that nothing inside can outlive the caller, and nothing runs before that is certain."""

import json
import os
import resource
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import BinaryIO

from sophron.interfaces.sandbox import Grant

# bwrap asks the kernel to end the sandbox with its parent, but only once the mounts are made. Until then the caller
# may be killed unnoticed, so the program waits for a word from it, and gives up where the line is dead. (To ask for
# that signal before bwrap does would be worse: it dies halfway, and leaves a child that waits for it for ever. The
# tenth of a millisecond in which that can still happen leaves an idle process behind, never a running program.)
_GATE = 'echo >&0 && read -r go && unset go OLDPWD SHLVL && exec "$@" </dev/null'


@contextmanager
def closing(*descriptors: int) -> Iterator[tuple[int, ...]]:
    """Close file descriptors on leaving."""
    with ExitStack() as stack:
        for descriptor in descriptors:
            stack.callback(os.close, descriptor)
        yield descriptors


@contextmanager
def started(
    bwrap: str, arguments: Sequence[str], command: Sequence[str], grant: Grant, streams: tuple[BinaryIO, BinaryIO]
) -> Iterator[tuple[subprocess.Popen[bytes], int | None]]:
    """Run `command` behind bwrap's `arguments`: yields the monitor and the pid of the sandbox's first process.

    The pid, as seen from outside, is None where the sandbox could not be made; bwrap has then said why on the second
    stream. The monitor is ended and reaped on leaving.
    """
    ours, theirs = socket.socketpair()
    with ours, closing(os.memfd_create("status"), os.memfd_create("arguments")) as (status, listed):
        # Not a pipe: a bwrap that reports to nobody would die of it halfway, and its child wait for it for ever.
        words = [*arguments, "--json-status-fd", str(status)]
        # Through a descriptor: command lines can be read by other accounts.
        os.write(listed, "".join(f"{word}\0" for word in words).encode())
        os.lseek(listed, 0, os.SEEK_SET)
        with theirs:
            monitor = subprocess.Popen(
                [bwrap, "--args", str(listed), "--", "/bin/sh", "-c", _GATE, "sh", *command],
                stdin=theirs.fileno(),
                stdout=streams[0],
                stderr=streams[1],
                env={},  # the grant's is set inside; bwrap itself must not see it
                pass_fds=(listed, status),
                start_new_session=True,
                preexec_fn=partial(_limit, _limits(grant)),  # noqa: PLW1509 - it only calls the C library
            )
        try:
            first = _first(status) if _said(ours) else None
            if first is not None:
                ours.sendall(b"\n")
            yield monitor, first
        finally:
            monitor.kill()
            monitor.wait()


def _said(line: socket.socket) -> bool:
    """Wait until the gate inside speaks; False where the other end was closed instead."""
    try:
        return line.recv(1) != b""
    except ConnectionResetError:
        return False


def _first(status: int) -> int:
    """Pid of the sandbox's first process, from the first line that bwrap reported."""
    return int(json.loads(os.pread(status, 4096, 0).splitlines()[0])["child-pid"])


def _limits(grant: Grant) -> list[tuple[int, int, int]]:
    """Kernel limits of each process in the sandbox: (resource, soft, hard)."""
    made = [(resource.RLIMIT_CORE, 0, 0)]
    if grant.cpu_s is not None:
        made.append((resource.RLIMIT_CPU, grant.cpu_s, grant.cpu_s + 1))
    for which, megabytes in ((resource.RLIMIT_FSIZE, grant.file_mb), (resource.RLIMIT_AS, grant.memory_mb)):
        if megabytes is not None:
            made.append((which, megabytes * 1_000_000, megabytes * 1_000_000))
    return made


def _limit(wanted: list[tuple[int, int, int]]) -> None:
    for which, soft, hard in wanted:
        resource.setrlimit(which, (soft, hard))
