"""Stage green_kubo_flux: one NVE replica with samples of the heat flux from a per-atom stress."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sophron.interfaces.kind import StepContext, StepResult
from sophron.records.typed_json import to_json
from sophron.science.conductivity.build import Start, begin
from sophron.science.lammps import logfile
from sophron.science.lammps.executable import find
from sophron.science.lammps.render import Word
from sophron.science.lammps.stage_run import all_samples, check_multiples, run_to_end, template

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COLUMNS = 5
"""Columns of the series: heat flux along x, y, z (energy times velocity), temperature, potential energy."""


def run(ctx: StepContext) -> StepResult:
    """Run velocity Verlet at constant energy and sample the flux that `compute heat/flux` makes of the stress compute.

    Whether that flux is the true one depends on pair style and compute: LAMMPS refuses some pairs at the run
    (EngineFailure with its words), and runs others that are wrong (the pitfall many-body-heat-flux).
    Writes `flux.npz`: `flux` (samples, 3), float64, energy x length / time; `interval`, `volume`,
    `temperature_target`. A killed run goes on from its newest restart file.
    """
    definition, lammps = ctx.definition, find()
    check_multiples(ctx, "sample_every", "steps", "restart_every")
    start, steps = begin(ctx, "equilibrate", lammps), definition["steps"]
    values = {
        **start.values,
        **{name: definition[name] for name in ("timestep", "sample_every", "restart_every")},
        "stress_compute": Word(definition["heat_flux"]["compute"]),
    }
    log = run_to_end(ctx, lammps, template("conductivity", "green_kubo_flux"), values, series=["flux"], steps=steps)
    taken = all_samples(ctx, "flux", COLUMNS, steps, definition["sample_every"])
    result = {
        **to_json(start.system),
        "compute": definition["heat_flux"]["compute"],
        "temperature_target": start.step.result["temperature_target"],
        **summary(taken.values, start),
        "samples": len(taken.values),
        "continued": taken.pieces - 1,
    }
    flux = _write(ctx, start, taken.values[:, :3])
    return StepResult(result, {"flux": flux}, {"lammps": logfile.version(log)})


def summary(samples: NDArray[np.float64], start: Start) -> dict[str, float | None]:
    """Temperature with its error, and the drift of the total energy an atom over the run, by a straight line."""
    import numpy as np

    from sophron.science.estimators.correlated_series import series_mean

    kinetic, potential = samples[:, 3:].T
    energy = (
        potential + start.system.units.boltzmann * kinetic * (3 * start.system.atoms - 3) / 2
    ) / start.system.atoms
    mean = series_mean(kinetic)
    drift = float(np.polyfit(np.linspace(0, 1, len(energy)), energy, 1)[0])
    return {"temperature_mean": mean.mean, "temperature_error": mean.error, "energy_drift": drift}


def _write(ctx: StepContext, start: Start, flux: NDArray[np.float64]) -> Path:
    import numpy as np

    path = ctx.workdir / "flux.npz"
    np.savez(
        path,
        flux=flux,
        interval=ctx.definition["sample_every"] * ctx.definition["timestep"],
        volume=start.system.volume,
        temperature_target=start.step.result["temperature_target"],
    )
    return path
