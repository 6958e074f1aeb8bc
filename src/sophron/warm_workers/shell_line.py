"""Run a plain shell line as Snakemake would: remove old outputs, make folders, wait for inputs, start it."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from sophron.warm_workers.job_message import Order

# The variables that Snakemake's shell() sets for each step: threads of numerical libraries, and scratch space.
THREADS = ("OMP", "GOTO", "OPENBLAS", "MKL", "VECLIB_MAXIMUM", "NUMEXPR")
SCRATCH = ("TMPDIR", "TMP", "TEMPDIR", "TEMP")
LOOK_S = 0.1


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
        time.sleep(LOOK_S)


def environment(order: Order) -> Mapping[str, str]:
    """Return the variables of the step: the worker's own, the declared ones, and those that Snakemake sets."""
    scratch = tempfile.gettempdir()
    threads = {f"{name}_NUM_THREADS": str(order.threads) for name in THREADS}
    return {**os.environ, **threads, **dict.fromkeys(SCRATCH, scratch), **order.environment}


def start(order: Order) -> int:
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
