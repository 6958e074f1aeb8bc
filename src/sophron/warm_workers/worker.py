"""The worker's end: hand orders to the server beside this worker, and notice when the pool itself is gone."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

from sophron.warm_workers.job_message import Ended

LOOK_S = 2.0  # between two looks whether the worker's own parent still lives


class _Server:
    """The server process and the channel to it."""

    def __init__(self) -> None:
        self.channel, theirs = socket.socketpair()
        command = [sys.executable, "-P", "-m", "sophron.warm_workers.server", str(theirs.fileno())]
        with theirs:
            self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], start_new_session=True)
        self.parent = os.getppid()
        self.channel.settimeout(LOOK_S)

    def run(self, order: str) -> str:
        """Run one step; EOFError if the server was killed meanwhile, after the step was ended too."""
        step = 0
        self.channel.sendall(f"{order}\n".encode())
        for answer in self._answers():
            if not answer.isdigit():
                return answer.decode()
            step = int(answer)
        if step:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(step, signal.SIGKILL)
        raise EOFError

    def _answers(self) -> Iterator[bytes]:
        rest = b""
        while True:
            try:
                part = self.channel.recv(1 << 16)
            except TimeoutError:
                self._look()
                continue
            except ConnectionError:
                return
            if not part:
                return
            *lines, rest = (rest + part).split(b"\n")
            yield from lines

    def _look(self) -> None:
        """Leave, and end the step, if nobody hears the answer: another worker may be given the step."""
        if os.getppid() != self.parent:
            os._exit(1)

    def close(self) -> None:
        """End the server and with it a step that it runs."""
        self.channel.close()
        self.process.wait()


_SERVER: list[_Server] = []


def run(order: str) -> str:
    """Run the text of an `Order` in this worker; the text of `Ended`. Raises nothing for a step that fails."""
    if not _SERVER:
        _SERVER.append(_Server())
    try:
        return _SERVER[0].run(order)
    except (EOFError, ConnectionError):
        _SERVER.pop().close()
        return Ended(1, "the process that started the step was killed; its memory may be too small").text()


def close() -> None:
    """End this worker's server; the next order starts another."""
    while _SERVER:
        _SERVER.pop().close()
