"""Snakemake processes of `sophron run`: one at a time, ended with it, and what each of them left in the record."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from sophron.interfaces import JsonObject
from sophron.records import events
from sophron.warm_workers.fork_server import Early

PATIENCE_S = 15.0
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
NO_SERVER: AbstractContextManager[Early | None] = nullcontext()
FINISHED = {"accepted", "agent_answered", "job_finished", "host_job_finished"}


class StoppedError(BaseException):
    """A signal asked this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
        self.name = signal.Signals(number).name


@dataclass(frozen=True)
class Ended:
    """How a process ended: exit code, seconds, and the events that were recorded meanwhile."""

    code: int
    elapsed_s: float
    events: Sequence[JsonObject] = field(default_factory=list)

    @property
    def finished_something(self) -> bool:
        """Whether a step came to its end."""
        return any(
            one["event"] in FINISHED or (one["event"] == "step_ended" and one["status"] == "done")
            for one in self.events
        )

    def of(self, name: str) -> list[JsonObject]:
        """Return its events called `name`."""
        return [one for one in self.events if one["event"] == name]


def run(
    root: Path,
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    directory: Path | None = None,
    server: AbstractContextManager[Early | None] = NO_SERVER,
) -> Ended:
    """Run one fresh `python -m` process for the campaign at `root`. It and its jobs end with this call.

    directory: where it runs, if not in the campaign's folder; server: from which its steps are forked.
    """
    offset, begun = events.read(root)[1], time.monotonic()
    with server as early:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", *command],
            cwd=directory or root,
            env={**os.environ, **environment, **(early.environment if early else {})},
            pass_fds=early.descriptors if early else (),
            process_group=0,
        )
        try:
            if early:
                early.begin(process.pid)
            code = process.wait()
        finally:
            _end(process)
    return Ended(code, time.monotonic() - begun, events.read(root, offset)[0])


def _end(process: subprocess.Popen[bytes]) -> None:
    """End Snakemake as a person's Ctrl-C would, with the steps that it started here; harder if that does not help."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)


@contextmanager
def signals_raised() -> Iterator[None]:
    """Let a signal that asks this process to end raise StoppedError, so that its processes are ended first."""

    def stop(number: int, _: FrameType | None) -> None:
        raise StoppedError(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, stop) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
