"""Watching a running sandbox: the whole process tree against its limits, and its end when one is passed."""

import math
import os
import select
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sophron.interfaces.sandbox import Grant
from sophron.sandbox import resource_usage
from sophron.sandbox.bwrap_launch import Inside, closing
from sophron.sandbox.resource_usage import DiskWatch

_PERIOD_S = 0.05
_LEAST_FREE_PAGES = 100_000_000 // os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Usage:
    """What all processes of a sandbox use together: threads, CPU seconds (with ended children), memory.

    memory_mb: resident memory, what processes share counted for each of them, so at most this; hidden: bytes in files
    that are open but have no name, by device number (memory files among them).
    """

    threads: int
    cpu_s: float
    memory_mb: float
    hidden: dict[int, int]


def usage(init: int) -> Usage:
    """Usage of the sandbox whose first process is `init` (a pid out here), read from the sandbox's own /proc.

    Its /proc lists its own processes only, so the cost does not grow with what else runs on the machine.
    """
    processes = _processes(_proc(init))
    found = resource_usage.of_processes(processes)
    nameless: dict[tuple[int, int], int] = {}
    for process in processes:
        nameless |= _nameless(process)
    hidden: dict[int, int] = {}
    for (device, _), size in nameless.items():
        hidden[device] = hidden.get(device, 0) + size
    return Usage(found.threads, found.cpu_s, found.resident_mb, hidden)


def held_mb(init: int) -> float:
    """Memory in MB that the processes hold: private pages whole, shared ones once, pages of program files not at all.

    Walks page tables, so it costs more than `usage`. If the kernel does not say, what `usage` says.
    """
    total = 0
    for own in _processes(_proc(init)):
        try:
            lines = (own / "smaps_rollup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        except OSError:
            return usage(init).memory_mb
        total += sum(int(line.split()[1]) for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:", "SwapPss:")))
    return total * 1024 / 1e6


def _proc(init: int) -> Path:
    return Path(f"/proc/{init}/root/proc")


def _count(init: int) -> int:
    """Processes in the sandbox."""
    try:
        return sum(name.isdigit() for name in os.listdir(_proc(init)))  # noqa: PTH208 - names will do
    except OSError:  # the sandbox has ended, or has not mounted its /proc yet
        return 0


def _processes(proc: Path) -> list[Path]:
    try:
        return [entry for entry in proc.iterdir() if entry.name.isdigit()]
    except OSError:  # the sandbox has ended, or has not mounted its /proc yet
        return []


def _nameless(process: Path) -> dict[tuple[int, int], int]:
    """Bytes in the open files without a name of one process, by (device, inode)."""
    found = {}
    try:
        with os.scandir(process / "fd") as handles:
            for handle in handles:
                about = handle.stat()
                if not about.st_nlink:
                    found[about.st_dev, about.st_ino] = about.st_blocks * 512
    except OSError:  # the process has ended, or hides its files
        return found
    return found


class Watch:
    """The limits of one grant, against a running sandbox. outputs: the files that its output goes to."""

    def __init__(self, sandbox: Inside, grant: Grant, outputs: Sequence[Path]) -> None:
        self._init = sandbox.first
        self._segments = sandbox.segments
        self._grant = grant
        self._disk = DiskWatch(grant, outputs)
        self._device = grant.workdir.stat().st_dev
        limits = (grant.processes, grant.cpu_s, grant.memory_mb, grant.disk_mb)
        self.needed = any(limit is not None for limit in limits)

    def exceeded(self) -> str | None:
        """Return the name of the first limit that is passed, or None."""
        grant = self._grant
        # One look at a folder, before each process is read: where they multiply, reading them all may never end.
        if grant.processes is not None and _count(self._init) - 1 > grant.processes:
            return "processes"
        used = usage(self._init)
        nameless = sum(size for device, size in used.hidden.items() if device != self._device)
        shared_mb = nameless / 1e6 + resource_usage.shared_segments_mb(self._segments)
        if grant.processes is not None and used.threads - 1 > grant.processes:  # bubblewrap's own does not count
            return "processes"
        if grant.cpu_s is not None and used.cpu_s > grant.cpu_s:
            return "cpu_s"
        if grant.memory_mb is not None and self._memory_passed(used.memory_mb, shared_mb, grant.memory_mb):
            return "memory_mb"
        return "disk_mb" if self._disk.passed(used.hidden.get(self._device, 0)) else None

    def _memory_passed(self, resident_mb: float, shared_mb: float, most_mb: int) -> bool:
        """The cheap number is an upper bound; only if it says "too much" is the dear one asked."""
        if shared_mb > most_mb:
            return True
        if resident_mb + shared_mb > most_mb and held_mb(self._init) + shared_mb > most_mb:
            return True
        # Buffers of pipes and sockets belong to no process; before they starve the machine, this one ends.
        return os.sysconf("SC_AVPHYS_PAGES") < _LEAST_FREE_PAGES and _available_mb() < 100


def _available_mb() -> float:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("MemAvailable:"))


def until_end(sandbox: Inside, monitor: int, grant: Grant, outputs: Sequence[Path]) -> str | None:
    """Wait until the sandbox has ended, or end it if a limit is passed; the name of that limit, or None.

    All processes in it end with its first one. monitor: pid of bwrap, the caller's child, which ends with the program.
    Nothing is left inside when this returns or raises.
    """
    with closing(os.pidfd_open(sandbox.first), os.pidfd_open(monitor)) as (inside, outside):
        try:
            return _passed(Watch(sandbox, grant, outputs), outside, grant.wall_s)
        finally:
            # The program may have left something in the background.
            signal.pidfd_send_signal(inside, signal.SIGKILL)
            _ready(inside, math.inf)
            _ready(outside, math.inf)


def _passed(watch: Watch, outside: int, wall_s: float | None) -> str | None:
    deadline = math.inf if wall_s is None else time.monotonic() + wall_s
    while True:
        left = deadline - time.monotonic()
        if _ready(outside, min(left, _PERIOD_S) if watch.needed else left):
            return None
        if time.monotonic() >= deadline:
            return "wall_s"
        if limit := watch.exceeded():
            return limit


def _ready(handle: int, seconds: float) -> bool:
    """Whether the process of a pid descriptor ends within so many seconds."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(None if seconds == math.inf else math.ceil(max(0.0, seconds) * 1000)))
