"""A program and all that descends from it, held to a grant's limits from outside, if no namespace helps."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from sophron.interfaces.sandbox import Ended, Grant
from sophron.sandbox import kernel_limits, resource_usage
from sophron.sandbox.bwrap_launch import written
from sophron.sandbox.resource_usage import DiskWatch

_PERIOD_S = 0.05


def run(command: Sequence[str], grant: Grant, environment: Mapping[str, str], stdout: Path, stderr: Path) -> Ended:
    """Run `command` in the work folder with `environment`; FileNotFoundError if there is no such program.

    It and its descendants end with a passed limit and with the caller. A descendant that has left both the process
    group and the tree (a daemon) is not found: only namespaces catch those.
    """
    with written(stdout) as out, written(stderr) as err:
        process = subprocess.Popen(
            command,
            cwd=grant.workdir,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            preexec_fn=partial(_prepare, kernel_limits.wanted(grant)),  # noqa: PLW1509 - it only calls the C library
        )
        try:
            limit = _passed(process, grant, DiskWatch(grant, (stdout, stderr)))
        finally:
            _end(process)
    if limit is None:
        limit = {-signal.SIGXCPU: "cpu_s", -signal.SIGXFSZ: "file_mb"}.get(process.returncode)
        return Ended(process.returncode, limit)
    return Ended(-signal.SIGKILL, limit)


def _prepare(wanted: list[kernel_limits.Limit]) -> None:
    kernel_limits.apply(wanted)
    kernel_limits.leave_keyring()
    kernel_limits.heed_interrupts()
    kernel_limits.die_with_parent()


def _passed(process: subprocess.Popen[bytes], grant: Grant, disk: DiskWatch) -> str | None:
    started = time.monotonic()
    # It is looked at and not waited for: until it is, no other process can have its number.
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if limit := _exceeded(process.pid, grant, time.monotonic() - started):
            return limit
        if disk.passed(0):
            return "disk_mb"
        time.sleep(_PERIOD_S)
    return None


def _exceeded(pid: int, grant: Grant, wall_s: float) -> str | None:
    found = resource_usage.of_processes(Path(f"/proc/{one}") for one in tree(pid))
    used = {
        "wall_s": wall_s,
        "processes": found.threads,
        "cpu_s": found.cpu_s,
        "memory_mb": found.resident_mb - found.shared_mb,
    }
    most = ((name, getattr(grant, name)) for name in used)
    return next((name for name, limit in most if limit is not None and used[name] > limit), None)


def tree(pid: int) -> Iterator[int]:
    """Yield `pid` and its descendants, as far as they have not been orphaned."""
    yield pid
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [child for task in tasks for child in (task / "children").read_text(encoding="ascii").split()]
    except (FileNotFoundError, ProcessLookupError):
        return
    for child in children:
        yield from tree(int(child))


def _end(process: subprocess.Popen[bytes]) -> None:
    for one in list(tree(process.pid))[1:]:
        _killed(os.kill, one)
    # The group outlives its leader, so that what the program left in the background is found after its end too.
    _killed(os.killpg, process.pid)
    process.wait()


def _killed(kill: Callable[[int, int], None], pid: int) -> None:
    try:
        kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
