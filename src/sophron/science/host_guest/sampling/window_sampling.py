"""Stepping a chain of windows: how long, where from, with which noise, and what is measured of each sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from sophron.interfaces.kind import EngineFailure
from sophron.science.host_guest.openmm_engine import OPENMM
from sophron.science.host_guest.sampling.equilibration import (
    FRICTION_PER_PS,
    TIME_STEP_PS,
    degrees_of_freedom,
    temperature,
)
from sophron.science.host_guest.sampling.openmm_system import KJ_PER_KCAL, NM_PER_A, openmm, platform

if TYPE_CHECKING:
    from numpy.typing import NDArray

WindowT = TypeVar("WindowT")

COLUMNS = ("distance_a", "theta_deg", "beta_deg", "centre_a", "lock_deg", "potential_kcal_per_mol", "temperature_k")
"""Of a sample; centre_a: distance of G1 from the host's centre; lock_deg: angle D2-G1-G2. A chain may add more."""
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


class Chain(Protocol[WindowT]):
    """What an engine steps: a system with parameters that make it that of one window or another."""

    @property
    def system(self) -> Any:
        """OpenMM's, with restraints."""

    @property
    def windows(self) -> Sequence[WindowT]:
        """In their order."""

    @property
    def temperature_k(self) -> float:
        """In K."""

    @property
    def box_a(self) -> tuple[float, float, float] | None:
        """Edges in Angstrom; None without a box."""

    @property
    def positions_a(self) -> NDArray[np.float64]:
        """Where it starts, shape (particles, 3), in Angstrom."""

    def with_windows(self, windows: Sequence[WindowT]) -> Chain[WindowT]:
        """The same with other windows."""

    def apply(self, context: Any, window: WindowT) -> None:
        """Make a context that of one window."""

    def coordinates(self, positions_a: NDArray[np.float64]) -> tuple[float, float, float, float, float]:
        """The first five of `COLUMNS`, from positions of shape (particles, 3)."""

    def energies(self, context: Any) -> tuple[float, ...]:
        """Columns after `COLUMNS`, if only the context knows them."""

    def reduced(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Reduced energies of samples, shape (columns, samples), in all windows, shape (windows, samples)."""


class Engine(Generic[WindowT]):
    """A context of OpenMM for one chain, in which any of its windows can be run."""

    def __init__(
        self, experiment: Chain[WindowT], time_step_ps: float = TIME_STEP_PS, asked: str | None = None
    ) -> None:
        module = openmm()
        self.experiment = experiment
        self._integrator = module.LangevinMiddleIntegrator(experiment.temperature_k, FRICTION_PER_PS, time_step_ps)
        chosen, properties = platform(asked)
        self.context = module.Context(experiment.system, self._integrator, chosen, properties)
        self._freedom = degrees_of_freedom(experiment.system)
        self._window: WindowT | None = None

    def reseed(self, seed: int) -> None:
        """From here on, noise depends on `seed` alone; where the context stands is lost."""
        self._integrator.setRandomNumberSeed(seed)
        self.context.reinitialize()  # the seed counts from here
        if self.experiment.box_a:
            self.context.setPeriodicBoxVectors(*(np.diag(self.experiment.box_a) * NM_PER_A))

    def enter(self, window: WindowT, state: State, seed: int) -> None:
        """Stand at `state` in `window`; seed: of velocities, if the state has none."""
        self.context.setPositions(state.positions_a * NM_PER_A)
        if state.velocities is None:
            self.context.setVelocitiesToTemperature(self.experiment.temperature_k, seed)
        else:
            self.context.setVelocities(state.velocities * NM_PER_A)
        self.experiment.apply(self.context, window)
        self._window = window

    def begin(self, window: WindowT, state: State, seed: int) -> None:
        """Stand at `state` in `window`, with noise that depends on `seed` alone."""
        self.reseed(seed)
        self.enter(window, state, seed)

    def step(self, steps: int) -> None:
        """Run on."""
        try:
            self._integrator.step(steps)
        except openmm().OpenMMException as error:
            raise OPENMM.failure(None, str(error)) from error

    def sample(self) -> tuple[float, ...]:
        """One row of `COLUMNS`, and what the chain adds, now; EngineFailure if the energy is not finite."""
        state = self.context.getState(getPositions=True, getEnergy=True)
        positions = np.asarray(state.getPositions(asNumpy=True)._value) / NM_PER_A  # noqa: SLF001 - in nm
        energy = float(state.getPotentialEnergy()._value) / KJ_PER_KCAL  # noqa: SLF001 - in kJ/mol
        if not np.isfinite(energy):
            raise EngineFailure("the potential energy is not finite; the time step or the start is at fault")
        more = self.experiment.energies(self.context)
        if more and self._window is not None:
            self.experiment.apply(self.context, self._window)
        return (*self.experiment.coordinates(positions), energy, temperature(state, self._freedom), *more)

    def state(self) -> State:
        """Where it stands."""
        state = self.context.getState(getPositions=True, getVelocities=True)
        positions, velocities = state.getPositions(asNumpy=True), state.getVelocities(asNumpy=True)
        return State(np.asarray(positions._value) / NM_PER_A, np.asarray(velocities._value) / NM_PER_A)  # noqa: SLF001 - nm, nm/ps


def segment_seed(seed: int, number: int) -> int:
    """Seed of one segment: from 1 to 2^31 - 2, for OpenMM takes 0 as `anything`."""
    return 1 + int(np.random.SeedSequence([seed, number]).generate_state(1)[0] % (2**31 - 2))
