"""Stage equilibrate: NVT at the target temperature, then the mean total energy that makes NVE hold it."""

from __future__ import annotations

from sophron.interfaces.kind import StepContext, StepResult
from sophron.records.typed_json import to_json
from sophron.science.conductivity.build import begin, series_file
from sophron.science.lammps import logfile
from sophron.science.lammps.executable import find
from sophron.science.lammps.stage_run import all_samples, check_multiples, run_once, template

COLUMNS = 3
"""Columns of the series: temperature, potential energy, pressure."""


def run(ctx: StepContext) -> StepResult:
    """Thermostat the system, set its energy to the mean of the measured part, settle in NVE, write `system.data`.

    Langevin thermostat: canonical for a harmonic crystal too, where a Nose-Hoover chain need not be ergodic. The
    energy of one instant is off by its fluctuation, T / sqrt(3 N) in temperature; the mean is not.
    A run that was killed begins again.
    """
    from sophron.science.estimators.correlated_series import series_mean

    definition, lammps = ctx.definition, find()
    check_multiples(ctx, "sample_every", "discard_steps", "steps")
    start = begin(ctx, "build", lammps)
    names = ("temperature", "timestep", "damping", "discard_steps", "steps", "settle_steps", "sample_every")
    values = {
        **start.values,
        **{name: definition[name] for name in names},
        "degrees_of_freedom": 3 * start.system.atoms - 3,
        "seed": ctx.seed,
        "energy_file": series_file("energy"),
    }
    last = definition["discard_steps"] + definition["steps"]
    log = run_once(ctx, lammps, template("conductivity", "equilibrate"), values, last)
    taken = all_samples(ctx, "energy", COLUMNS, last, definition["sample_every"])
    kinetic, potential, pressure = taken.values[taken.steps > definition["discard_steps"]].T
    kinetic_energy = start.system.units.boltzmann * kinetic * (3 * start.system.atoms - 3) / 2
    temperature, total = series_mean(kinetic), series_mean((potential + kinetic_energy) / start.system.atoms)
    result = {
        **to_json(start.system),
        "temperature_target": definition["temperature"],
        "temperature_mean": temperature.mean,
        "temperature_error": temperature.error,
        "pressure_mean": float(pressure.mean()),
        "energy_mean": total.mean,
        "energy_error": total.error,
        "samples": len(kinetic),
    }
    return StepResult(result, {"system": ctx.workdir / "system.data"}, {"lammps": logfile.version(log)})
