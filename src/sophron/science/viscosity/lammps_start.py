"""Start of every stage that runs LAMMPS: the system before it, its model, its template, its fragments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sophron.interfaces.kind import StepContext
from sophron.science.lammps import start as lammps_start
from sophron.science.lammps.render import FileName, FreeText, Word
from sophron.science.viscosity.models import Model


@dataclass(frozen=True)
class SystemData:
    """What a result repeats of the system that its step was given. volume: in sigma^3; model: as the definition."""

    atoms: int
    chain_length: int
    bonds: int
    volume: float
    density: float
    model: Mapping[str, object]


Start = lammps_start.Start[SystemData]


def begin(ctx: StepContext, stage: str) -> Start:
    """Start from the upstream `stage`; its system is copied into the work folder as `start.data`."""
    step, system = lammps_start.begin(ctx, stage, SystemData)
    model = Model.of(system.model)
    style = Word("bond" if model.bonds else "atomic")
    values = {**model.values(), "atom_style": style, "data": FileName(lammps_start.START), "restart": None}
    return Start(step, system, values)


def free_text(ctx: StepContext) -> FreeText | None:
    """Return the definition's fragments, if it has any."""
    lines: Sequence[str] = ctx.definition.get("fragments", ())
    return FreeText(tuple(lines)) if lines else None
