"""Double decoupling: the guest is held in the host by six restraints, decoupled there, and decoupled alone.

From bound to free: restraints are turned on, charges and then sterics of the guest are turned off, the guest that
feels nothing is released by an integral, and is turned on again in solvent alone (Boresch et al. 2003,
10.1021/jp0217839). The alchemical system is openmmtools'.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.records.errors import UserError
from sophron.science.estimators.cycle import Term, total
from sophron.science.estimators.mbar import Run, estimate
from sophron.science.estimators.refusal import Refusal
from sophron.science.estimators.restraints import Frame, Harmonic, release, rt
from sophron.science.host_guest import geometry
from sophron.science.host_guest.forces import GUEST_GROUP, KJ_PER_KCAL, NM_PER_A
from sophron.science.host_guest.platform import openmm, platform
from sophron.science.host_guest.relax import FRICTION_PER_PS
from sophron.science.host_guest.sampling import Plan, segment_seed

if TYPE_CHECKING:
    from numpy.typing import NDArray

K_DISTANCE, K_ANGLE = 5.0, 50.0
"""kcal/mol/Angstrom^2 and kcal/mol/rad^2, without 1/2"""
SURFACE_TERM = "28.3919551*(radius+0.14)^2"


@dataclass(frozen=True)
class Stage:
    """One window. strength: of the restraints; electrostatics, sterics: 1 coupled, 0 not; charges go off first."""

    strength: float
    electrostatics: float
    sterics: float

    def __post_init__(self) -> None:
        """ValueError where atoms without repulsion would still have charges: they would fall on each other."""
        if self.electrostatics > 0 and self.sterics < 1:
            raise ValueError("charges are turned off before sterics")


@dataclass(frozen=True)
class Six:
    """Particles H3, H2, H1 of the host and G1, G2, G3 of the guest, which six restraints hold against each other."""

    host: tuple[int, int, int]
    guest: tuple[int, int, int]


def chain(strengths: Sequence[float], electrostatics: Sequence[float], sterics: Sequence[float]) -> list[Stage]:
    """Windows of one leg; strengths: ascending to 1, empty without host; the others: from below 1 down to 0."""
    held = [Stage(each, 1.0, 1.0) for each in strengths] or [Stage(0.0, 1.0, 1.0)]
    full = held[-1].strength
    return [*held, *(Stage(full, each, 1.0) for each in electrostatics), *(Stage(full, 0.0, each) for each in sterics)]


def alchemical(system: Any, guest: Sequence[int]) -> Any:
    """The system with lambdas of the guest's atoms; UserError where openmmtools is not installed.

    Electrostatics within the guest go off too, in both legs alike: with PME there is no other way.
    """
    try:
        from openmmtools import alchemy
    except ImportError:
        raise UserError("double decoupling needs openmmtools; pip install 'sophron[chem]'") from None
    region = alchemy.AlchemicalRegion(
        alchemical_atoms=list(guest), annihilate_electrostatics=True, annihilate_sterics=False
    )
    factory = alchemy.AbsoluteAlchemicalFactory(consistent_exceptions=False)
    made = factory.create_alchemical_system(system, region)
    _drop_surface_term(made)
    return made


def _drop_surface_term(system: Any) -> None:
    """Openmmtools adds a surface term to generalised Born that the system it was given does not have (`solvated`)."""
    for force in system.getForces():
        if isinstance(force, openmm().CustomGBForce):
            for at in range(force.getNumEnergyTerms()):
                expression, kind = force.getEnergyTermParameters(at)
                if SURFACE_TERM in expression:
                    force.setEnergyTermParameters(at, "0", kind)


def frame_at(positions_a: NDArray[np.float64], six: Six) -> Frame:
    """Restraints whose targets are where the atoms are, shape (particles, 3)."""
    h3, h2, h1 = (positions_a[at] for at in six.host)
    g1, g2, g3 = (positions_a[at] for at in six.guest)
    return Frame(
        distance=Harmonic(float(geometry.distance(h1, g1)), K_DISTANCE),
        theta=Harmonic(float(geometry.angle(h2, h1, g1)), K_ANGLE),
        phi=Harmonic(geometry.torsion([h3, h2, h1, g1]), K_ANGLE),
        alpha=Harmonic(geometry.torsion([h2, h1, g1, g2]), K_ANGLE),
        beta=Harmonic(float(geometry.angle(h1, g1, g2)), K_ANGLE),
        gamma=Harmonic(geometry.torsion([h1, g1, g2, g3]), K_ANGLE),
    )


def hold(system: Any, six: Six, frame: Frame) -> None:
    """Add the restraints of a frame to a system, governed by the parameter `strength` of the context."""
    module = openmm()
    (h3, h2, h1), (g1, g2, g3) = six.host, six.guest
    turn = f"{2 * math.pi!r}"
    distance = module.CustomBondForce("strength*k*(r-aim)^2")
    angle = module.CustomAngleForce("strength*k*(theta-aim)^2")
    torsion = module.CustomTorsionForce(f"strength*k*min(d, {turn}-d)^2; d=abs(theta-aim)")
    for force in (distance, angle, torsion):
        force.addGlobalParameter("strength", 0.0)
    for name in ("k", "aim"):
        distance.addPerBondParameter(name)
        angle.addPerAngleParameter(name)
        torsion.addPerTorsionParameter(name)
    distance.addBond(h1, g1, [frame.distance.k * KJ_PER_KCAL / NM_PER_A**2, frame.distance.target * NM_PER_A])
    for restraint, three in ((frame.theta, (h2, h1, g1)), (frame.beta, (h1, g1, g2))):
        if restraint:
            angle.addAngle(*three, [restraint.k * KJ_PER_KCAL, math.radians(restraint.target)])
    fours = ((frame.phi, (h3, h2, h1, g1)), (frame.alpha, (h2, h1, g1, g2)), (frame.gamma, (h1, g1, g2, g3)))
    for restraint, four in fours:
        if restraint:
            torsion.addTorsion(*four, [restraint.k * KJ_PER_KCAL, math.radians(restraint.target)])
    for force in (distance, angle, torsion):
        force.setForceGroup(GUEST_GROUP)
        system.addForce(force)


def apply(context: Any, stage: Stage) -> None:
    """Make a context that of one window; a leg without host has no restraints."""
    values = {
        "lambda_electrostatics": stage.electrostatics,
        "lambda_sterics": stage.sterics,
        "strength": stage.strength,
    }
    known: Mapping[str, float] = context.getParameters()
    for name in known:
        if name in values:
            context.setParameter(name, values[name])


def reduced(context: Any, stages: Sequence[Stage], temperature_k: float) -> NDArray[np.float64]:
    """Reduced energies of where a context stands in all windows, shape (windows,)."""
    energies = []
    for stage in stages:
        apply(context, stage)
        energies.append(float(context.getState(getEnergy=True).getPotentialEnergy()._value))  # noqa: SLF001 - in kJ/mol
    return np.array(energies) / (KJ_PER_KCAL * rt(temperature_k))


def sample(
    system: Any,
    stages: Sequence[Stage],
    positions_a: NDArray[np.float64],
    temperature_k: float,
    plan: Plan,
    *,
    seed: int,
    box_a: tuple[float, float, float] | None = None,
    asked: str | None = None,
) -> list[Run]:
    """All windows of one leg, each begun where the one before has ended."""
    module = openmm()
    integrator = module.LangevinMiddleIntegrator(temperature_k, FRICTION_PER_PS, plan.time_step_ps)
    integrator.setRandomNumberSeed(segment_seed(seed, 0))
    chosen, properties = platform(asked)
    context = module.Context(system, integrator, chosen, properties)
    if box_a:
        context.setPeriodicBoxVectors(*(np.diag(box_a) * NM_PER_A))
    context.setPositions(positions_a * NM_PER_A)
    context.setVelocitiesToTemperature(temperature_k, segment_seed(seed, 1))
    runs = []
    for place, stage in enumerate(stages):
        apply(context, stage)
        integrator.step(plan.settle)
        columns = []
        for _ in range(plan.samples):
            integrator.step(plan.interval)
            columns.append(reduced(context, stages, temperature_k))
            apply(context, stage)
        energies = np.array(columns).T
        runs.append(Run(place, energies, energies[:0], "forward"))
    return runs


def binding(
    bound: Sequence[Run], alone: Sequence[Run], frame: Frame, temperature_k: float, corrections: Sequence[Term] = ()
) -> Term | Refusal:
    """Standard binding free energy in kcal/mol (1 mol/l) from both legs, or why there is none.

    bound: restraints on, then decoupled, in the complex; alone: decoupled without a host; corrections: as they are
    added to binding (equivalent sites, protonation).
    """
    legs = []
    for name, runs in (("decoupled in the host", bound), ("decoupled alone", alone)):
        found = estimate(runs, temperature_k)
        if isinstance(found, Refusal):
            return found
        legs.append(Term(name, found.difference, found.error, found.systematic))
    held, free = legs
    return total("binding", [-held, -Term("release", release(frame, temperature_k)), free, *corrections])
