"""The process of one task, forked from a clean one that has imported what all of them need: a start costs no import."""

import asyncio
import contextlib
import multiprocessing
import os
import signal
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from sophron.agentbuild.release import a2a_task_folder, package
from sophron.interfaces.sandbox import Grant
from sophron.sandbox import kernel_limits

FILE_MB = 500
LOG = "worker.log"
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([__name__, "jsonschema", "yaml", "rfc8785"])


def start(where: Path, folder: Path) -> ForkServerProcess:
    """Begin the task in `folder` with the package in `where`, in a process group of its own."""
    process = _FORKS.Process(target=_run, args=(where.absolute(), folder.absolute()), daemon=True)
    process.start()
    return process


async def wait(process: ForkServerProcess) -> int:
    """Return its exit code, when it has ended."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(process.sentinel, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(process.sentinel)
    process.join()
    return process.exitcode or 0


def kill(process: ForkServerProcess) -> None:
    """End it and all that it started."""
    if process.is_alive() and process.pid:
        with contextlib.suppress(ProcessLookupError):  # it has no group yet
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()


def _run(where: Path, folder: Path) -> None:
    os.setsid()
    kernel_limits.apply(kernel_limits.wanted(Grant(folder, file_mb=FILE_MB)))
    kernel_limits.die_with_parent()  # of which it was forked, and which ends with the server
    log = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.chdir(folder)
    a2a_task_folder.run(package.load(where), folder)
