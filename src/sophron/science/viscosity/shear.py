"""Stage shear: the viscosity at one shear rate by SLLOD, with Lees-Edwards boundaries as a deforming box."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sophron.interfaces.kind import StepContext, StepResult
from sophron.science.lammps import logfile
from sophron.science.lammps.executable import find
from sophron.science.lammps.stage_run import all_samples, check_multiples, run_to_end, template
from sophron.science.viscosity.build import Start, begin

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

COLUMNS = 7
"""Six stress components and the temperature of the peculiar velocities."""


def run(ctx: StepContext) -> StepResult:
    """Shear the equilibrated system at the rate of the wildcard, drop the first steps, measure the rest.

    Equations of motion: SLLOD with a Nose-Hoover thermostat on the peculiar velocities (Evans and Morriss 1984,
    10.1103/PhysRevA.30.1528). Viscosity = -<Pxy> / rate. `stress.npz` holds `pressure` (samples, 6) as produce has
    it, `interval_tau`, `volume` and `rate`. A killed run goes on from its newest restart file.
    """
    definition, rate = ctx.definition, float(ctx.wildcards["rate"])
    check_multiples(ctx, "sample_every", "steps", "discard_steps", "restart_every")
    start = begin(ctx, "equilibrate")
    last = definition["discard_steps"] + definition["steps"]
    own = {name: definition[name] for name in ("temperature", "timestep", "damping", "sample_every", "restart_every")}
    values = {**start.values, **own, "rate": rate, "length": start.system.volume ** (1 / 3)}
    log = run_to_end(ctx, find(), template("viscosity", "shear"), values, series=["stress"], steps=last)
    taken = all_samples(ctx, "stress", COLUMNS, last, definition["sample_every"])
    measured = taken.values[taken.steps > definition["discard_steps"]]
    result = {
        **summary(measured, rate, definition["sample_every"] * definition["timestep"]),
        "strain": rate * definition["steps"] * definition["timestep"],
        "continued": taken.pieces - 1,
    }
    return StepResult(result, {"stress": _write_stress(ctx, start, measured)}, {"lammps": logfile.version(log)})


def summary(samples: Array, rate: float, interval_tau: float) -> dict[str, float | None]:
    """Viscosity, normal stress difference, temperature and pressure with errors that count the autocorrelation.

    An error is None if the run is too short to tell.

    samples: (n, 7), pressure tensor xx, yy, zz, xy, xz, yz (epsilon/sigma^3) and temperature (epsilon).
    """
    from sophron.science.estimators.correlated_series import series_mean

    xx, yy, zz, xy = samples[:, :4].T
    shear_stress, normal, temperature = series_mean(-xy), series_mean(yy - xx), series_mean(samples[:, 6])
    return {
        "rate": rate,
        "viscosity": shear_stress.mean / rate,
        "viscosity_error": None if shear_stress.error is None else shear_stress.error / rate,
        "viscosity_degrees_of_freedom": None if shear_stress.error is None else shear_stress.degrees_of_freedom,
        "first_normal_stress_difference": normal.mean,
        "first_normal_stress_difference_error": normal.error,
        "temperature_mean": temperature.mean,
        "temperature_error": temperature.error,
        "pressure_mean": float((xx + yy + zz).mean() / 3),
        "samples": len(samples),
        "correlation_time": shear_stress.time * interval_tau,
    }


def _write_stress(ctx: StepContext, start: Start, samples: Array) -> Path:
    import numpy as np

    path = ctx.workdir / "stress.npz"
    np.savez(
        path,
        pressure=samples[:, :6],
        interval_tau=ctx.definition["sample_every"] * ctx.definition["timestep"],
        volume=start.system.volume,
        rate=float(ctx.wildcards["rate"]),
    )
    return path
