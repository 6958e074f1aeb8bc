"""Watching a running sandbox: the whole process tree against its limits, and its end when one is passed."""

import math
import os
import select
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sophron.interfaces.sandbox import Grant
from sophron.sandbox.launch import closing

_PERIOD_S = 0.05
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Usage:
    """What all processes of a sandbox use together: threads, CPU seconds (with ended children), private memory."""

    threads: int
    cpu_s: float
    memory_mb: float


def usage(init: int) -> Usage:
    """Usage of the sandbox whose first process is `init` (a pid out here), read from the sandbox's own /proc.

    Its /proc lists its own processes only, so the cost does not grow with what else runs on the machine.
    """
    threads, ticks, pages = 0, 0, 0
    for stat, statm in _processes(Path(f"/proc/{init}/root/proc")):
        fields = stat[stat.rindex(b")") + 2 :].split()  # the name before it may hold anything
        ticks += sum(map(int, fields[11:15]))
        threads += int(fields[17])
        resident, shared = statm.split()[1:3]
        pages += int(resident) - int(shared)
    return Usage(threads, ticks / _TICKS_PER_S, pages * _PAGE_BYTES / 1e6)


def _processes(proc: Path) -> Iterator[tuple[bytes, bytes]]:
    try:
        pids = [entry for entry in proc.iterdir() if entry.name.isdigit()]
    except OSError:  # the sandbox has ended, or has not mounted its /proc yet
        return
    for own in pids:
        try:
            yield (own / "stat").read_bytes(), (own / "statm").read_bytes()
        except OSError:
            continue


def exceeded(init: int, grant: Grant) -> str | None:
    """Name of the first limit of `grant` that the tree below `init` has passed, or None."""
    used = usage(init)
    limits = (
        ("processes", used.threads - 1, grant.processes),  # bubblewrap's own first process does not count
        ("cpu_s", used.cpu_s, grant.cpu_s),
        ("memory_mb", used.memory_mb, grant.memory_mb),
    )
    return next((name for name, value, limit in limits if limit is not None and value > limit), None)


def until_end(first: int, monitor: int, grant: Grant) -> str | None:
    """Wait until the sandbox has ended, or end it where a limit is passed; the name of that limit, or None.

    first: pid of the sandbox's first process, with which all others in it end; monitor: pid of bwrap, the caller's
    child, which ends with the program. Nothing is left inside when this returns or raises.
    """
    with closing(os.pidfd_open(first), os.pidfd_open(monitor)) as (inside, outside):
        try:
            return _passed(first, outside, grant)
        finally:
            # The program may have left something in the background.
            signal.pidfd_send_signal(inside, signal.SIGKILL)
            _ready(inside, math.inf)
            _ready(outside, math.inf)


def _passed(first: int, outside: int, grant: Grant) -> str | None:
    deadline = math.inf if grant.wall_s is None else time.monotonic() + grant.wall_s
    counted = any(limit is not None for limit in (grant.processes, grant.cpu_s, grant.memory_mb))
    while True:
        left = deadline - time.monotonic()
        if _ready(outside, min(left, _PERIOD_S) if counted else left):
            return None
        if time.monotonic() >= deadline:
            return "wall_s"
        if limit := exceeded(first, grant):
            return limit


def _ready(handle: int, seconds: float) -> bool:
    """Whether the process of a pid descriptor ends within so many seconds."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(None if seconds == math.inf else math.ceil(max(0.0, seconds) * 1000)))
