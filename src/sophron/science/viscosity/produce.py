"""Stage produce: one NVE replica with stress samples, and a trajectory if there are chains to look at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sophron.interfaces.kind import StepContext, StepResult
from sophron.science.lammps import logfile, segments
from sophron.science.lammps.executable import find
from sophron.science.lammps.stage_run import all_samples, check_multiples, run_to_end, template
from sophron.science.viscosity.build import Start, begin, free_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SERIES = {"stress": 6, "energy": 3}
"""Series that LAMMPS samples, and their columns: six stress components; temperature, potential energy, pressure."""


def run(ctx: StepContext) -> StepResult:
    """Run `steps` steps of velocity Verlet at constant energy, from the system that equilibrate left.

    Writes `stress.npz`: `pressure` (samples, 6), float64, pressure tensor xx, yy, zz, xy, xz, yz in epsilon/sigma^3;
    `interval_tau`, `volume`, `temperature_target`, `first_step`, `every_steps`. And `trajectory.npz`: `positions`
    (frames, atoms, 3), float32, unwrapped, in sigma; `interval_tau`, `chain_length`; no frames if none are wanted.
    A killed run goes on from its newest restart file: no sample is missing and none is there twice. A run in one
    piece gives the same bytes every time, for one program and one number of ranks.
    """
    definition = ctx.definition
    check_multiples(ctx, "sample_every", "steps", "restart_every")
    check_multiples(ctx, "thermo_every", "steps", "restart_every")
    frame_every = definition.get("frame_every", 0)
    if frame_every:
        check_multiples(ctx, "frame_every", "steps", "restart_every")
    start = begin(ctx, "equilibrate")
    own = {name: definition[name] for name in ("timestep", "sample_every", "restart_every")}
    every = {"thermo_sample_every": definition["thermo_every"], "frame_every": frame_every}
    steps = definition["steps"]
    values = {**start.values, **own, **every}
    log = run_to_end(
        ctx,
        find(),
        template("viscosity", "produce"),
        values,
        series=list(SERIES),
        steps=steps,
        fragments=free_text(ctx),
    )
    stress = all_samples(ctx, "stress", SERIES["stress"], steps, own["sample_every"])
    energy = all_samples(ctx, "energy", SERIES["energy"], steps, definition["thermo_every"])
    positions = _frames(ctx, start, frame_every)
    files = {
        "stress": _write_stress(ctx, start, stress.values),
        "trajectory": _write_trajectory(ctx, start, positions, frame_every),
    }
    result = {
        **{name: getattr(start.system, name) for name in ("atoms", "chain_length", "volume", "density")},
        "timestep": definition["timestep"],
        "steps": steps,
        "samples": len(stress.values),
        "frames": len(positions),
        "temperature_target": start.step.result["temperature_target"],
        **energy_summary(energy.values, start.system.atoms),
        "continued": stress.pieces - 1,
    }
    return StepResult(result, files, {"lammps": logfile.version(log)})


def energy_summary(samples: Array, atoms: int) -> dict[str, float | None]:
    """Return the means and errors of temperature and pressure, and the drift of the total energy a bead (epsilon).

    An error is None if the run is too short to tell.

    samples: (n, 3), temperature, potential energy of the system, pressure. The drift is the slope of a straight line
    through the energy, times the length of the run.
    """
    import numpy as np

    from sophron.science.estimators.correlated_series import series_mean

    temperature, potential, pressure = samples.T
    energy = (potential + temperature * (3 * atoms - 3) / 2) / atoms
    along = np.linspace(0, 1, len(energy))
    mean_temperature, mean_pressure = series_mean(temperature), series_mean(pressure)
    return {
        "temperature_mean": mean_temperature.mean,
        "temperature_error": mean_temperature.error,
        "pressure_mean": mean_pressure.mean,
        "pressure_error": mean_pressure.error,
        "energy_mean": float(energy.mean()),
        "energy_drift": float(np.polyfit(along, energy, 1)[0]),
    }


def _frames(ctx: StepContext, start: Start, every: int) -> Any:
    """All frames, (frames, atoms, 3), checked to be complete."""
    taken = segments.frames(ctx.workdir, start.system.atoms)
    if every:
        segments.check_complete(taken.steps, "trajectory", ctx.definition["steps"], every)
    return taken.values


def _write_stress(ctx: StepContext, start: Start, pressure: Array) -> Path:
    import numpy as np

    path = ctx.workdir / "stress.npz"
    np.savez(
        path,
        pressure=pressure,
        interval_tau=ctx.definition["sample_every"] * ctx.definition["timestep"],
        volume=start.system.volume,
        temperature_target=start.step.result["temperature_target"],
        first_step=0,
        every_steps=ctx.definition["sample_every"],
    )
    return path


def _write_trajectory(ctx: StepContext, start: Start, positions: Any, every: int) -> Path:
    import numpy as np

    path = ctx.workdir / "trajectory.npz"
    interval = every * ctx.definition["timestep"]
    np.savez(path, positions=positions, interval_tau=interval, chain_length=start.system.chain_length)
    return path
