"""Start of every stage that runs LAMMPS: the system before it, its model, its template, its fragments."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sophron.interfaces.kind import StepContext, UpstreamStep
from sophron.science.lammps.render import FileName, FreeText, Word
from sophron.science.viscosity.models import Model

TEMPLATES = Path(__file__).parent / "templates"
START = "start.data"


@dataclass(frozen=True)
class Start:
    """Where a stage of LAMMPS begins: the finished step before it, and the model that came with its system."""

    step: UpstreamStep
    model: Model

    @classmethod
    def of(cls, ctx: StepContext, stage: str) -> Start:
        """From the upstream `stage`; its system is copied into the work folder as `start.data`."""
        step = ctx.one(stage)
        shutil.copyfile(step.files["system"], ctx.workdir / START)
        return cls(step, Model.of(step.result["model"]))

    @property
    def same(self) -> dict[str, Any]:
        """What a result repeats of the system that its step was given."""
        names = ("atoms", "chain_length", "bonds", "volume", "density", "model")
        return {name: self.step.result[name] for name in names}

    @property
    def values(self) -> dict[str, Any]:
        """What every input template needs: the model, and the data file to start from."""
        style = Word("bond" if self.model.bonds else "atomic")
        return {**self.model.values(), "atom_style": style, "data": FileName(START), "restart": None}


def template(name: str) -> Path:
    """Return the input template of this kind called `name`."""
    return TEMPLATES / f"{name}.in.j2"


def free_text(ctx: StepContext) -> FreeText | None:
    """Return the definition's fragments, if it has any."""
    lines: Sequence[str] = ctx.definition.get("fragments", ())
    return FreeText(tuple(lines)) if lines else None
