"""A Lennard-Jones dimer bound and pulled apart by OpenMM: the whole path in seconds, with an exact answer.

One particle is the host and fixed, the other the guest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.records import documents
from sophron.records.typed_json import from_json
from sophron.science.estimators.restraints import Frame, Harmonic
from sophron.science.host_guest.protocols.apr import Wall, Window, reduced
from sophron.science.host_guest.sampling import observables
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
MOVING = 3
"""Degrees of freedom: the host stands still."""
BOLTZMANN_KJ_PER_MOL_K = 8.31446261815324e-3
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


def observed(context: Any, window: Window, sampling: Sampling) -> dict[str, NDArray[np.float64]]:
    """Return what `sampled` does as `distance_a`, and `potential_kcal_per_mol` and `temperature_k`; each (samples,)."""
    rows = [(each, *_energies(context)) for each in _distances(context, window, sampling)]
    names = ("distance_a", "potential_kcal_per_mol", "temperature_k")
    return dict(zip(names, np.array(rows).reshape(-1, len(names)).T, strict=True))


def _energies(context: Any) -> tuple[float, float]:
    """Potential energy in kcal/mol and kinetic temperature in K of this moment."""
    state = context.getState(getEnergy=True)
    potential: float = state.getPotentialEnergy()._value  # noqa: SLF001 - in kJ/mol
    kinetic: float = state.getKineticEnergy()._value  # noqa: SLF001
    return potential / KJ_PER_KCAL, 2 * kinetic / (MOVING * BOLTZMANN_KJ_PER_MOL_K)


def save_observables(
    folder: Path,
    windows: Sequence[Window],
    place: int,
    runs: Sequence[Mapping[str, NDArray[np.float64]]],
    *,
    temperature_k: float,
    steps: int,
) -> None:
    """Write `observables.npz` of one window. place: in `windows`; runs: of `observed`, `steps` between samples."""
    whole = {name: np.concatenate([run[name] for run in runs]) for name in runs[0]}
    distance_a = whole.pop("distance_a")
    lengths = [len(run["distance_a"]) for run in runs]
    nothing = np.zeros_like(distance_a)
    observables.save(
        folder,
        state=np.full(len(distance_a), place),
        run=np.repeat(np.arange(len(runs)), lengths),
        time_ps=np.concatenate([steps * TIME_STEP_PS * np.arange(1, length + 1) for length in lengths]),
        reduced_potentials=reduced(windows, np.stack([distance_a, nothing, nothing]), temperature_k),
        **whole,
    )


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
