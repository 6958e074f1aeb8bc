"""Run the input of a stage to its last step, going on from what an earlier, killed try left behind."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sophron.interfaces.kind import EngineFailure, StepContext, UpstreamStep
from sophron.science.lammps import segments
from sophron.science.lammps.find import Lammps
from sophron.science.lammps.render import FileName, FreeText, Word, render
from sophron.science.lammps.run import run_lammps, stop_after_s
from sophron.science.viscosity.models import Model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TEMPLATES = Path(__file__).parent / "templates"
START = "start.data"
SEED_LIMIT = 2**31 - 1
LOG_LINES = 100
"""Thermo lines a run: enough to see its progress, too few to cost anything."""


@dataclass(frozen=True)
class Start:
    """Where a stage of LAMMPS begins: the finished step before it, and the model that came with its system."""

    step: UpstreamStep
    model: Model

    @classmethod
    def of(cls, ctx: StepContext, stage: str) -> Start:
        """From the upstream `stage`; its system is copied into the work folder as `start.data`."""
        step = ctx.one(stage)
        shutil.copyfile(step.files["system"], ctx.workdir / START)
        return cls(step, Model.of(step.result["model"]))

    @property
    def same(self) -> dict[str, Any]:
        """What a result repeats of the system that its step was given."""
        names = ("atoms", "chain_length", "bonds", "volume", "density", "model")
        return {name: self.step.result[name] for name in names}

    @property
    def values(self) -> dict[str, Any]:
        """What every input template needs: the model, and the data file to start from."""
        style = Word("bond" if self.model.bonds else "atomic")
        return {**self.model.values(), "atom_style": style, "data": FileName(START), "restart": None}


def lammps_input(ctx: StepContext, template: str, values: Mapping[str, Any], steps: int) -> str:
    """The input that `templates/<template>.in.j2` gives, with the values that every run has in common."""
    common = {"thermo_every": max(steps // LOG_LINES, 1), "stop_after_s": stop_after_s(ctx)}
    return render(TEMPLATES / f"{template}.in.j2", {**common, **values})


def free_text(ctx: StepContext) -> FreeText | None:
    """The definition's fragments, where it has any."""
    lines: Sequence[str] = ctx.definition.get("fragments", ())
    return FreeText(tuple(lines)) if lines else None


def run_to_end(
    ctx: StepContext, lammps: Lammps, template: str, values: Mapping[str, Any], *, series: Sequence[str], steps: int
) -> str:
    """Run until `steps` are done, or the wall time is over; returns the text of the log.

    The run goes on from the newest whole restart file in ctx.workdir, or starts afresh where there is none. Values
    that differ from try to try are made here: the restart file to read, names of files to write, and the seed of a
    thermostat (one that goes on gets another, so that it does not repeat its noise).
    """
    restart = segments.newest_restart(ctx.workdir)
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
        "fragments": free_text(ctx),
        "steps": steps,
    }
    text = lammps_input(ctx, template, {**values, **varying}, steps)
    return run_lammps(lammps, template, text, ctx, free_text=varying["fragments"] is not None).read_text()


def check_reached(sampled: NDArray[np.int64], last: int) -> None:
    """EngineFailure, curable by time, where LAMMPS stopped by itself before step `last`: its wall time was over."""
    reached = int(sampled[-1]) if sampled.size else 0
    if reached < last:
        raise EngineFailure(f"LAMMPS stopped at step {reached} of {last}: its wall time was over", curable_by="time")


def check_multiples(ctx: StepContext, of: str, *names: str) -> None:
    """EngineFailure unless each named value of the definition (where given) is a multiple of the value `of`."""
    for name in names:
        if ctx.definition.get(name, 0) % ctx.definition[of]:
            raise EngineFailure(
                f"{ctx.stage}.definition.{name}: {ctx.definition[name]} is not a multiple of {of}, "
                f"{ctx.definition[of]}; make it one"
            )
