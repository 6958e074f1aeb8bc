"""Our pipelines for molecules, which the offline author emits and varies: attach-pull-release, double decoupling."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from sophron.science.host_guest.pipelines import reference_pipelines
from sophron.science.host_guest.protocols.lambda_schedule import Lambdas

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
TOGETHER = 4
"""Windows of one step if neighbours swap."""


@dataclass(frozen=True)
class Shape:
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


def files(shape: Shape | DecouplingShape) -> dict[str, str]:
    """File name -> source."""
    return reference_pipelines.files("complex" if isinstance(shape, Shape) else "decoupling", asdict(shape))


def apr() -> str:
    """Attach-pull-release, each window by itself."""
    return reference_pipelines.reply(PULLED, files(Shape()), Shape().steps)


def replica_exchange() -> str:
    """Attach-pull-release with Hamiltonian replica exchange between the windows of a step."""
    shape = replace(Shape(), together=TOGETHER)
    return reference_pipelines.reply(PULLED + SWAPPED, files(shape), shape.steps)


def double_decoupling() -> str:
    """Double decoupling."""
    return reference_pipelines.reply(DECOUPLED, files(DecouplingShape()), DecouplingShape().windows)
