"""What the stage files of the Lennard-Jones dimer share: its chain on disk, its interaction, what is left of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sophron.records import documents
from sophron.records.typed_json import from_json
from sophron.science.estimators.restraints import Frame, Harmonic
from sophron.science.host_guest.protocols.apr import Wall, Window
from sophron.science.host_guest.sampling.potentials import LennardJones
from sophron.science.host_guest.task_metadata import TaskMetadata


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
