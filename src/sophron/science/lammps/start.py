"""Where a stage that runs LAMMPS begins: the finished step before it, its system, and the input templates."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from sophron.interfaces.kind import StepContext, UpstreamStep
from sophron.records.typed_json import from_json

S = TypeVar("S")
SCIENCE = Path(__file__).resolve().parents[1]
START = "start.data"


@dataclass(frozen=True)
class Start(Generic[S]):
    """The finished step before this one; its system lies in the work folder as `start.data`.

    system: what results repeat of it, a dataclass of the kind; values: what every input template of the kind needs.
    """

    step: UpstreamStep
    system: S
    values: Mapping[str, object]


def begin(ctx: StepContext, stage: str, system: type[S]) -> tuple[UpstreamStep, S]:
    """Copy the system of the upstream `stage` into the work folder; return its step, and what the result says of it."""
    step = ctx.one(stage)
    shutil.copyfile(step.files["system"], ctx.workdir / START)
    return step, from_json(system, step.result)


def template(kind: str, name: str) -> Path:
    """Return the path of the input template `name` of a kind."""
    return SCIENCE / kind / "templates" / f"{name}.in.j2"
