"""One process and one folder a question, for engines that keep state in their modules and leave files behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sophron.science.rietveld.workers.worker_loop import EngineRunError, RequestError, answer


def apart(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Return the operation, run in a fork with an empty folder of its own; its result comes back through a file."""

    def run(**arguments: Any) -> Any:
        folder = Path(tempfile.mkdtemp(dir=Path.cwd()))
        try:
            return _outcome(folder, _fork(folder, operation, arguments))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    return run


def _fork(folder: Path, operation: Callable[..., Any], arguments: dict[str, Any]) -> int:
    """The wait status of the fork. It gets what is left of the time: a fork does not inherit an alarm."""
    left = signal.getitimer(signal.ITIMER_REAL)[0]
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    status = 1
    try:
        signal.setitimer(signal.ITIMER_REAL, left)
        work = folder / "work"
        work.mkdir()
        os.chdir(work)
        (folder / "answer.json").write_text(json.dumps(answer(operation, arguments)), encoding="utf-8")
        status = 0
    finally:
        os._exit(status)  # nothing of the parent's is flushed or closed twice


def _outcome(folder: Path, status: int) -> Any:
    if status != 0:
        ending = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit code {os.WEXITSTATUS(status)}"
        raise EngineRunError(f"the engine stopped with {ending}")
    found = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
    if "refused" in found:
        raise RequestError(found["refused"])
    if "failed" in found:
        raise EngineRunError(found["failed"])
    return found["ok"]
