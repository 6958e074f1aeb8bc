"""Tries of a step: a folder of `records/<step>/` each, with a note of who ran it, how it ended and what it cost."""

import contextlib
import resource
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sophron.campaign.execution.outcome_store import record_folder
from sophron.campaign.spec.engines import TRY_NAME
from sophron.campaign.state.projector import project
from sophron.records import clock, documents, events, files, typed_json
from sophron.records.core_hours import charge
from sophron.records.typed_json import left_out

NAME = TRY_NAME


@dataclass(frozen=True, kw_only=True)
class Try:
    """One execution of a step, as its `try.json` has it. Times are ISO 8601 with offset; number: name of its folder.

    core_seconds: reserved cores x elapsed time. What ends it is written when it has ended, see `end`.
    """

    step: str
    started: str
    cores: int
    runtime_min: int = 0
    digest: str = ""
    engine: str | None = None
    pid: int = 0
    pid_start: str | None = None
    host: str = ""
    placement: Mapping[str, str | None] = field(default_factory=dict)
    number: int = left_out(0)
    status: str = left_out("running")
    reason: str | None = left_out()
    ended: str | None = left_out()
    core_seconds: float = left_out(0.0)


def tries_of(root: Path, step: str) -> list[Try]:
    """Return the tries of a step, first to last; UserError if the record of one is damaged."""
    paths = record_folder(root, step).glob(f"[0-9]*/{NAME}")
    # A record from before its rule was renamed names the old step.
    found = (replace(typed_json.load(path, Try), step=step, number=int(path.parent.name)) for path in paths)
    return sorted(found, key=lambda one: one.number)


def core_hours(found: Iterable[Try]) -> float:
    """Return the core-hours of tries together."""
    return sum(one.core_seconds for one in found) / 3600


def new(root: Path, step: str) -> Path:
    """Return the folder of the next try of a step."""
    folder = record_folder(root, step)
    numbers = [int(path.name) for path in folder.glob("[0-9]*") if path.name.isdigit()]
    path = folder / str(max(numbers, default=0) + 1)
    path.mkdir(parents=True)
    return path


@dataclass(frozen=True)
class Ending:
    """How a try ended, and why. measured: seconds and memory, if the try itself could still measure them."""

    status: str
    reason: str | None = None
    measured: Mapping[str, float] = field(default_factory=dict)


def end(root: Path, folder: Path, about: Mapping[str, Any], core_seconds: float, ending: Ending) -> None:
    """Charge a try, then record how it ended: a sum that is made again from the tries must not have it twice.

    about: what every event of the step says.
    """
    status, reason, measured = ending.status, ending.reason, ending.measured
    charge(root, core_seconds)
    ended = {"status": status, "reason": reason, "ended": clock.isoformat(), "core_seconds": round(core_seconds, 3)}
    files.write_json(folder / NAME, {**documents.load_record(folder / NAME), **ended, **measured})
    told = "failed" if status == "crashed" else status
    events.append(root, "sophron", "step_ended", **about, status=told, reason=reason, **measured)
    project(root)


def peak_memory_mb() -> float:
    """Return the peak resident memory in MB of the largest process of this step, engine or Python (Linux: KiB)."""
    peaks = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return round(max(peaks) * 1024 / 1e6, 1)


def close_open(root: Path, scratch: Path, about: Mapping[str, Any], ending: Ending) -> None:
    """End and charge tries that did not do so themselves: from their start to the last change of their scratch.

    Times of files are anybody's to set: no try is charged for more than it reserved, or beyond now.
    """
    for path in record_folder(root, about["step"]).glob(f"[0-9]*/{NAME}"):
        opened = typed_json.load(path, Try)
        if opened.ended:
            continue
        started = path.stat().st_mtime
        last = max(_changes(scratch), default=started)
        reserved = 60.0 * opened.runtime_min or float("inf")
        elapsed = max(0.0, min(last - started, reserved, time.time() - started))
        end(root, path.parent, about, opened.cores * elapsed, ending)


def _changes(folder: Path) -> Iterator[float]:
    """When each entry below a folder was changed: of a link itself, which may lead nowhere; not of what just went."""
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            yield path.lstat().st_mtime
