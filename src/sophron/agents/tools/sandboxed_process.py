"""A program that runs in the sandbox while this process talks with it over its standard input and output."""

import os
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Self

from sophron.interfaces.sandbox import Grant, SandboxBackend
from sophron.records.errors import UserError

if TYPE_CHECKING:
    from mcp.client.stdio import StdioServerParameters

# A backend gives a program no input, and its output to a file: both are named pipes here, so that every backend
# serves. A sandbox ends with its first program, which is a shell that waits for the end of a third pipe; this process
# holds the other end of it, also by dying. Should the server end first, it takes the shell with it.
_INSIDE = '("$@" <"$0"; kill -9 $$) & exec 0<&-; read -r _ <"$0.stop"'
# The client starts its servers itself; what it starts are two relays. Opened for both ways, a pipe never waits.
_RELAY = 'cat <"$1" & exec cat 1<>"$0"'


class Serving:
    """`command` at work inside, for the time of a `with`; `ends` is how the MCP client reaches it."""

    def __init__(self, command: Sequence[str], sandbox: SandboxBackend, grant: Grant) -> None:
        self._command = command
        self._sandbox = sandbox
        self._grant = grant
        self._reason = ""
        self._closing = threading.Event()
        self._stack = ExitStack()
        self.ends: StdioServerParameters

    def __enter__(self) -> Self:
        from mcp.client.stdio import StdioServerParameters

        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="sophron-")))
            into, out, stop = folder / "in", folder / "out", folder / "in.stop"
            for pipe in (into, out, stop):
                os.mkfifo(pipe, 0o600)
            thread = threading.Thread(target=self._run, args=(folder,), daemon=True)
            stack.callback(self._end, os.open(stop, os.O_RDWR | os.O_CLOEXEC), out, thread)
            thread.start()
            self.ends = StdioServerParameters(command="/bin/sh", args=["-c", _RELAY, str(into), str(out)], cwd="/")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def reason(self) -> str:
        """Why it ended, if that is known: what the sandbox said, or the last line of the server's complaints."""
        return self._reason

    def _run(self, folder: Path) -> None:
        pipes = [folder / "in", folder / "in.stop"]
        grant = replace(self._grant, read_only=[*self._grant.read_only, *pipes])
        command = ["/bin/sh", "-c", _INSIDE, str(folder / "in"), *self._command]
        complaints = folder / "stderr"
        try:
            self._sandbox.run(command, grant, stdout=folder / "out", stderr=complaints)
        except UserError as failure:
            self._reason = str(failure)
        else:
            lines = complaints.read_text(errors="replace").splitlines()
            self._reason = lines[-1] if lines else ""
        # A relay that opens the pipe only now must find that nobody writes to it any more.
        while not self._closing.wait(0.02):
            with suppress(OSError):
                os.close(os.open(folder / "out", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))

    def _end(self, ender: int, out: Path, thread: threading.Thread) -> None:
        self._closing.set()
        os.close(ender)
        reader = os.open(out, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # lets go of a backend that waits for one
        thread.join()
        os.close(reader)
