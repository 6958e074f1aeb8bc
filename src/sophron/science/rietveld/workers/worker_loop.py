"""The loop of an engine's process. Standard library only: an engine's own Python need not have anything of ours."""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

MEMORY_BYTES = 6 * 1024**3
"""Address space: a broken CIF can ask for any number of reflections."""

GRACE_S = 5


class RequestError(Exception):
    """What was asked cannot be: one sentence for the user."""


class EngineRunError(Exception):
    """The engine failed; what it said, in one sentence."""


def serve(operations: Mapping[str, Callable[..., Any]]) -> None:
    """Answer requests `{"do": name, "limit_s": seconds, "with": arguments}` until standard input ends.

    An answer is `{"ok": ...}`, `{"refused": sentence}` or `{"failed": sentence}`. What the engine prints goes to
    standard error: the answers have standard output to themselves.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with contextlib.suppress(ValueError, OSError):  # a lower limit is set already
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    _say(answers, {"ok": "ready"})
    for line in sys.stdin:
        asked = json.loads(line)
        # The default action ends this process whatever it is doing, also if nobody is left to stop it.
        signal.alarm(math.ceil(asked["limit_s"]) + GRACE_S)
        _say(answers, answer(operations[asked["do"]], asked["with"]))
        signal.alarm(0)


def answer(operation: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the operation came to: `ok`, `refused` or `failed`."""
    try:
        return {"ok": operation(**arguments)}
    except RequestError as refusal:
        return {"refused": first_sentence(str(refusal))}
    except EngineRunError as failure:
        return {"failed": first_sentence(str(failure))}
    except Exception as error:  # noqa: BLE001 - whatever an engine raises is an answer
        traceback.print_exc()
        return {"failed": f"{type(error).__name__}: {first_sentence(str(error))}"}


def _say(answers: Any, said: Mapping[str, Any]) -> None:
    answers.write(json.dumps(said) + "\n")
    answers.flush()


def finite(value: Any) -> Any:
    """JSON has no NaN: what is not a number is said to be unknown."""
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def first_sentence(text: str, most: int = 300) -> str:
    """Return the beginning of what an engine said, on one line."""
    line = " ".join(text.split())
    end = line.find(". ")
    line = line[:end] if end > 0 else line.removesuffix(".")
    return line if len(line) <= most else line[: most - 3] + "..."


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
