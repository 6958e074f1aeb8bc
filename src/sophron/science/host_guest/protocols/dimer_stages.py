"""What the stage files of the Lennard-Jones dimer share: its chain on disk, its interaction, what is left of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sophron.records import documents
from sophron.science.estimators.restraints import Frame, Harmonic
from sophron.science.host_guest.protocols.apr import Wall, Window
from sophron.science.host_guest.sampling.potentials import LennardJones


def potential(task: Mapping[str, Any]) -> LennardJones:
    """The interaction that a task's metadata state."""
    return LennardJones(task["interaction"]["epsilon_kcal_per_mol"], task["interaction"]["sigma_a"])


def read_chain(path: Path) -> tuple[float, list[Window]]:
    """Distance of the free complex in Angstrom, and the windows, of a chain that preparation wrote."""
    chain = documents.load_json(path)
    return chain["start_a"], [_window(each) for each in chain["windows"]]


def residual(interaction: LennardJones, last: Window) -> float:
    """Interaction left one Angstrom before the last target, in kcal/mol: the bound for what release neglects."""
    sixth = (interaction.sigma / (last.frame.distance.target - 1.0)) ** 6
    return abs(4 * interaction.epsilon * (sixth * sixth - sixth))


def _window(each: Mapping[str, Any]) -> Window:
    wall = None if each["wall_start_a"] is None else Wall(each["wall_start_a"], each["wall_k_kcal_per_mol_a2"])
    return Window(Frame(Harmonic(each["target_a"], each["k_kcal_per_mol_a2"])), each["strength"], wall)
