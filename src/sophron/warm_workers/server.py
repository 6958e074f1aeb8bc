"""The process beside a worker that starts its steps: small, of one thread, and the end of its steps when it ends.

A worker of a pool has threads and libraries of its own, so nothing is forked from it; and when it dies, however it
dies, the other end of the channel closes here and the running step is ended with all its processes. Each order is
a line; the answers are the step's process id, so that a worker can end a step whose server died, and how it ended.
"""

import math
import os
import resource
import select
import signal
import socket
import sys
import time
from pathlib import Path
from types import FrameType

from sophron.warm_workers import shell_line
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


def run(order: Order, channel: socket.socket) -> Ended:
    """Run one step to its end."""
    before = _cpu_s()
    if not _is_wanted(order):
        return Ended(1, NOT_WANTED)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # a step that has begun is a step to end
    try:
        os.chdir(order.folder)
        Path(order.log).parent.mkdir(parents=True, exist_ok=True)
        pid = _start(order)
    except (OSError, ImportError, shell_line.CannotStartError) as error:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        return Ended(1, str(error))
    channel.sendall(f"{pid}\n".encode())
    problem = _watch(pid, order, channel)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if not (code or problem):
        Path(order.log).unlink(missing_ok=True)
    return Ended(code, problem, round(_cpu_s() - before, 4))


def _is_wanted(order: Order) -> bool:
    return os.path.exists(order.lease)  # noqa: PTH110 - asked every two seconds by every worker


def _start(order: Order) -> int:
    if order.command:
        return shell_line.start(order)
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


def _kill(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)  # noqa: FBT003 - a step must not hold the channel open
    serve(socket.socket(fileno=descriptor))
