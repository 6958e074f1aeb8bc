"""Run Snakemake's own job step warm: Snakemake is imported once, each step is a fork of that process."""

import gc
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import NoReturn

from sophron.records.import_path import put_last
from sophron.warm_workers.job_message import Order


def warm() -> None:
    """Import all that a job step imports before it reads the workflow. About two seconds, once."""
    if "snakemake.cli" in sys.modules:
        return
    from snakemake.cli import parse_args
    from snakemake.common import parse_uri

    # Both are imported late by Snakemake: the plugins by its command line, and half of its start-up by the first path.
    parse_args(["--cores", "1"])
    parse_uri("Snakefile")
    gc.freeze()  # the forks share these pages as long as the collector does not touch them


def start(order: Order) -> int:
    """Fork a job step into a new session; return its process id."""
    warm()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _become(order)
    return pid


def _become(order: Order) -> NoReturn:
    code = 1
    try:
        os.setsid()
        for one in (signal.SIGTERM, signal.SIGINT):
            signal.signal(one, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        _redirect(Path(order.log))
        os.environ.update(order.environment)
        _reseed()
        put_last(order.folder)
        code = _snakemake(order.argv)
    except BaseException:  # noqa: BLE001 - nothing may return into the server's loop
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _snakemake(argv: list[str]) -> int:
    from snakemake.cli import main

    sys.argv = ["snakemake", *argv]
    try:
        main(argv)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 1  # main always exits


def _redirect(log: Path) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    os.dup2(null, 0)
    os.dup2(out, 1)
    os.dup2(out, 2)


def _reseed() -> None:
    """Forks of one process would all draw the same numbers; the standard library reseeds itself, numpy does not."""
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
