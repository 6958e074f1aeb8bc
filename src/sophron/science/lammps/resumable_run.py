"""Run an input to its last step, going on from what an earlier, killed try left behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sophron.interfaces.kind import EngineFailure, StepContext
from sophron.science.lammps import segments
from sophron.science.lammps.executable import Lammps
from sophron.science.lammps.render import FileName, FreeText, render
from sophron.science.lammps.run import run_lammps, stop_after_s

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SEED_LIMIT = 2**31 - 1
LOG_LINES = 100
"""Thermo lines a run: enough to see its progress, too few to cost anything."""


def lammps_input(ctx: StepContext, template: Path, values: Mapping[str, object], steps: int) -> str:
    """Return the input that `template` gives, with the values that every run has in common."""
    common = {"thermo_every": max(steps // LOG_LINES, 1), "stop_after_s": stop_after_s(ctx)}
    return render(template, {**common, **values})


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
    text = lammps_input(ctx, template, {**values, **varying}, steps)
    label = template.name.removesuffix(".in.j2")
    return run_lammps(lammps, label, text, ctx, free_text=fragments is not None).read_text()


def check_reached(sampled: NDArray[np.int64], last: int) -> None:
    """Raise EngineFailure, curable by time, if LAMMPS stopped before step `last` because its wall time was over."""
    reached = int(sampled[-1]) if sampled.size else 0
    if reached < last:
        raise EngineFailure(f"LAMMPS stopped at step {reached} of {last}: its wall time was over", curable_by="time")


def check_multiples(ctx: StepContext, of: str, *names: str) -> None:
    """Raise EngineFailure unless each named value of the definition (if given) is a multiple of the value `of`."""
    for name in names:
        if ctx.definition.get(name, 0) % ctx.definition[of]:
            raise EngineFailure(
                f"{ctx.stage}.definition.{name}: {ctx.definition[name]} is not a multiple of {of}, "
                f"{ctx.definition[of]}; make it one"
            )
