"""What a stage file of a pipeline needs around its science: the task, its environment, and a result in any case.

A stage file may do all this by itself; one that uses this module keeps to the contract of `schemas/debate`.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sophron.records import files
from sophron.science.estimators.refusal import Refusal

METADATA = Path("task_metadata.json")


def task() -> Mapping[str, Any]:
    """Return the task of this folder, as `schemas/debate/task_metadata.schema.yaml` has it."""
    read: Mapping[str, Any] = json.loads(METADATA.read_text(encoding="utf-8"))
    return read


def ns_per_window() -> float:
    """Return the nanoseconds to sample in each window; ValueError if the environment does not say."""
    return float(_variable("SOPHRON_NS_PER_WINDOW"))


def window() -> int:
    """Return the window that this process is to run, counted from 0."""
    return int(_variable("SOPHRON_WINDOW"))


def windows() -> int:
    """Return how many windows the pipeline declares."""
    return int(_variable("SOPHRON_WINDOWS"))


def seed() -> int:
    """Return the seed of all randomness of this process."""
    return int(_variable("SOPHRON_SEED"))


def platform() -> str:
    """Return the name of OpenMM's platform that this process was given."""
    return _variable("SOPHRON_PLATFORM")


def _variable(name: str) -> str:
    if name not in os.environ:
        raise ValueError(f"the variable {name} is not set; a stage file runs as a step of a pipeline")
    return os.environ[name]


class Refused(Exception):
    """Analysis gives no number. refusal: why."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


@dataclass
class Account:
    """What a stage fills in while it works; the keys of `schemas/debate/stage_result.schema.yaml`."""

    stage: int
    diagnostics: dict[str, object] = field(default_factory=dict)
    convergence_flags: dict[str, bool] = field(default_factory=dict)
    energy_components: dict[str, float | None] = field(default_factory=dict)
    delta_g_kcal_per_mol: float | None = None
    statistical_error_kcal_per_mol: float | None = None
    systematic_error_kcal_per_mol: float | None = None
    writer_notes: str = ""

    def document(self, wall_time_s: float, failure: Mapping[str, object] | None) -> dict[str, object]:
        """Return the result as plain data. failure: kind and sentence, None if nothing went wrong."""
        refused = failure is not None and "windows" in failure
        number = None if failure else self.delta_g_kcal_per_mol
        document: dict[str, object] = {
            "stage": self.stage,
            "status": "refused" if refused else "failed" if failure else "completed",
            "wall_time_seconds": wall_time_s,
            "delta_g_kcal_per_mol": number,
            "statistical_error_kcal_per_mol": None if number is None else self.statistical_error_kcal_per_mol,
            "systematic_error_kcal_per_mol": None if number is None else self.systematic_error_kcal_per_mol,
            "convergence_flags": self.convergence_flags,
            "energy_components": self.energy_components,
            "diagnostics": self.diagnostics,
            "writer_notes": self.writer_notes,
        }
        return document | ({"failure": dict(failure)} if failure else {})


@contextmanager
def reporting(stage: int) -> Iterator[Account]:
    """Write `stage_NN_result.json` when the block ends, however it ends; what was raised is raised again.

    A `Refused` is written as one and ends the block well: a refusal is a result.
    """
    begun, account = time.monotonic(), Account(stage)

    def write(failure: Mapping[str, object] | None) -> None:
        document = _finite(account.document(time.monotonic() - begun, failure))
        files.write_json(Path(f"stage_{stage:02d}_result.json"), document)

    try:
        yield account
    except Refused as error:
        refusal = error.refusal
        write({"kind": refusal.reason.value, "sentence": refusal.sentence, "windows": list(refusal.windows)})
    except BaseException as error:
        write({"kind": type(error).__name__, "sentence": str(error) or type(error).__name__})
        raise
    else:
        write(None)


def _finite(value: Any) -> Any:
    """Plain data in which what is not a number is null."""
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
