"""Stage equilibrate: NVT at the target temperature, then the total energy that makes NVE hold that temperature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.records.typed_json import to_json
from sophron.science.lammps import logfile
from sophron.science.lammps.executable import Lammps, find
from sophron.science.lammps.render import FileName
from sophron.science.lammps.stage_run import all_samples, run_once, run_to_end, template
from sophron.science.viscosity.build import Start, begin, free_text, read_positions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Series = NDArray[np.float64]

SAMPLE_EVERY = 10
"""Steps between samples of temperature and energy."""

BLOCKS = 25
"""Blocks whose means tell how total energy and temperature fluctuate together over long times."""


@dataclass(frozen=True)
class Energy:
    """Canonical mean of the total energy a bead at the target temperature, and its standard error (both epsilon).

    error: None if the run is too short to tell. heat_capacity: at constant volume, a bead, in Boltzmann constants.
    correlation_samples: longest correlation time of the total energy, in samples.
    """

    mean: float
    error: float | None
    heat_capacity: float
    correlation_samples: float


def run(ctx: StepContext) -> StepResult:
    """Thermostat the system, set its energy, let it settle in NVE, and write `system.data`.

    Thermostat: Langevin, because it is canonical and ergodic for every system size and damps the slow modes of
    chains too; its net force is zeroed, so that the centre of mass rests and 3 N - 3 degrees of freedom are thermal.

    Holding the temperature: an NVE run keeps whatever energy it was handed, and the energy of one instant of an NVT
    run is off by its fluctuation, T sqrt(c N), which shifts the mean temperature of 500 beads by some 0.02. So the
    mean total energy <E> of the whole NVT run is measured (`canonical_energy`), and the velocities are multiplied
    once so that the kinetic energy is <E> less the potential energy of that instant. The mean temperature of NVE
    then is the target within error(<E>) / heat capacity, reported as `temperature_uncertainty`, plus a difference of
    the ensembles of order T/N. `settle_steps` of NVE let kinetic and potential energy share the change.
    """
    from sophron.science.estimators.correlated_series import series_mean
    from sophron.science.estimators.structure import structure_peak

    start, engine = begin(ctx, "relax"), find()
    kinetic, total, pressure = _thermostatted(ctx, start, engine)
    atoms, target = start.system.atoms, ctx.definition["temperature"]
    energy = canonical_energy(kinetic, total / atoms, target, atoms)
    log = _settled(ctx, start, engine, energy.mean * atoms)
    before, after = logfile.tables(log)
    measured = series_mean(kinetic)
    system = read_positions(ctx.workdir / "system.data", start.system.chain_length)
    result = {
        **to_json(start.system),
        "structure_peak": structure_peak(system.positions, system.length),
        "temperature_target": target,
        "temperature_mean": measured.mean,
        "temperature_error": measured.error,
        "pressure_mean": float(pressure.mean()),
        "energy_target": energy.mean,
        "energy_error": energy.error,
        "temperature_uncertainty": None if energy.error is None else energy.error / energy.heat_capacity,
        "heat_capacity": energy.heat_capacity,
        "velocity_scale": math.sqrt(after.column("Temp")[0] / before.column("Temp")[0]),
        "settled_energy": after.column("TotEng")[-1],
        "samples": len(kinetic),
        "correlation_time": energy.correlation_samples * SAMPLE_EVERY * ctx.definition["timestep"],
    }
    return StepResult(result, {"system": ctx.workdir / "system.data"}, {"lammps": logfile.version(log)})


def canonical_energy(kinetic: Series, total: Series, target: float, atoms: int) -> Energy:
    """Mean of the total energy at `target` from NVT samples of the kinetic temperature and of the energy a bead.

    In the canonical ensemble the mean temperature is known, so what the measured one is off by is a control variate:
    <E> = mean(E) - b (mean(T) - target), with b the regression of block means of E on those of T. Over blocks longer
    than the thermostat's relaxation time both follow the slow exchange of energy with it, which this removes.
    """
    import numpy as np

    from sophron.science.estimators.correlated_series import series_mean

    length = len(kinetic) // BLOCKS
    blocks = [series[: length * BLOCKS].reshape(BLOCKS, length).mean(axis=1) for series in (kinetic, total)]
    covariance = np.cov(blocks[0], blocks[1])
    slope = covariance[0, 1] / covariance[0, 0]
    corrected = series_mean(total - slope * (kinetic - target))
    return Energy(
        mean=corrected.mean,
        error=corrected.error,
        heat_capacity=float(total.var(ddof=1)) * atoms / target**2,
        correlation_samples=series_mean(total).time,
    )


def _thermostatted(ctx: StepContext, start: Start, engine: Lammps) -> tuple[Series, Series, Series]:
    """Run NVT to its end; kinetic temperature, total energy of the system and pressure at each measured sample."""
    definition = ctx.definition
    for name in ("discard_steps", "steps", "restart_every"):
        if definition.get(name, 0) % SAMPLE_EVERY:
            raise EngineFailure(f"equilibrate.definition.{name}: {definition[name]} is no multiple of {SAMPLE_EVERY}")
    last = definition["discard_steps"] + definition["steps"]
    own = {name: definition[name] for name in ("temperature", "timestep", "damping")}
    every = {"sample_every": SAMPLE_EVERY, "restart_every": definition.get("restart_every", 0)}
    values = {**start.values, **own, **every}
    run_to_end(
        ctx,
        engine,
        template("viscosity", "equilibrate"),
        values,
        series=["energy"],
        steps=last,
        fragments=free_text(ctx),
    )
    taken = all_samples(ctx, "energy", 3, last, SAMPLE_EVERY)
    kinetic, potential, pressure = taken.values[taken.steps > definition["discard_steps"]].T
    return kinetic, potential + kinetic * (3 * start.system.atoms - 3) / 2, pressure


def _settled(ctx: StepContext, start: Start, engine: Lammps, energy: float) -> str:
    """Set the total energy and run NVE; the text of the log, with one thermo table before and one after."""
    values = {
        **start.values,
        "data": FileName("thermostatted.data"),
        "timestep": ctx.definition["timestep"],
        "steps": ctx.definition["settle_steps"],
        "energy_target": energy,
        "degrees_of_freedom": 3 * start.system.atoms - 3,
    }
    return run_once(ctx, engine, template("viscosity", "settle"), values, ctx.definition["settle_steps"])
