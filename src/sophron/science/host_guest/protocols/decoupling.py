"""Double decoupling: the guest is held in the host by six restraints, decoupled there, and decoupled alone.

From bound to free: restraints are turned on, charges and then sterics of the guest are turned off, the guest that
feels nothing is released by an integral, and is turned on again in solvent alone (Boresch et al. 2003,
10.1021/jp0217839). The alchemical system is openmmtools'.

In a periodic box the charge of the guest must not vanish by itself: the box would be charged, and its energy would
depend on its size (Rocklin et al. 2013, 10.1063/1.4826261). As many ions of the opposite charge lose theirs with it,
alike in both legs and far from the guest. A wall keeps them there; what it costs is another thing beside a charged host
(`ion_wall`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.records.errors import UserError
from sophron.science.estimators.mbar import Estimate
from sophron.science.estimators.restraints import Frame, Harmonic, release, rt
from sophron.science.estimators.thermodynamic_cycle import Term, total
from sophron.science.host_guest.preparation import geometry
from sophron.science.host_guest.protocols.residual_interaction import Charges
from sophron.science.host_guest.protocols.restrained_system import GUEST_GROUP
from sophron.science.host_guest.sampling.openmm_system import KJ_PER_KCAL, NM_PER_A, openmm

if TYPE_CHECKING:
    from numpy.typing import NDArray

K_DISTANCE, K_ANGLE = 5.0, 50.0
"""kcal/mol/Angstrom^2 and kcal/mol/rad^2, without 1/2"""
ION_AWAY_A, ION_K = 12.0, 5.0
"""How near to the guest an ion that goes with it may come, and the wall there in kcal/mol/Angstrom^2."""
ION_CONTACT_A = 5.0
"""How near to the middle of a solute an ion could come without the wall."""
SURFACE_TERM = "28.3919551*(radius+0.14)^2"


@dataclass(frozen=True)
class BoreschAnchors:
    """Particles H3, H2, H1 of the host and G1, G2, G3 of the guest, which six restraints hold against each other."""

    host: tuple[int, int, int]
    guest: tuple[int, int, int]


def alchemical(system: Any, guest: Sequence[int]) -> Any:
    """The system with lambdas of the guest's atoms; UserError if openmmtools is not installed.

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


def couple_ions(system: Any, ions: Sequence[int], guest: int) -> None:
    """Let ions of an alchemical system lose their charge as the guest does, `ION_AWAY_A` or more from an atom of it."""
    module = openmm()
    wall = module.CustomBondForce("k*step(least-r)*(least-r)^2")
    wall.addGlobalParameter("k", ION_K * KJ_PER_KCAL / NM_PER_A**2)
    wall.addGlobalParameter("least", ION_AWAY_A * NM_PER_A)
    wall.setUsesPeriodicBoundaryConditions(True)
    (nonbonded,) = (force for force in system.getForces() if isinstance(force, module.NonbondedForce))
    for ion in ions:
        charge, sigma, epsilon = nonbonded.getParticleParameters(ion)
        nonbonded.setParticleParameters(ion, 0.0, sigma, epsilon)
        nonbonded.addParticleParameterOffset("lambda_electrostatics", ion, charge, 0.0, 0.0)
        wall.addBond(ion, guest, [])
    system.addForce(wall)


def _drop_surface_term(system: Any) -> None:
    """Openmmtools adds a surface term to generalised Born that the system it was given does not have (`solvated`)."""
    for force in system.getForces():
        if isinstance(force, openmm().CustomGBForce):
            for at in range(force.getNumEnergyTerms()):
                expression, kind = force.getEnergyTermParameters(at)
                if SURFACE_TERM in expression:
                    force.setEnergyTermParameters(at, "0", kind)


def choose_anchors(
    positions_a: NDArray[np.float64], host: Sequence[int], chains: Iterable[tuple[int, int, int]]
) -> BoreschAnchors:
    """Which atoms to hold: three of the host, in any order, and three of the guest that are bonded in a row.

    host: candidates, three at least; chains: of the guest, heavy atoms. Taken is what is farthest from a line in all
    four angles, where torsions are undefined. UserError where nothing is far enough.
    """
    rows = [row for each in chains for row in (each, each[::-1])]
    options = [
        BoreschAnchors((first, second, third), row) for first, second, third in permutations(host, 3) for row in rows
    ]
    best = max(options, key=lambda option: _least_sine(positions_a, option), default=None)
    if best is None or _least_sine(positions_a, best) < geometry.LEAST_SINE:
        sentence = "no three heavy atoms in a row can be held against the host; take attach-pull-release."
        raise UserError(f"guest.mol2: {sentence}")
    return best


def _least_sine(positions_a: NDArray[np.float64], option: BoreschAnchors) -> float:
    places = positions_a[[*option.host, *option.guest]]
    return min(float(np.sin(np.radians(geometry.angle(*places[at : at + 3])))) for at in range(4))


def frame_at(positions_a: NDArray[np.float64], anchors: BoreschAnchors) -> Frame:
    """Restraints whose targets are where the atoms are, shape (particles, 3)."""
    h3, h2, h1 = (positions_a[at] for at in anchors.host)
    g1, g2, g3 = (positions_a[at] for at in anchors.guest)
    return Frame(
        distance=Harmonic(float(geometry.distance(h1, g1)), K_DISTANCE),
        theta=Harmonic(float(geometry.angle(h2, h1, g1)), K_ANGLE),
        phi=Harmonic(geometry.torsion([h3, h2, h1, g1]), K_ANGLE),
        alpha=Harmonic(geometry.torsion([h2, h1, g1, g2]), K_ANGLE),
        beta=Harmonic(float(geometry.angle(h1, g1, g2)), K_ANGLE),
        gamma=Harmonic(geometry.torsion([h1, g1, g2, g3]), K_ANGLE),
    )


def add_boresch_restraints(system: Any, anchors: BoreschAnchors, frame: Frame) -> None:
    """Add the restraints of a frame to a system, governed by the parameter `held` of the context."""
    module = openmm()
    (h3, h2, h1), (g1, g2, g3) = anchors.host, anchors.guest
    turn = f"{2 * math.pi!r}"
    distance = module.CustomBondForce("held*k*(r-aim)^2")
    angle = module.CustomAngleForce("held*k*(theta-aim)^2")
    torsion = module.CustomTorsionForce(f"held*k*min(d, {turn}-d)^2; d=abs(theta-aim)")
    for force in (distance, angle, torsion):
        force.addGlobalParameter("held", 0.0)
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


def wall_cost(
    interaction: Callable[[NDArray[np.float64]], NDArray[np.float64]], volume_a3: float, temperature_k: float
) -> float:
    """Free energy in kcal/mol of keeping one ion behind its wall: -RT ln of the part of the box that is left to it.

    interaction: energy in kcal/mol of the ion at each distance in Angstrom from the middle of the solute.
    """
    unit = rt(temperature_k)
    end_a = (3 * volume_a3 / (4 * math.pi)) ** (1 / 3)
    distances = np.linspace(ION_CONTACT_A, end_a, 4001)
    weights = distances**2 * np.exp(-interaction(distances) / unit)
    wall = ION_K * np.maximum(ION_AWAY_A - distances, 0.0) ** 2
    return -unit * math.log(float((weights * np.exp(-wall / unit)).sum() / weights.sum()))


def ion_wall(charges: Charges, volumes_a3: tuple[float, float], temperature_k: float) -> Term:
    """Return what the walls of the coupled ions add to binding, as it is to be taken off, by a mean field.

    volumes_a3: of the boxes with and without a host. The wall stands in all four end states: beside the charged
    complex, beside the charged guest alone, and twice beside nothing, the ion uncharged. Debye and Hueckel's mean field
    is rough near a host of many charges, so the term's own size is its systematic error.
    """
    host, guest = (float(round(each.sum())) for each in (charges.host, charges.guest))
    ion, (complex_a3, alone_a3) = -math.copysign(1.0, guest), volumes_a3

    def cost(charge: float, volume_a3: float) -> float:
        return wall_cost(lambda apart: ion * charge * charges.between(apart), volume_a3, temperature_k)

    beside = cost(host + guest, complex_a3) - cost(0.0, complex_a3)
    alone = cost(guest, alone_a3) - cost(0.0, alone_a3)
    value = -abs(guest) * (beside - alone)
    return Term("ion wall", value, systematic=abs(value))


@dataclass(frozen=True)
class Decoupled:
    """A standard binding free energy in kcal/mol (1 mol/l), its legs, and what MBAR measured in both boxes."""

    total: Term
    legs: tuple[Term, ...]
    host: Estimate
    alone: Estimate


def binding(
    bound: Estimate, alone: Estimate, frame: Frame, temperature_k: float, corrections: Sequence[Term] = ()
) -> Decoupled:
    """Standard binding free energy from both legs.

    bound: restraints on, then decoupled, in the complex; alone: decoupled without a host; corrections: as they are
    added to binding (equivalent sites, protonation).
    """
    legs = [
        -Term("decoupled in the host", bound.difference, bound.error, bound.systematic),
        -Term("release", release(frame, temperature_k)),
        Term("decoupled alone", alone.difference, alone.error, alone.systematic),
        *corrections,
    ]
    return Decoupled(total("binding", legs), tuple(legs), bound, alone)
