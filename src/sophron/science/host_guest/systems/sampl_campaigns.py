"""Campaigns of the SAMPL benchmarks in three sizes, with the splits of MDForge (table 3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sophron.records import templates
from sophron.science.host_guest.preparation.complex_builder import Solvent
from sophron.science.host_guest.systems import data

if TYPE_CHECKING:
    from jinja2 import Template

TEMPLATE = Path(__file__).parent / "templates" / "sampl.campaign.yaml.j2"


@dataclass(frozen=True)
class Size:
    """training: guests at most; ns: of a window; runtime_min: of a production step; successes: that end the loop.

    memory_mb: of a step with a stage file; core_hours: the limit, which bounds all trials, retries and ceilings of the
    largest benchmark.
    """

    name: str
    solvent: Solvent
    platform: str
    training: int
    held_out: int
    ns: float
    runtime_min: int
    successes: int
    core_hours: int
    memory_mb: int = 2000


SIZES = (
    Size("smoke", "obc2", "CPU", training=1, held_out=1, ns=0.02, runtime_min=20, successes=1, core_hours=400),
    Size(
        "bench",
        "obc2",
        "CPU",
        training=4,
        held_out=10,
        ns=1.0,
        runtime_min=120,
        successes=2,
        core_hours=25000,
    ),
    Size(
        "full",
        "tip3p",
        "CUDA",
        training=4,
        held_out=10,
        ns=5.0,
        runtime_min=720,
        successes=5,
        core_hours=350000,
        memory_mb=8000,
    ),
)
"""smoke: minutes, machinery only; bench: hours on two cores, machinery only; full: a queue with graphics processors."""


def draft(benchmark: str, size: Size) -> str:
    """The `campaign.yaml` of a benchmark in one size."""
    found = data.benchmark(benchmark)
    code = [each.lower() for each in found.guests]
    training = [code[index] for index in found.training[: size.training]]
    held_out = [code[index] for index in found.held_out[: size.held_out]]
    return _template().render(
        benchmark=found,
        size=size,
        campaign=benchmark if size.name == "full" else f"{benchmark}-{size.name}",
        guests=[guest for guest in code if guest in training or guest in held_out],
        measured=len(code),
        training=training,
        held_out=held_out,
    )


@cache
def _template() -> Template:
    environment = templates.environment(TEMPLATE.parent, autoescape=False, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template(TEMPLATE.name)
