"""Start of every stage that runs LAMMPS: the system it starts from, and values of its input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sophron.interfaces.kind import StepContext
from sophron.science.chain_conformation.model import Model
from sophron.science.lammps import start as lammps_start
from sophron.science.lammps.render import FileName


@dataclass(frozen=True)
class SystemData:
    """What a result repeats of the system that its step was given. volume: in sigma^3; model: as the definition."""

    chains: int
    chain_length: int
    beads: int
    volume: float
    box_length: float
    model: Mapping[str, object]


Start = lammps_start.Start[SystemData]


def begin(ctx: StepContext, stage: str) -> Start:
    """Start from the upstream `stage`; its system is copied into the work folder as `start.data`."""
    step, system = lammps_start.begin(ctx, stage, SystemData)
    return Start(step, system, {**Model.of(system.model).values(), "data": FileName(lammps_start.START)})
