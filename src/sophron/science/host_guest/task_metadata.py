"""What a pipeline knows of one host and guest, as `schemas/debate/task_metadata.schema.yaml` has it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Solvent = Literal["obc2", "tip3p", "opc"]


@dataclass(frozen=True)
class Symmetry:
    """Equivalent ways into the host. locked_by_restraint: the restraints keep the guest to one of them."""

    equivalent_sites: int
    locked_by_restraint: bool


@dataclass(frozen=True)
class Protonation:
    """What the correction for protonation needs. bound_pka: None if the state does not change on binding."""

    pka: float
    simulated_protonated: bool
    bound_pka: float | None = None


@dataclass(frozen=True)
class NamedAnchors:
    """Atoms that restraints hold, as residue and atom (`:1@C1`): three of the host, two of the guest."""

    host: tuple[str, ...]
    guest: tuple[str, ...]


@dataclass(frozen=True)
class Interaction:
    """Interaction of a host and a guest that are single particles, in kcal/mol and Angstrom."""

    epsilon_kcal_per_mol: float
    sigma_a: float
    bound_within_a: float


@dataclass(frozen=True)
class Corrections:
    """What corrections of a binding free energy read of a task; a pipeline may hand on no more than this."""

    symmetry: Symmetry
    ph: float = math.nan
    protonation: Protonation | None = None


@dataclass(frozen=True)
class TaskMetadata:
    """A task. Charges in elementary charges; protonation, anchors, interaction: None if there are none."""

    task: str
    temperature_k: float
    host_charge_e: int
    guest_charge_e: int
    symmetry: Symmetry
    ph: float
    ionic_strength_molar: float = 0.0
    protonation: Protonation | None = None
    anchors: NamedAnchors | None = None
    solvent: Literal["none"] | Solvent | None = None
    interaction: Interaction | None = None
