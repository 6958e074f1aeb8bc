"""Stage displace: the displaced supercells of which forces are needed, from the crystal that build made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sophron.interfaces.kind import EngineFailure, EnvironmentFailure, StepContext, StepResult, UpstreamStep
from sophron.records.typed_json import to_json
from sophron.science.conductivity.build import SUBLATTICES, Interactions, SystemData, system_of
from sophron.science.conductivity.lattice_dynamics import Cell, Supercells, displacements, phonons

if TYPE_CHECKING:
    from phono3py import Phono3py

ORDERS = ("third", "second")
"""Force constants by their order; the file of displacements has an array of each."""


@dataclass(frozen=True)
class Displaced:
    """Typed result of displace: what later stages make the same displacements from.

    supercells_third, supercells_second: how many displaced supercells there are of each order; atoms_*: atoms of one.
    """

    model: Interactions
    cell: Cell
    supercells: Supercells
    supercells_third: int
    supercells_second: int
    atoms_third: int
    atoms_second: int


def run(ctx: StepContext) -> StepResult:
    """Write `displacements.npz`: `third` and `second`, (supercells, atoms, 3), angstrom.

    EngineFailure if the units of build are not metal; EnvironmentFailure without phono3py.
    """
    import numpy as np

    step = ctx.upstream["build"][0]
    system, cell = system_of(step), cell_of(step)
    supercells = Supercells(*(ctx.definition[name] for name in ("cells", "harmonic_cells", "displacement")))
    made = available(cell, supercells)
    found = displacements(made)
    path = ctx.workdir / "displacements.npz"
    np.savez(path, third=found["third"], second=found["second"])
    (third, second), (atoms_third, atoms_second) = (
        [int(found[order].shape[axis]) for order in ORDERS] for axis in (0, 1)
    )
    result = Displaced(system.model, cell, supercells, third, second, atoms_third, atoms_second)
    return StepResult(to_json(result), {"displacements": path}, {"phono3py": made.version})


def cell_of(step: UpstreamStep) -> Cell:
    """Return the unit cell of a finished step of build; EngineFailure if its units are not metal."""
    system: SystemData = system_of(step)
    if system.model.units != "metal":
        raise EngineFailure("build.definition.units: lattice dynamics needs metal, for phonons have Planck's constant")
    (style,) = [name for name, shifts in SUBLATTICES.items() if len(shifts) == len(system.model.elements)]
    return Cell(style, system.box[0] / system.cells[0], system.model.elements, read_masses(step.files["system"]))


def read_masses(path: Path) -> tuple[float, ...]:
    """Return the masses in a LAMMPS data file, g/mol, in the order of types."""
    _, _, rest = path.read_text().partition("\nMasses\n\n")
    return tuple(float(line.split()[1]) for line in rest.partition("\n\n")[0].splitlines())


def available(cell: Cell, supercells: Supercells) -> Phono3py:
    """Return phono3py with its displacements; EnvironmentFailure if it is not installed."""
    try:
        return phonons(cell, supercells)
    except ModuleNotFoundError as error:
        raise EnvironmentFailure(f"{error.name} is not installed; pip install 'sophron[phonons]'") from None
