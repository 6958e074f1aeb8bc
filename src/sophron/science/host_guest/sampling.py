"""One window of a complex, run in segments: each is a function of the one before it and of its own seed.

So a killed window goes on after its last whole segment, and ends in the samples that it would have given unharmed.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.interfaces.kind import EngineFailure
from sophron.records.atomic import write_bytes
from sophron.science.host_guest import forces
from sophron.science.host_guest.apr import Window
from sophron.science.host_guest.experiment import Experiment
from sophron.science.host_guest.forces import KJ_PER_KCAL, NM_PER_A
from sophron.science.host_guest.platform import openmm, platform
from sophron.science.host_guest.relax import FRICTION_PER_PS, TIME_STEP_PS, degrees_of_freedom, temperature

if TYPE_CHECKING:
    from numpy.typing import NDArray

COLUMNS = ("distance_a", "theta_deg", "beta_deg", "centre_a", "lock_deg", "potential_kcal_per_mol", "temperature_k")
"""Of a sample; centre_a: distance of G1 from the host's centre; lock_deg: angle D2-G1-G2."""
LONGEST_SETTLING_PS = 10.0


@dataclass(frozen=True)
class Plan:
    """interval, settle: time steps between samples, and before the first; samples: in all; segment: of one segment."""

    samples: int
    interval: int = 250
    settle: int = 2500
    segment: int = 50
    time_step_ps: float = TIME_STEP_PS

    @classmethod
    def of(cls, nanoseconds: float, interval: int) -> Plan:
        """Samples for so many nanoseconds at the usual time step, at least one; a tenth of it, up to 10 ps, settles."""
        steps = round(nanoseconds * 1000 / TIME_STEP_PS)
        return cls(max(1, steps // interval), interval, min(steps // 10, round(LONGEST_SETTLING_PS / TIME_STEP_PS)))

    @property
    def nanoseconds(self) -> float:
        """Sampled, without settling."""
        return self.samples * self.interval * self.time_step_ps * 1e-3


@dataclass(frozen=True)
class State:
    """positions_a: shape (particles, 3), in Angstrom; velocities: in Angstrom/ps, None: to be drawn."""

    positions_a: NDArray[np.float64]
    velocities: NDArray[np.float64] | None = None


class Engine:
    """A context of OpenMM for one experiment, that segments of any of its windows are run with."""

    def __init__(self, experiment: Experiment, time_step_ps: float = TIME_STEP_PS, asked: str | None = None) -> None:
        module = openmm()
        self.experiment = experiment
        self._integrator = module.LangevinMiddleIntegrator(experiment.temperature_k, FRICTION_PER_PS, time_step_ps)
        chosen, properties = platform(asked)
        self.context = module.Context(experiment.system, self._integrator, chosen, properties)
        self._freedom = degrees_of_freedom(experiment.system)

    def begin(self, window: Window, state: State, seed: int) -> None:
        """Stand at `state` in `window`, with noise that depends on `seed` alone."""
        self._integrator.setRandomNumberSeed(seed)
        self.context.reinitialize()  # the seed counts from here
        if self.experiment.box_a:
            self.context.setPeriodicBoxVectors(*(np.diag(self.experiment.box_a) * NM_PER_A))
        self.context.setPositions(state.positions_a * NM_PER_A)
        if state.velocities is None:
            self.context.setVelocitiesToTemperature(self.experiment.temperature_k, seed)
        else:
            self.context.setVelocities(state.velocities * NM_PER_A)
        forces.apply(self.context, window)

    def step(self, steps: int) -> None:
        """Run on."""
        try:
            self._integrator.step(steps)
        except openmm().OpenMMException as error:
            raise EngineFailure(f"OpenMM stopped: {error}") from error

    def sample(self) -> tuple[float, ...]:
        """One row of `COLUMNS`, now; EngineFailure where the energy is not finite."""
        state = self.context.getState(getPositions=True, getEnergy=True)
        positions = np.asarray(state.getPositions(asNumpy=True)._value) / NM_PER_A  # noqa: SLF001 - in nm
        energy = float(state.getPotentialEnergy()._value) / KJ_PER_KCAL  # noqa: SLF001 - in kJ/mol
        if not np.isfinite(energy):
            raise EngineFailure("the potential energy is not finite; the time step or the start is at fault")
        return (*forces.coordinates(positions, self.experiment.held), energy, temperature(state, self._freedom))

    def state(self) -> State:
        """Where it stands."""
        state = self.context.getState(getPositions=True, getVelocities=True)
        positions, velocities = state.getPositions(asNumpy=True), state.getVelocities(asNumpy=True)
        return State(np.asarray(positions._value) / NM_PER_A, np.asarray(velocities._value) / NM_PER_A)  # noqa: SLF001 - nm, nm/ps


def run(engine: Engine, window: Window, start: State, plan: Plan, *, seed: int, folder: Path) -> NDArray[np.float64]:
    """Samples of one window from one start, shape (columns, samples); segments are kept in `folder`.

    Segments that are there already, of an earlier try, are not repeated. EngineFailure where the run breaks.
    """
    parts = list(_segments(engine, window, start, plan, seed=seed, folder=folder))
    return np.concatenate(parts, axis=1)


def _segments(
    engine: Engine, window: Window, start: State, plan: Plan, *, seed: int, folder: Path
) -> Iterator[NDArray[np.float64]]:
    state = start
    for number, begun in enumerate(range(0, plan.samples, plan.segment)):
        path = folder / f"segment_{number:04d}.npz"
        if not path.is_file():
            engine.begin(window, state, segment_seed(seed, number))
            if number == 0:
                engine.step(plan.settle)
            rows = []
            for _ in range(min(plan.segment, plan.samples - begun)):
                engine.step(plan.interval)
                rows.append(engine.sample())
            _keep(path, np.array(rows).T, engine.state())
        with np.load(path) as kept:
            state = State(kept["positions_a"], kept["velocities"])
            yield kept["samples"]


def segment_seed(seed: int, number: int) -> int:
    """Seed of one segment: from 1 to 2^31 - 2, for OpenMM takes 0 as `anything`."""
    return 1 + int(np.random.SeedSequence([seed, number]).generate_state(1)[0] % (2**31 - 2))


def _keep(path: Path, samples: NDArray[np.float64], state: State) -> None:
    buffer = io.BytesIO()
    values: dict[str, Any] = {"samples": samples, "positions_a": state.positions_a, "velocities": state.velocities}
    np.savez(buffer, **values)
    write_bytes(path, buffer.getvalue())
