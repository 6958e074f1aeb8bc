"""A complex as a system of OpenMM: solvent, constraints, heavy hydrogens, dummy atoms, restraints, walls.

Restraints are k x (deviation)^2 without 1/2, as in Amber; k and targets come in kcal/mol, Angstrom and degrees, and
leave here in OpenMM's units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.science.estimators.restraints import Frame
from sophron.science.host_guest.preparation import geometry
from sophron.science.host_guest.preparation.geometry import Anchors
from sophron.science.host_guest.protocols.apr import Wall, Window
from sophron.science.host_guest.sampling.openmm_system import KJ_PER_KCAL, NM_PER_A, openmm

if TYPE_CHECKING:
    from numpy.typing import NDArray

HOST_K_DISTANCE, HOST_K_ANGLE = 50.0, 1000.0
"""Of the six restraints that hold the host against the dummies, in kcal/mol/Angstrom^2 and kcal/mol/rad^2.

Ten times those of Taproom, with which a host follows a guest that is pulled out of a narrow portal by angstroms: two
states of one window, bound and slipped, that did not exchange in half a nanosecond. What the six hold cannot shift a
result.
"""
HOST_GROUP, GUEST_GROUP = 1, 2
"""Force groups of the restraints of host and guest, so that their energies can be asked for."""
DUMMY_RADIUS_NM = 0.15
DUMMY_SCALE = 1e-6
"""Of a dummy in the generalised Born term, which accepts no 0."""


@dataclass(frozen=True)
class DirectionRestraint:
    """Half a harmonic that keeps a guest to one of two equivalent directions: U = k (angle - least)^2 below `least`.

    The angle is D2-G1-G2, in degrees; k in kcal/mol/rad^2.
    """

    least: float = 91.0
    k: float = 200.0


@dataclass(frozen=True)
class Site:
    """What keeps an unrestrained guest bound. wall: on the distance of G1 from the host's centre; lock: None: none."""

    wall: Wall
    lock: DirectionRestraint | None = None


@dataclass(frozen=True)
class RestrainedParticles:
    """Particles that restraints act on. centre: those whose mean position is the host's centre."""

    dummies: tuple[int, int, int]
    anchors: Anchors
    centre: tuple[int, ...]


def add_dummies(system: Any) -> tuple[int, int, int]:
    """Three particles without mass, charge or interaction; their numbers."""
    module = openmm()
    first = system.getNumParticles()
    for _ in range(3):
        system.addParticle(0.0)
        for force in system.getForces():
            if isinstance(force, module.NonbondedForce):
                force.addParticle(0.0, DUMMY_RADIUS_NM, 0.0)
            elif isinstance(force, module.GBSAOBCForce):
                force.addParticle(0.0, DUMMY_RADIUS_NM, DUMMY_SCALE)
    return (first, first + 1, first + 2)


def hold_host(system: Any, held: RestrainedParticles, positions_a: NDArray[np.float64]) -> None:
    """Six restraints of the host's anchors against the dummies, all at their targets in `positions_a`.

    They fix where the host is and how it is turned, and nothing within it. UserError where anchors lie in a line.
    """
    module = openmm()
    dummies, host = positions_a[list(held.dummies)], positions_a[list(held.anchors.host)]
    geometry.check_frame(dummies, host)
    (d1, d2, d3), (h1, h2, h3) = held.dummies, held.anchors.host
    distance = module.CustomBondForce("k*(r-target)^2")
    angle = module.CustomAngleForce("k*(theta-target)^2")
    torsion = module.CustomTorsionForce(f"k*min(d, {2 * math.pi!r}-d)^2; d=abs(theta-target)")
    for name in ("k", "target"):
        distance.addPerBondParameter(name)
        angle.addPerAngleParameter(name)
        torsion.addPerTorsionParameter(name)
    here = positions_a
    length = float(geometry.distance(here[d1], here[h1]))
    distance.addBond(d1, h1, [_per_nm2(HOST_K_DISTANCE), length * NM_PER_A])
    for three in ((d2, d1, h1), (d1, h1, h2)):
        value = math.radians(float(geometry.angle(*(here[each] for each in three))))
        angle.addAngle(*three, [HOST_K_ANGLE * KJ_PER_KCAL, value])
    for four in ((d3, d2, d1, h1), (d2, d1, h1, h2), (d1, h1, h2, h3)):
        value = math.radians(geometry.torsion([here[each] for each in four]))
        torsion.addTorsion(*four, [HOST_K_ANGLE * KJ_PER_KCAL, value])
    for force in (distance, angle, torsion):
        force.setForceGroup(HOST_GROUP)
        system.addForce(force)


def hold_guest(system: Any, held: RestrainedParticles, frame: Frame, site: Site) -> None:
    """Restraints of distance, theta and beta, wall and lock, all governed by parameters of the context (`apply`)."""
    module = openmm()
    (d1, d2, _), (g1, g2) = held.dummies, held.anchors.guest
    strength, walled = "strength*k*", "walled*k*"
    distance = module.CustomBondForce(strength + "(r-target)^2")
    distance.addGlobalParameter("strength", 0.0)
    distance.addGlobalParameter("target", frame.distance.target * NM_PER_A)
    distance.addPerBondParameter("k")
    distance.addBond(d1, g1, [_per_nm2(frame.distance.k)])
    wall = module.CustomCentroidBondForce(2, walled + "step(d-start)*(d-start)^2; d=distance(g1,g2)")
    wall.addGlobalParameter("walled", 0.0)
    wall.addPerBondParameter("k")
    wall.addPerBondParameter("start")
    wall.addGroup(list(held.centre), [1.0] * len(held.centre))
    wall.addGroup([g1], [1.0])
    wall.addBond([0, 1], [_per_nm2(site.wall.k), site.wall.start * NM_PER_A])
    angle = module.CustomAngleForce(strength + "(theta-aim)^2")
    lock = module.CustomAngleForce(walled + "step(aim-theta)*(theta-aim)^2")
    for force, parameter in ((angle, "strength"), (lock, "walled")):
        force.addGlobalParameter(parameter, 0.0)
        force.addPerAngleParameter("k")
        force.addPerAngleParameter("aim")
    for restraint, three in ((frame.theta, (d2, d1, g1)), (frame.beta, (d1, g1, g2))):
        if restraint:
            angle.addAngle(*three, [restraint.k * KJ_PER_KCAL, math.radians(restraint.target)])
    if site.lock:
        lock.addAngle(d2, g1, g2, [site.lock.k * KJ_PER_KCAL, math.radians(site.lock.least)])
    for force in (distance, angle, wall, lock):
        force.setForceGroup(GUEST_GROUP)
        system.addForce(force)


def apply(context: Any, window: Window) -> None:
    """Make a context that of one window; a window with a wall has the site's wall and lock."""
    context.setParameter("strength", window.strength)
    context.setParameter("target", window.frame.distance.target * NM_PER_A)
    context.setParameter("walled", 1.0 if window.wall else 0.0)


def energies(site: Site, centre_a: NDArray[np.float64], lock_deg: NDArray[np.float64]) -> NDArray[np.float64]:
    """Energy of wall and lock in kcal/mol, from distances of G1 from the host's centre and angles D2-G1-G2."""
    energy = site.wall.k * np.maximum(centre_a - site.wall.start, 0.0) ** 2
    if site.lock:
        energy = energy + site.lock.k * np.radians(np.maximum(site.lock.least - lock_deg, 0.0)) ** 2
    return np.asarray(energy)


def coordinates(
    positions_a: NDArray[np.float64], held: RestrainedParticles
) -> tuple[float, float, float, float, float]:
    """Distance D1-G1 (A), theta and beta (degrees), distance of G1 from the host's centre (A), angle D2-G1-G2."""
    d1, d2, _ = positions_a[list(held.dummies)]
    g1, g2 = positions_a[list(held.anchors.guest)]
    centre = positions_a[list(held.centre)].mean(axis=0)
    return (
        float(geometry.distance(d1, g1)),
        float(geometry.angle(d2, d1, g1)),
        float(geometry.angle(d1, g1, g2)),
        float(geometry.distance(centre, g1)),
        float(geometry.angle(d2, g1, g2)),
    )


def group_energy(context: Any, group: int) -> float:
    """Energy in kcal/mol, by OpenMM, of the restraints in `HOST_GROUP` or `GUEST_GROUP`."""
    state = context.getState(getEnergy=True, groups={group})
    return float(state.getPotentialEnergy()._value) / KJ_PER_KCAL  # noqa: SLF001 - in kJ/mol


def _per_nm2(k: float) -> float:
    """From kcal/mol/Angstrom^2 to kJ/mol/nm^2."""
    return k * KJ_PER_KCAL / NM_PER_A**2
