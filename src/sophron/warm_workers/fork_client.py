"""`sophron VERB` of a local run: let the fork server run this step, and be to others what the step would be.

It imports next to nothing, since each step begins here. The step gets this process's words, folder, environment and
streams; it ends with the step's exit code or signal, and the step ends with it.
"""

from __future__ import annotations

import os
import signal
import sys

from sophron.records import WHOLE_CHECK

TYPE_CHECKING = False  # typing's own costs its import
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Iterator
    from typing import Any, NoReturn

VARIABLE = "SOPHRON_FORK_SERVER"
"""Path of the fork server's socket, set by the driver for its jobs; a user sets `off` to have none."""
VERBS = ("stage", "verify", "accept", "agent")
"""Verbs whose steps may be forked. A module of theirs names in `FORKED` what it imports late."""
BEGINS, CHANGED, UNLIKE = b"begins", b"changed", b"unlike"
"""First answer of the fork server: the step begins; code changed since; this process may do more or less than it."""


def run() -> int | None:
    """Return the exit code of this process's step, run by the fork server; None if it has to run here."""
    path = os.environ.pop(VARIABLE, "off")
    if path == "off" or len(sys.argv) < 2 or sys.argv[1] not in VERBS:
        return None
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the step as well, whose end is awaited
    try:
        answers = _asked(path)
        first = next(answers, b"")
        if first == BEGINS:
            return _await(answers)
        if first == CHANGED:
            os.environ[WHOLE_CHECK] = "1"
    except OSError:  # nothing has begun: no server, or a stream of ours is closed
        pass
    signal.signal(signal.SIGINT, before)
    return None


def _asked(path: str) -> Iterator[bytes]:
    """Send the order with our streams; yield the answers, one a line."""
    import _socket  # socket's lists of constants take longer than the rest of this
    import array
    import json

    about = {"folder": os.getcwd(), "executable": sys.prefix, "argv": sys.argv}  # noqa: PTH109
    order = about | {"environment": dict(os.environ), "lease": "", "log": ""}
    channel = _socket.socket(_socket.AF_UNIX)
    channel.connect(path)
    channel.sendmsg([b"\n"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
    channel.sendall(f"{json.dumps(order)}\n".encode())
    return _lines(channel)


def _lines(channel: socket) -> Iterator[bytes]:
    rest = b""
    while part := _received(channel):
        *lines, rest = (rest + part).split(b"\n")
        yield from lines


def _received(channel: socket) -> bytes:
    try:
        return channel.recv(1 << 16)
    except ConnectionError:
        return b""


def _await(answers: Iterator[bytes]) -> int:
    """Wait for the end of a step that has begun, and end as it did."""
    import json

    pid = 0
    for answer in answers:
        if answer.isdigit():
            pid = int(answer)
            continue
        ended: dict[str, Any] = json.loads(answer)
        if ended["problem"]:
            print(f"sophron: {ended['problem']}", file=sys.stderr)
        if ended["code"] < 0:
            _die(-ended["code"])
        return int(ended["code"])
    if pid:
        os.kill(pid, signal.SIGKILL)
    print("sophron: the process that watched over this step was killed; the step is ended", file=sys.stderr)
    return 1


def _die(number: int) -> NoReturn:
    """End by the signal that ended the step: whoever waits for this process is told so."""
    signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
    os.kill(os.getpid(), number)
    os._exit(128 + number)  # a signal that ends nobody
