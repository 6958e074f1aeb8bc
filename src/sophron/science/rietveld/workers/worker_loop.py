"""The loop of an engine's process. Standard library only: an engine's own Python need not have anything of ours."""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
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
