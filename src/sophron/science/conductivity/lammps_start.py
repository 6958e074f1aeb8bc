"""Start of every stage that runs LAMMPS: the system it starts from, its potential, and values of its input."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sophron.interfaces.kind import EnvironmentFailure, StepContext, UpstreamStep
from sophron.records.canonical_json import file_digest
from sophron.science.conductivity.units import UNITS, Units
from sophron.science.lammps import potentials
from sophron.science.lammps.executable import Lammps
from sophron.science.lammps.render import FileName, Word

TEMPLATES = Path(__file__).parent / "templates"
START = "start.data"
SERIES_FILE = "{name}.0.dat"
"""Name of a series that is written in one piece, as `lammps.segments` reads it."""


@dataclass(frozen=True)
class Start:
    """The finished step before this one; its system lies in the work folder as `start.data`, the potential beside."""

    step: UpstreamStep

    @classmethod
    def of(cls, ctx: StepContext, stage: str, lammps: Lammps) -> Start:
        """From the upstream `stage`. EnvironmentFailure if the potential file is not the one that build found."""
        step = ctx.one(stage)
        shutil.copyfile(step.files["system"], ctx.workdir / START)
        name = step.result["model"]["potential"]
        if name is not None:
            found = potentials.path(lammps, name)
            if file_digest(found) != step.result["model"]["potential_sha256"]:
                raise EnvironmentFailure(
                    f"{found} is not the potential that build found; use one LAMMPS for the whole campaign"
                )
            shutil.copyfile(found, ctx.workdir / name)
        return cls(step)

    @property
    def units(self) -> Units:
        """The unit system."""
        return UNITS[self.step.result["model"]["units"]]

    @property
    def atoms(self) -> int:
        """Number of atoms."""
        return int(self.step.result["atoms"])

    @property
    def same(self) -> dict[str, Any]:
        """What a result repeats of the system that its step was given."""
        return {name: self.step.result[name] for name in ("atoms", "cells", "box", "volume", "density", "model")}

    @property
    def values(self) -> dict[str, Any]:
        """What every input template needs: units, model, and the data file to start from."""
        model = self.step.result["model"]
        return {
            "units": Word(model["units"]),
            "pair_style": Word(model["pair_style"]),
            "elements": [Word(element) for element in model["elements"]],
            "potential": FileName(model["potential"]) if model["potential"] else None,
            "cutoff": model["cutoff"],
            "skin": self.units.skin,
            "boltzmann": self.units.boltzmann,
            "data": FileName(START),
            "copies": 1,
            "restart": None,
        }


def template(name: str) -> Path:
    """Return the path of an input template of this kind."""
    return TEMPLATES / f"{name}.in.j2"


def series_file(name: str) -> FileName:
    """Return the name of a series that is written in one piece."""
    return FileName(SERIES_FILE.format(name=name))
