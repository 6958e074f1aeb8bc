"""Start of every stage that runs LAMMPS: the system it starts from, and values of its input."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sophron.interfaces.kind import StepContext, UpstreamStep
from sophron.science.chain_conformation.model import Model
from sophron.science.lammps.render import FileName

TEMPLATES = Path(__file__).parent / "templates"
START = "start.data"


@dataclass(frozen=True)
class Start:
    """The finished step before this one; its system lies in the work folder as `start.data`."""

    step: UpstreamStep
    model: Model

    @classmethod
    def of(cls, ctx: StepContext, stage: str) -> Start:
        """From the upstream `stage`."""
        step = ctx.one(stage)
        shutil.copyfile(step.files["system"], ctx.workdir / START)
        return cls(step, Model.of(step.result["model"]))

    @property
    def same(self) -> dict[str, Any]:
        """What a result repeats of the system that its step was given."""
        names = ("chains", "chain_length", "beads", "volume", "box_length", "model")
        return {name: self.step.result[name] for name in names}

    @property
    def values(self) -> dict[str, Any]:
        """What every input template needs: the model, and the data file to start from."""
        return {**self.model.values(), "data": FileName(START)}


def template(name: str) -> Path:
    """Return the path of an input template of this kind."""
    return TEMPLATES / f"{name}.in.j2"
