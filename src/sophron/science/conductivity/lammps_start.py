"""Start of every stage that runs LAMMPS: the system it starts from, its potential, and values of its input."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from sophron.interfaces.kind import EnvironmentFailure, StepContext
from sophron.records.digests import file_digest
from sophron.science.conductivity.units import UNITS, Units
from sophron.science.lammps import potentials
from sophron.science.lammps import start as lammps_start
from sophron.science.lammps.executable import Lammps
from sophron.science.lammps.render import FileName, Word

SERIES_FILE = "{name}.0.dat"
"""Name of a series that is written in one piece, as `lammps.segments` reads it."""


@dataclass(frozen=True)
class Interactions:
    """What later stages need to know of the interactions. potential: name of its file, pinned by its digest."""

    units: str
    pair_style: str
    elements: tuple[str, ...]
    potential: str | None
    potential_sha256: str | None
    cutoff: float | None


@dataclass(frozen=True)
class SystemData:
    """What a result repeats of the system that its step was given. cells: unit cells along x, y, z; box: edges."""

    atoms: int
    cells: tuple[int, int, int]
    box: tuple[float, float, float]
    volume: float
    density: float
    model: Interactions

    @property
    def units(self) -> Units:
        """The unit system."""
        return UNITS[self.model.units]


Start = lammps_start.Start[SystemData]


def begin(ctx: StepContext, stage: str, lammps: Lammps) -> Start:
    """Start from the upstream `stage`; its system lies in the work folder as `start.data`, the potential beside it.

    EnvironmentFailure if the potential file is not the one that build found.
    """
    step, system = lammps_start.begin(ctx, stage, SystemData)
    model = system.model
    if model.potential is not None:
        found = potentials.path(lammps, model.potential)
        if file_digest(found) != model.potential_sha256:
            raise EnvironmentFailure(
                f"{found} is not the potential that build found; use one LAMMPS for the whole campaign"
            )
        shutil.copyfile(found, ctx.workdir / model.potential)
    values = {
        "units": Word(model.units),
        "pair_style": Word(model.pair_style),
        "elements": [Word(element) for element in model.elements],
        "potential": FileName(model.potential) if model.potential else None,
        "cutoff": model.cutoff,
        "skin": system.units.skin,
        "boltzmann": system.units.boltzmann,
        "data": FileName(lammps_start.START),
        "copies": 1,
        "restart": None,
    }
    return Start(step, system, values)


def series_file(name: str) -> FileName:
    """Return the name of a series that is written in one piece."""
    return FileName(SERIES_FILE.format(name=name))
