"""A Lennard-Jones dimer bound and pulled apart by OpenMM: the whole path in seconds, with an exact answer.

One particle is the host and fixed, the other the guest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.records import documents
from sophron.records.typed_json import from_json
from sophron.science.estimators.restraints import Frame, Harmonic
from sophron.science.host_guest.protocols.apr import Wall, Window
from sophron.science.host_guest.sampling.openmm_system import KJ_PER_KCAL, openmm
from sophron.science.host_guest.task_metadata import TaskMetadata

if TYPE_CHECKING:
    from numpy.typing import NDArray

Potential = Callable[["NDArray[np.float64]"], "NDArray[np.float64]"]
"""Distance in Angstrom -> energy in kcal/mol."""


@dataclass(frozen=True)
class LennardJones:
    """4 epsilon ((sigma/r)^12 - (sigma/r)^6), in kcal/mol; sigma in Angstrom."""

    epsilon: float
    sigma: float

    def __call__(self, distance_a: NDArray[np.float64]) -> NDArray[np.float64]:
        """Energy at each distance; at distance 0 what it is at a tenth of sigma, which nothing reaches."""
        sixth = (self.sigma / np.maximum(distance_a, 0.1 * self.sigma)) ** 6
        return np.asarray(4 * self.epsilon * (sixth * sixth - sixth))


ANGSTROM_PER_NM = 10.0
K_TO_OPENMM = KJ_PER_KCAL * ANGSTROM_PER_NM**2
"""From kcal/mol/Angstrom^2 to kJ/mol/nm^2; neither form has a 1/2."""
MASS_AMU = 40.0
FRICTION_PER_PS = 5.0
TIME_STEP_PS = 0.01
EQUILIBRATION_STEPS = 300
ENERGY = "4*epsilon*((sigma/r)^12-(sigma/r)^6) + k*(r-target)^2 + wall_k*step(r-wall_start)*(r-wall_start)^2"

WALL = Wall(8.0, 50.0)


@dataclass(frozen=True)
class Sampling:
    """samples: a run, after equilibration; steps: between two of them; seed: of the thermostat."""

    samples: int
    steps: int
    seed: int


def sampled(context: Any, window: Window, sampling: Sampling) -> NDArray[np.float64]:
    """Return the distances in Angstrom while `context` runs the window, from where it stands; shape (samples,)."""
    return np.fromiter(_distances(context, window, sampling), np.float64, sampling.samples)


def _distances(context: Any, window: Window, sampling: Sampling) -> Iterator[float]:
    wall = window.wall or Wall(0.0, 0.0)
    context.setParameter("k", window.strength * window.frame.distance.k * K_TO_OPENMM)
    context.setParameter("target", window.frame.distance.target / ANGSTROM_PER_NM)
    context.setParameter("wall_k", wall.k * K_TO_OPENMM)
    context.setParameter("wall_start", wall.start / ANGSTROM_PER_NM)
    integrator = context.getIntegrator()
    integrator.step(EQUILIBRATION_STEPS)
    for _ in range(sampling.samples):
        integrator.step(sampling.steps)
        yield distance(context)


def distance(context: Any) -> float:
    """Return the distance of host and guest in Angstrom."""
    host, guest = context.getState(getPositions=True).getPositions(asNumpy=True)._value  # noqa: SLF001 - in nm
    return ANGSTROM_PER_NM * float(np.linalg.norm(guest - host))


def started(potential: LennardJones, temperature_k: float, seed: int, start_a: float) -> Any:
    """OpenMM's context with host and guest `start_a` Angstrom apart; all energies are in one bond between them.

    Raise UserError if OpenMM is not installed.
    """
    module = openmm()
    system = module.System()
    system.addParticle(0.0)
    system.addParticle(MASS_AMU)
    bond = module.CustomBondForce(ENERGY)
    bond.addGlobalParameter("epsilon", potential.epsilon * KJ_PER_KCAL)
    bond.addGlobalParameter("sigma", potential.sigma / ANGSTROM_PER_NM)
    for name in ("k", "target", "wall_k", "wall_start"):
        bond.addGlobalParameter(name, 0.0)
    bond.addBond(0, 1)
    system.addForce(bond)
    integrator = module.LangevinMiddleIntegrator(temperature_k, FRICTION_PER_PS, TIME_STEP_PS)
    integrator.setRandomNumberSeed(seed)
    context = module.Context(system, integrator, module.Platform.getPlatformByName("Reference"))
    context.setPositions(_placed(start_a))
    context.setVelocitiesToTemperature(temperature_k, seed)
    return context


def _placed(distance_a: float) -> NDArray[np.float64]:
    return np.array([[0.0, 0.0, 0.0], [distance_a / ANGSTROM_PER_NM, 0.0, 0.0]])


@dataclass(frozen=True)
class StoredWindow:
    """A window as `chain.json` has it; wall_start_a, wall_k_kcal_per_mol_a2: None without a wall."""

    target_a: float
    k_kcal_per_mol_a2: float
    strength: float
    wall_start_a: float | None
    wall_k_kcal_per_mol_a2: float | None

    @property
    def window(self) -> Window:
        """The window."""
        start, k = self.wall_start_a, self.wall_k_kcal_per_mol_a2
        wall = None if start is None or k is None else Wall(start, k)
        return Window(Frame(Harmonic(self.target_a, self.k_kcal_per_mol_a2)), self.strength, wall)


def potential(task: Mapping[str, object]) -> LennardJones:
    """Return the interaction that a task's metadata state; ValueError if they state none."""
    interaction = from_json(TaskMetadata, task).interaction
    if interaction is None:
        raise ValueError("task_metadata.json: has no interaction; host and guest are no particles")
    return LennardJones(interaction.epsilon_kcal_per_mol, interaction.sigma_a)


def read_chain(path: Path) -> tuple[float, list[Window]]:
    """Return the distance of the free complex in Angstrom, and the windows, of a chain that preparation wrote."""
    chain = documents.load_json(path)
    return chain["start_a"], [from_json(StoredWindow, each).window for each in chain["windows"]]


def residual(interaction: LennardJones, last: Window) -> float:
    """Interaction left one Angstrom before the last target, in kcal/mol: the bound for what release neglects."""
    sixth = (interaction.sigma / (last.frame.distance.target - 1.0)) ** 6
    return abs(4 * interaction.epsilon * (sixth * sixth - sixth))
