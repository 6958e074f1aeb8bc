"""The process beside a worker that starts its steps: small, of one thread, and the end of its steps when it ends.

A worker of a pool has threads and libraries of its own, so nothing is forked from it; and when it dies, however it
dies, the other end of the channel closes here and the running step is ended with all its processes. Each order is
a line; the answers are the step's process id, so that a worker can end a step whose server died, and how it ended.
"""

import math
import os
import resource
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType

from sophron.warm_workers.job_message import Ended, Order
from sophron.warm_workers.lease import LOOK_S

GRACE_S = 5.0  # between SIGTERM and SIGKILL
LEFT_S = 0.05
NOT_WANTED = "the run that asked for the step has ended"


def serve(channel: socket.socket) -> None:
    """Run one order after the other until the worker is gone."""
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is the driver's to handle
    with channel, channel.makefile("r", encoding="utf-8") as orders:
        for line in orders:
            channel.sendall(f"{run(Order.read(line), channel).text()}\n".encode())


def _leave(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(128 + signal.SIGTERM)


def run(order: Order, channel: socket.socket, start: Callable[[Order], int] | None = None) -> Ended:
    """Run one step to its end. start: starts it and returns its process id; else as a shell line or job step."""
    before = _cpu_s()
    if not _is_wanted(order):
        return Ended(1, NOT_WANTED)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # a step that has begun is a step to end
    try:
        os.chdir(order.folder)
        Path(order.log).parent.mkdir(parents=True, exist_ok=True)
        pid = (start or _start)(order)
    except (OSError, ImportError, CannotStartError) as error:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        return Ended(1, str(error))
    channel.sendall(f"{pid}\n".encode())
    problem = _watch(pid, order, channel)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if order.log and not (code or problem):
        Path(order.log).unlink(missing_ok=True)
    return Ended(code, problem, round(_cpu_s() - before, 4))


def _is_wanted(order: Order) -> bool:
    return not order.lease or os.path.exists(order.lease)  # noqa: PTH110 - asked every two seconds by every worker


def _start(order: Order) -> int:
    if order.command:
        return start_shell_line(order)
    from sophron.warm_workers import warm_snakemake

    return warm_snakemake.start(order)


def _watch(pid: int, order: Order, channel: socket.socket) -> str:
    """Wait for the step, and return why it was ended, if it was; leave with it if the worker is gone."""
    handle = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.register(channel, select.POLLIN)
    deadline = time.monotonic() + order.limit_s if order.limit_s else math.inf
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        while True:
            ready = [one for one, _ in poll.poll(1000 * max(0, min(LOOK_S, deadline - time.monotonic())))]
            if handle in ready:
                return ""
            if ready:  # a worker sends nothing while its step runs: it is gone
                sys.exit(1)
            if time.monotonic() >= deadline:
                _end(pid, handle)
                return f"the step ran longer than its {order.limit_s // 60} minutes"
            if not _is_wanted(order):
                _end(pid, handle)
                return NOT_WANTED
    except SystemExit:
        _end(pid, handle)
        raise
    finally:
        os.close(handle)


def _end(pid: int, handle: int) -> None:
    """End the step and whatever it started in its session."""
    _kill(pid, signal.SIGTERM)
    select.select([handle], [], [], GRACE_S)
    time.sleep(LEFT_S)  # the shell may be gone a moment before its program
    _kill(pid, signal.SIGKILL)


def _kill(pid: int, number: signal.Signals) -> None:
    try:
        if os.getpgid(pid) == pid:
            os.killpg(pid, number)
        else:  # it was forked into the group of its run
            os.kill(pid, number)
    except ProcessLookupError:
        return


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# The variables that Snakemake's shell() sets for each step: threads of numerical libraries, and scratch space.
THREADS = ("OMP", "GOTO", "OPENBLAS", "MKL", "VECLIB_MAXIMUM", "NUMEXPR")
SCRATCH = ("TMPDIR", "TMP", "TEMPDIR", "TEMP")
INPUT_LOOK_S = 0.1


class CannotStartError(Exception):
    """The step's surroundings are not as they must be; its message is a sentence."""


def prepare(order: Order) -> None:
    """Bring files into the state in which a step begins; CannotStartError if that cannot be.

    The working directory is the order's already.
    """
    for name in order.outputs:
        path = Path(name)
        if path.exists() and not path.is_symlink() and not os.access(path, os.W_OK):
            raise CannotStartError(f"{name}: is write-protected and would be overwritten; make it writable or move it")
    for name, directory in {**order.outputs, **dict.fromkeys(order.logs, False)}.items():
        _remove(Path(name), directory=directory)
        Path(name).parent.mkdir(parents=True, exist_ok=True)
    _await(order.inputs, order.latency_s)


def _remove(path: Path, *, directory: bool) -> None:
    """Remove an old result; a folder with content goes only if the rule says that its output is a directory."""
    if path.is_dir() and not path.is_symlink():
        if directory:
            shutil.rmtree(path)
        elif not any(path.iterdir()):
            path.rmdir()
    elif str(path) != os.devnull:
        path.unlink(missing_ok=True)


def _await(inputs: list[str], latency_s: float) -> None:
    """Wait for inputs that another machine may have written just now."""
    deadline = time.monotonic() + latency_s
    while missing := [name for name in inputs if not os.path.lexists(name)]:
        if time.monotonic() > deadline:
            raise CannotStartError(f"{missing[0]}: is missing after {latency_s} s, on {os.uname().nodename}")
        time.sleep(INPUT_LOOK_S)


def environment(order: Order) -> Mapping[str, str]:
    """Return the variables of the step: the worker's own, the declared ones, and those that Snakemake sets."""
    scratch = tempfile.gettempdir()
    threads = {f"{name}_NUM_THREADS": str(order.threads) for name in THREADS}
    return {**os.environ, **threads, **dict.fromkeys(SCRATCH, scratch), **order.environment}


def start_shell_line(order: Order) -> int:
    """Start the line in a new session; return its process id. Raises CannotStartError."""
    prepare(order)
    writable = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    return os.posix_spawn(
        order.executable,
        [order.executable, "-c", order.command],
        environment(order),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, order.log, writable, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigmask=[],
        setsigdef=[signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM, signal.SIGINT],
    )


if __name__ == "__main__":
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)  # noqa: FBT003 - a step must not hold the channel open
    serve(socket.socket(fileno=descriptor))
