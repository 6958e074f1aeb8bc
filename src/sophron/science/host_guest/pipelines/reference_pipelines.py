"""Our reference pipelines, which the rule-based author hands in and varies: four stage files from templates each.

Attach-pull-release, with and without replica exchange, and double decoupling for molecules; the Lennard-Jones dimer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sophron.records import templates
from sophron.science.host_guest.protocols.lambda_schedule import Lambdas

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
FILES = ("01_prep.py", "02_equilibrate.py", "03_production.py", "04_analysis.py")
PRODUCTION = FILES[2]
PULLED = (
    "Attach-pull-release along the axis of the host, against dummy atoms (10.1021/acs.jctc.5b00405), with GAFF2 and\n"
    "the charges of the benchmark. Windows are seeded from both ends and spaced by their overlap; all are analysed at\n"
    "once by MBAR (10.1063/1.2978177) with guards that refuse; release and standard state are an integral."
)
SWAPPED = (
    "\nNeighbouring windows of a step swap their configurations (10.1063/1.3660669), where a guest is trapped in one."
)
DECOUPLED = (
    "Double decoupling with six restraints (10.1021/jp0217839): the guest is held in the host, its charges and then\n"
    "its sterics are turned off, it is released by an integral and turned on again alone. GAFF2 and the charges of\n"
    "the benchmark; in a box, ions lose their charge with the guest (10.1063/1.4826261). Windows are seeded from both\n"
    "ends and spaced by their overlap; each leg is analysed by MBAR (10.1063/1.2978177) with guards that refuse."
)
DIMER = (
    "Attach-pull-release: the guest has one way out, along the distance (10.1021/acs.jctc.5b00405). All windows are\n"
    "analysed at once by MBAR (10.1063/1.2978177) with guards that refuse; the release is an integral."
)
TOGETHER = 4
"""Windows of one step if neighbours swap."""
DIMER_WINDOWS = 12


@dataclass(frozen=True)
class AprShape:
    """What the author may choose. windows: slots in all; those that spacing leaves are for windows put in.

    charges: `shipped` or `am1bcc`; strengths: of the attach windows, from 0; spacing, pull_length: in Angstrom;
    spring, angle_spring: kcal/mol/Angstrom^2 and kcal/mol/rad^2, without 1/2; interval: time steps of 4 fs between
    two samples; together: windows of one step, above 1 with swaps between neighbours. Equilibration and seeding follow
    the sampling that each window is given.
    """

    windows: int = 44
    charges: str = "shipped"
    strengths: tuple[float, ...] = (0.0, 0.004, 0.016, 0.055, 0.181, 0.496)
    spacing: float = 0.4
    pull_length: float = 12.0
    spring: float = 5.0
    angle_spring: float = 100.0
    interval: int = 250
    together: int = 1

    @property
    def steps(self) -> int:
        """Steps of production."""
        return -(-self.windows // self.together)


@dataclass(frozen=True)
class DecouplingShape:
    """The same for double decoupling. strengths, electrostatics, sterics: as in `lambda_schedule.Lambdas`."""

    windows: int = 44
    charges: str = "shipped"
    strengths: tuple[float, ...] = Lambdas.strengths
    electrostatics: tuple[float, ...] = Lambdas.electrostatics
    sterics: tuple[float, ...] = Lambdas.sterics
    interval: int = 250
    together: int = 1


@dataclass(frozen=True)
class DimerShape:
    """What the author may choose for the dimer, besides the number of windows.

    spring: of the distance, in kcal/mol/Angstrom^2, without 1/2; strengths: of the attach windows, from 0;
    pull_length: in Angstrom, from contact; interval: time steps of 10 fs between two samples.
    """

    spring: float = 1.0
    strengths: tuple[float, ...] = (0.0, 0.04, 0.2)
    pull_length: float = 10.0
    interval: int = 50


FOLDERS: Mapping[type, str] = {AprShape: "complex", DecouplingShape: "decoupling", DimerShape: "lj_dimer"}
"""Shape -> folder of its templates."""


def files(shape: AprShape | DecouplingShape | DimerShape) -> dict[str, str]:
    """Return file name -> source."""
    folder, values = FOLDERS[type(shape)], asdict(shape)
    return {name: _environment().get_template(f"{folder}/{name}.j2").render(values) for name in FILES}


def reply(rationale: str, sources: Mapping[str, str], windows: int) -> str:
    """Return the whole reply (`sophron.debate.pipelines.pipeline`); windows: steps of production."""
    entries = [f"{name} windows={windows}" if name == PRODUCTION else name for name in FILES]
    blocks = [f"FILE {name}\n```python\n{source.rstrip()}\n```" for name, source in sources.items()]
    return "\n".join(["RATIONALE", rationale, "ENTRY", *entries, *blocks, ""])


def apr() -> str:
    """Return attach-pull-release, each window by itself."""
    return reply(PULLED, files(AprShape()), AprShape().steps)


def replica_exchange() -> str:
    """Return attach-pull-release with Hamiltonian replica exchange between the windows of a step."""
    shape = replace(AprShape(), together=TOGETHER)
    return reply(PULLED + SWAPPED, files(shape), shape.steps)


def double_decoupling() -> str:
    """Return double decoupling."""
    return reply(DECOUPLED, files(DecouplingShape()), DecouplingShape().windows)


def lj_dimer() -> str:
    """Return attach-pull-release of the Lennard-Jones dimer."""
    return reply(DIMER, files(DimerShape()), DIMER_WINDOWS)


@cache
def _environment() -> Environment:
    return templates.environment(TEMPLATES, autoescape=False)
