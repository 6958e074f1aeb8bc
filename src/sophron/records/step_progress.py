"""progress.json: how far a running step is. The step writes it into its scratch folder, whoever looks on reads it."""

import json
import math
import os
import stat
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeGuard

from sophron.interfaces.engine import Progress
from sophron.records import files

NAME = "progress.json"
LARGEST = 1 << 22
"""Bytes of a file that is read for progress: a sandboxed program may have made it."""


class Meter:
    """Keeps `folder/progress.json` while a step counts up to `total`; done: what earlier tries did."""

    def __init__(self, folder: Path, total: int, done: int = 0) -> None:
        self._path, self._total, self._first, self._begun = folder / NAME, total, done, time.monotonic()
        self.at(done)

    def at(self, done: int) -> None:
        """Write how far it is."""
        speed = (done - self._first) / max(time.monotonic() - self._begun, 1e-9)
        files.write_json(self._path, {"step": done, "total": self._total, "steps_per_s": speed or None})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the file: a finished result holds no clock."""
        self._path.unlink(missing_ok=True)


def read(path: Path, unit: str) -> Progress | None:
    """Return what a Meter wrote; None if it is not there or is not that. unit: what was counted."""
    kept = read_json(path)
    step, total, speed = (kept.get(key) if kept else None for key in ("step", "total", "steps_per_s"))
    if not (_is_count(step) and _is_count(total)):
        return None
    if not isinstance(speed, float) or not math.isfinite(speed) or speed <= 0:
        return Progress(step, total, unit=unit)
    return Progress(step, total, speed, max(total - step, 0) / speed, unit)


def without_end(found: Progress | None) -> Progress | None:
    """Return the same without `seconds_left`: what was counted is a part of the step only."""
    return found and replace(found, seconds_left=None)


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the object in a plain, not too large file, whoever made it; None if it is anything else."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as stream:
            about = os.fstat(handle)
            plain = stat.S_ISREG(about.st_mode) and about.st_size <= LARGEST
            content = json.loads(stream.read(LARGEST)) if plain else None
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53
