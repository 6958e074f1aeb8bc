"""From a built complex to one that can be sampled: minimised, at its temperature, and in a box at its density.

A box is brought to its density before there are dummies, because a barostat would move them with the molecules.
Meanwhile the heavy atoms of host and guest are held where they were built, so that the pull keeps its direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.interfaces.kind import EngineFailure
from sophron.science.host_guest.preparation.complex_builder import Built
from sophron.science.host_guest.sampling.openmm_system import KJ_PER_KCAL, NM_PER_A, openmm, platform, solvated

if TYPE_CHECKING:
    from numpy.typing import NDArray

PRESSURE_BAR = 1.01325
BAROSTAT_STEPS = 25
FRICTION_PER_PS = 1.0
TIME_STEP_PS = 0.004
FIRST_STEP_PS = 0.001
"""Of the first part of the first run, while what minimisation left settles."""
HOLD_K = 5.0
"""kcal/mol/Angstrom^2, without 1/2"""
BOLTZMANN_KJ_PER_MOL_K = 8.31446261815324e-3
AMU_PER_NM3_IN_G_PER_ML = 1.66053907e-3
RECORDS = 50


@dataclass(frozen=True)
class Bath:
    """The thermostat: temperature in K, and the seed of its noise."""

    temperature_k: float
    seed: int


@dataclass(frozen=True)
class Relaxed:
    """positions_a: shape (atoms, 3), in Angstrom; box_a: edges, or None; diagnostics: by the names of stage_result."""

    positions_a: NDArray[np.float64]
    box_a: tuple[float, float, float] | None
    diagnostics: Mapping[str, float] = field(default_factory=dict)


def start(built: Built) -> Relaxed:
    """Return the positions and box as they were built."""
    from openmm import app, unit

    files = app.AmberInpcrdFile(str(built.coordinates))
    positions = np.array(files.positions.value_in_unit(unit.angstrom))
    if files.boxVectors is None:
        return Relaxed(positions, None)
    edges = np.array(files.boxVectors.value_in_unit(unit.angstrom))
    return Relaxed(positions, (float(edges[0][0]), float(edges[1][1]), float(edges[2][2])))


def minimise(built: Built, begun: Relaxed, asked: str | None = None) -> tuple[Relaxed, float]:
    """Return the nearest minimum and its energy in kcal/mol; EngineFailure if it is not finite."""
    module = openmm()
    system, _ = solvated(built.prmtop, built.solvent)
    context = _context(system, module.VerletIntegrator(FIRST_STEP_PS), begun, asked)
    module.LocalEnergyMinimizer.minimize(context)
    state = context.getState(getEnergy=True, getPositions=True)
    energy = float(state.getPotentialEnergy()._value) / KJ_PER_KCAL  # noqa: SLF001 - in kJ/mol
    if not np.isfinite(energy):
        raise EngineFailure("the minimised energy is not finite; look at complex.pdb for atoms that lie on each other")
    return Relaxed(_positions(state), begun.box_a), energy


def equilibrate(built: Built, begun: Relaxed, bath: Bath, picoseconds: float, asked: str | None = None) -> Relaxed:
    """Constant volume for `picoseconds`, and in a box as long again at constant pressure."""
    system, _ = solvated(built.prmtop, built.solvent)
    _hold(system, built, begun)
    warm = _run(system, begun, bath, picoseconds, asked)
    if begun.box_a is None:
        return warm
    barostat = openmm().MonteCarloBarostat(PRESSURE_BAR, bath.temperature_k, BAROSTAT_STEPS)
    barostat.setRandomNumberSeed(bath.seed)
    system.addForce(barostat)
    return _run(system, warm, replace(bath, seed=bath.seed + 1), picoseconds, asked, barostat=barostat)


def degrees_of_freedom(system: Any) -> int:
    """Count those of all particles that move, less constraints."""
    moving = sum(system.getParticleMass(at)._value > 0 for at in range(system.getNumParticles()))  # noqa: SLF001 - amu
    return 3 * int(moving) - int(system.getNumConstraints())


def temperature(state: Any, freedom: int) -> float:
    """Return the kinetic temperature in K of a state with energies."""
    return 2 * float(state.getKineticEnergy()._value) / (freedom * BOLTZMANN_KJ_PER_MOL_K)  # noqa: SLF001 - in kJ/mol


def slope_per_ns(values: NDArray[np.float64], interval_ps: float) -> float:
    """Return the slope of a straight line through equally spaced values, a nanosecond."""
    return float(np.polyfit(np.arange(values.size) * interval_ps * 1e-3, values, 1)[0])


def _run(
    system: Any,
    begun: Relaxed,
    bath: Bath,
    picoseconds: float,
    asked: str | None,
    *,
    barostat: Any = None,
) -> Relaxed:
    """Run, slowly at first. barostat: the one of `system`, None: constant volume."""
    module = openmm()
    integrator = module.LangevinMiddleIntegrator(bath.temperature_k, FRICTION_PER_PS, FIRST_STEP_PS)
    integrator.setRandomNumberSeed(bath.seed)
    context = _context(system, integrator, begun, asked)
    context.setVelocitiesToTemperature(bath.temperature_k, bath.seed)
    freedom, mass = degrees_of_freedom(system), _mass(system)
    integrator.step(max(1, round(0.1 * picoseconds / FIRST_STEP_PS)))
    integrator.setStepSize(TIME_STEP_PS)
    steps = max(1, round(picoseconds / TIME_STEP_PS / RECORDS))
    rows = []
    for _ in range(RECORDS):
        integrator.step(steps)
        state = context.getState(getEnergy=True)
        volume = float(state.getPeriodicBoxVolume()._value) if begun.box_a else float("nan")  # noqa: SLF001 - in nm3
        energy = float(state.getPotentialEnergy()._value) / KJ_PER_KCAL  # noqa: SLF001 - in kJ/mol
        pressure = float(barostat.computeCurrentPressure(context)._value) if barostat else float("nan")  # noqa: SLF001 - bar
        rows.append((temperature(state, freedom), energy, mass / volume * AMU_PER_NM3_IN_G_PER_ML, pressure))
    table = np.array(rows).T
    if not np.all(np.isfinite(table[:2])):
        raise EngineFailure("the energy ceased to be finite while the complex was equilibrated; look at complex.pdb")
    state = context.getState(getPositions=True)
    return Relaxed(_positions(state), _box(state) if begun.box_a else None, _diagnosed(table, steps * TIME_STEP_PS))


def _diagnosed(table: NDArray[np.float64], interval_ps: float) -> dict[str, float]:
    """Of the second half: the first is settling. table: temperature, energy, density, pressure; shape (4, records)."""
    late = table[:, table.shape[1] // 2 :]
    found = {
        "temperature_k": float(late[0].mean()),
        "temperature_drift_k_per_ns": slope_per_ns(late[0], interval_ps),
        "energy_drift_kcal_per_mol_per_ns": slope_per_ns(late[1], interval_ps),
    }
    if np.all(np.isfinite(late)):
        found["pressure_bar"] = float(late[3].mean())
        found["density_g_per_ml"] = float(late[2].mean())
        found["density_drift_g_per_ml_per_ns"] = slope_per_ns(late[2], interval_ps)
    return found


def _hold(system: Any, built: Built, begun: Relaxed) -> None:
    """Hold the heavy atoms of host and guest where they are."""
    force = openmm().CustomExternalForce(
        "k*periodicdistance(x,y,z,x0,y0,z0)^2" if begun.box_a else "k*((x-x0)^2+(y-y0)^2+(z-z0)^2)"
    )
    force.addGlobalParameter("k", HOLD_K * KJ_PER_KCAL / NM_PER_A**2)
    for name in ("x0", "y0", "z0"):
        force.addPerParticleParameter(name)
    for at in range(built.atoms):
        if system.getParticleMass(at)._value > 3.5:  # noqa: SLF001 - in amu; heavier than a repartitioned hydrogen
            force.addParticle(at, [float(each) * NM_PER_A for each in begun.positions_a[at]])
    system.addForce(force)


def _context(system: Any, integrator: Any, begun: Relaxed, asked: str | None) -> Any:
    chosen, properties = platform(asked)
    context = openmm().Context(system, integrator, chosen, properties)
    if begun.box_a:
        context.setPeriodicBoxVectors(*(np.diag(begun.box_a) * NM_PER_A))
    context.setPositions(begun.positions_a * NM_PER_A)
    return context


def _positions(state: Any) -> NDArray[np.float64]:
    return np.asarray(state.getPositions(asNumpy=True)._value) / NM_PER_A  # noqa: SLF001 - in nm


def _box(state: Any) -> tuple[float, float, float]:
    edges = state.getPeriodicBoxVectors(asNumpy=True)._value / NM_PER_A  # noqa: SLF001 - in nm
    return (float(edges[0][0]), float(edges[1][1]), float(edges[2][2]))


def _mass(system: Any) -> float:
    """In amu."""
    return float(sum(system.getParticleMass(at)._value for at in range(system.getNumParticles())))  # noqa: SLF001
