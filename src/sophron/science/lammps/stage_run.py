"""Run LAMMPS in a stage: from the finished step before it, on to the last step of a run, to all of its samples."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from sophron.interfaces.kind import EngineFailure, StepContext, UpstreamStep
from sophron.records.typed_json import from_json
from sophron.science.lammps import segments
from sophron.science.lammps.executable import Lammps
from sophron.science.lammps.render import FileName, FreeText, render
from sophron.science.lammps.run import run_lammps, stop_after_s

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


SEED_LIMIT = 2**31 - 1
LOG_LINES = 100
"""Thermo lines a run: enough to see its progress, too few to cost anything."""


def run_once(
    ctx: StepContext,
    lammps: Lammps,
    template: Path,
    values: Mapping[str, object],
    steps: int,
    *,
    free_text: bool = False,
) -> str:
    """Run the input that `template` gives; return the text of the log. A try that was killed begins again.

    values: beside those that every run has in common; free_text: whether they hold lines that are not ours.
    """
    common = {"thermo_every": max(steps // LOG_LINES, 1), "stop_after_s": stop_after_s(ctx)}
    label, text = template.name.removesuffix(".in.j2"), render(template, {**common, **values})
    return run_lammps(lammps, label, text, ctx, free_text=free_text).read_text()


def run_to_end(
    ctx: StepContext,
    lammps: Lammps,
    template: Path,
    values: Mapping[str, object],
    *,
    series: Sequence[str],
    steps: int,
    fragments: FreeText | None = None,
) -> str:
    """Run until `steps` are done, or the wall time is over; returns the text of the log.

    The run goes on from the newest whole restart file in ctx.workdir, or starts afresh if there is none. Values that
    differ from try to try are made here: the restart file to read, names of files to write (`<series>_file`,
    `frames_file`, `restart_a`, `_b`, `_end`), and `seed`, of a thermostat (one that goes on gets another, so that it
    does not repeat its noise). fragments: free engine text of the definition, run in the sandbox.
    """
    restart = segments.newest_restart(ctx.workdir, series)
    if restart is None:
        segments.discard(ctx.workdir, series)
    number = segments.next_number(ctx.workdir, series)
    names = {f"{name}_file": FileName(f"{name}.{number}.dat") for name in series}
    names |= {f"restart_{part}": FileName(f"run.{number}.{part}.restart") for part in ("a", "b", "end")}
    varying = {
        **names,
        "frames_file": FileName(f"frames.{number}.dcd"),
        "restart": FileName(restart.name) if restart else None,
        "seed": (ctx.seed + number - 1) % SEED_LIMIT + 1,
        "fragments": fragments,
        "steps": steps,
    }
    return run_once(ctx, lammps, template, {**values, **varying}, steps, free_text=fragments is not None)


def all_samples(ctx: StepContext, name: str, columns: int, last: int, every: int) -> segments.Joined:
    """Return the samples of a series, one every `every` steps up to `last`.

    EngineFailure if one is missing; curable by time if LAMMPS stopped before `last` because its wall time was over.
    """
    taken = segments.samples(ctx.workdir, name, columns)
    reached = int(taken.steps[-1]) if taken.steps.size else 0
    if reached < last:
        raise EngineFailure(f"LAMMPS stopped at step {reached} of {last}: its wall time was over", curable_by="time")
    segments.check_complete(taken.steps, name, last, every)
    return taken


def check_multiples(ctx: StepContext, of: str, *names: str) -> None:
    """Raise EngineFailure unless each named value of the definition (if given) is a multiple of the value `of`."""
    for name in names:
        if ctx.definition.get(name, 0) % ctx.definition[of]:
            raise EngineFailure(
                f"{ctx.stage}.definition.{name}: {ctx.definition[name]} is not a multiple of {of}, "
                f"{ctx.definition[of]}; make it one"
            )
