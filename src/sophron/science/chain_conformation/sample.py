"""Stages sample_*: the same run of Langevin dynamics, executed by one of the backends under comparison."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sophron.interfaces.kind import EnvironmentFailure, StepContext, StepResult
from sophron.records import clock, documents
from sophron.records.digests import file_digest, step_name
from sophron.records.errors import UserError
from sophron.records.files import write_json
from sophron.records.typed_json import from_json
from sophron.science.chain_conformation.build import Model, Start, begin
from sophron.science.chain_conformation.execution_backends import WAYS, Place, Ran, Way
from sophron.science.lammps import logfile
from sophron.science.lammps.executable import find
from sophron.science.lammps.render import FileName
from sophron.science.lammps.stage_run import START, all_samples, check_multiples, run_once, template

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Series = NDArray[np.float64]

COLUMNS = 2
"""Columns of the series: squared radius of gyration, mean over chains; kinetic temperature."""
LOOP = re.compile(r"^Loop time of (?P<seconds>\S+) on (?P<ranks>\d+) procs", re.MULTILINE)
STYLE = re.compile(r"\(\d+\) pair \S+/(?P<suffix>gpu|kk|omp|opt|intel)\b")


def run(ctx: StepContext) -> StepResult:
    """Sample the squared radius of gyration from the equilibrated system, with the seed that all ways share.

    Writes `series.npz`: `squared_radius` and `temperature`, (samples,), without the discarded ones, `interval_tau`;
    and `ran.json`: where it ran by the record of its try, ranks and seconds by the log of LAMMPS. A killed run begins
    again: the noise of the thermostat does not go on from a restart file. UserError, before anything runs, in a place
    that is not the one its stage stands for.
    """
    way, step = WAYS[ctx.stage], step_name(ctx.stage, ctx.wildcards)
    record = documents.load_json(ctx.log_dir / "try.json")
    _check_place(way, step, from_json(Place, record["placement"]), ctx.cores.ranks)
    check_multiples(ctx, "sample_every", "discard_steps", "steps")
    start, begun, begun_at = begin(ctx, "equilibrate"), time.monotonic(), clock.isoformat()
    lammps, last = find(), ctx.definition["discard_steps"] + ctx.definition["steps"]
    log = run_once(ctx, lammps, template("chain_conformation", "sample"), _values(ctx, start, last), last)
    timing = {"started": begun_at, "ended": clock.isoformat(), "wall_s": time.monotonic() - begun}
    taken = all_samples(ctx, "radius", COLUMNS, last, ctx.definition["sample_every"])
    ran = _ran(ctx, step, record["placement"], log) | timing
    contradiction = way.unlike(from_json(Ran, ran))
    if contradiction:
        raise EnvironmentFailure(f"{step} claims to run {way.claim}, but {contradiction}; run it again: {way.command}")
    squared, temperature = taken.values[taken.steps > ctx.definition["discard_steps"]].T
    files = {"series": _write_series(ctx, squared, temperature), "ran": ctx.workdir / "ran.json"}
    write_json(files["ran"], ran)
    result = _result(ctx, start, squared, temperature) | {"ranks": ran["ranks"]}
    return StepResult(result, files, {"lammps": logfile.version(log)})


def _check_place(way: Way, step: str, place: Place, ranks: int) -> None:
    """Refuse to run in another place, or on fewer ranks, than the stage stands for: the run would be thrown away."""
    found = way.misplaced(place)
    if found:
        raise UserError(f"{step} is to run {way.claim}, and this is {found}; run it so: {way.command}")
    if ranks < way.least_ranks:
        raise UserError(
            f"{step} needs {way.least_ranks} MPI ranks at least and may use {ranks}; give as many cores, or raise "
            f"stages.{way.stage}.mechanical.ranks"
        )


def _values(ctx: StepContext, start: Start, last: int) -> dict[str, object]:
    before = start.step.result
    return {
        **start.values,
        "temperature": before["temperature_target"],
        "timestep": before["timestep"],
        "damping": before["damping"],
        "seed": before["sampling_seed"],
        "sample_every": ctx.definition["sample_every"],
        "steps": last,
        "radius_file": FileName("radius.0.dat"),
    }


def _ran(ctx: StepContext, step: str, placement: Mapping[str, str | None], log: str) -> dict[str, object]:
    """Where and how it ran: the record of the try, and what LAMMPS itself says of ranks, styles and seconds."""
    loop = list(LOOP.finditer(log))[-1]
    return {
        "step": step,
        "try": ctx.log_dir.name,
        "placement": placement,
        "ranks": int(loop["ranks"]),
        "suffixes": sorted({found["suffix"] for found in STYLE.finditer(log)}),
        "lammps": logfile.version(log),
        "engine_s": float(loop["seconds"]),
    }


def _result(ctx: StepContext, start: Start, squared: Series, temperature: Series) -> dict[str, object]:
    from sophron.science.chain_conformation.gyration import radius
    from sophron.science.estimators.correlated_series import series_mean

    mean, before = series_mean(squared), start.step.result
    interval = ctx.definition["sample_every"] * before["timestep"]
    found = radius([mean])
    relaxation = mean.time * interval
    exact = Model.of(start.system.model).exact_squared_radius(before["chain_length"], before["temperature_target"])
    return {
        "radius_of_gyration": found.value,
        "radius_of_gyration_error": found.error,
        "squared_radius": mean.mean,
        "squared_radius_error": mean.error,
        "exact_squared_radius": exact,
        "effective_samples": mean.effective_samples,
        "relaxation_time": relaxation,
        "discarded_relaxation_times": ctx.definition["discard_steps"] * before["timestep"] / relaxation,
        "samples": len(squared),
        "temperature_target": before["temperature_target"],
        "temperature_mean": float(temperature.mean()),
        "seed": before["sampling_seed"],
        "start_sha256": file_digest(ctx.workdir / START),
    }


def _write_series(ctx: StepContext, squared: Series, temperature: Series) -> Path:
    import numpy as np

    path = ctx.workdir / "series.npz"
    interval = ctx.definition["sample_every"] * ctx.one("equilibrate").result["timestep"]
    np.savez(path, squared_radius=squared, temperature=temperature, interval_tau=interval)
    return path
