"""What host and guest still feel of each other in the last window of attach-pull-release, where release has them apart.

Charges are screened by the solvent and, in a box, by its ions after Debye and Hueckel. What they feel is a term of the
binding free energy; what is not known of it is the systematic error of that term.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sophron.science.estimators.refusal import Reason, Refusal
from sophron.science.estimators.restraints import Harmonic, rt
from sophron.science.estimators.thermodynamic_cycle import Term
from sophron.science.host_guest.preparation import geometry
from sophron.science.host_guest.protocols.apr_setup import Experiment
from sophron.science.host_guest.protocols.lj_dimer import Potential
from sophron.science.host_guest.sampling.openmm_system import openmm

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAME = "residual interaction"
COULOMB = 332.06371
"""Energy of two elementary charges one Angstrom apart in vacuum, in kcal/mol (CODATA 2018)."""
MOST_UNCERTAIN = 0.3
"""kcal/mol; a correction that is known less well is refused, whatever its size."""
IMPLICIT, THREE_SITES, FOUR_SITES = 78.5, 94.0, 78.4
"""Relative permittivity of OBC2, of TIP3P (Vega and Abascal 2011, 10.1039/c1cp22168j), and of OPC (Izadi et al. 2014,
10.1021/jz501780a)."""
PERMITTIVITY_ERROR = 0.1
"""Of the medium between host and guest, which is not all water."""
WIDTHS, POINTS = 8.0, 161


@dataclass(frozen=True)
class ScreenedCoulomb:
    """Two charges in a medium with ions: q1 q2 exp(-r / Debye length) / (permittivity r), in kcal/mol and Angstrom."""

    charge_product: float
    permittivity: float
    debye_length_a: float = math.inf

    def __call__(self, distance_a: NDArray[np.float64]) -> NDArray[np.float64]:
        """Energy at each distance; below 0.1 Angstrom what it is there, which nothing reaches."""
        apart = np.maximum(distance_a, 0.1)
        bare = COULOMB * self.charge_product / (self.permittivity * apart)
        return np.asarray(bare * np.exp(-apart / self.debye_length_a))


def debye_length(squared_charges: float, volume_a3: float, permittivity: float, temperature_k: float) -> float:
    """Return the screening length in Angstrom; infinite without ions. squared_charges: sum of z^2 of the ions."""
    if not squared_charges:
        return math.inf
    return math.sqrt(permittivity * rt(temperature_k) * volume_a3 / (4 * math.pi * COULOMB * squared_charges))


def residual(potential: Potential, restraint: Harmonic, temperature_k: float) -> float:
    """Free energy in kcal/mol of the interaction while `restraint` holds the distance: -RT ln <exp(-U/RT)>."""
    unit = rt(temperature_k)
    width = math.sqrt(unit / (2 * restraint.k))
    distances = restraint.target + width * np.linspace(-WIDTHS, WIDTHS, POINTS)
    distances = distances[distances > 0]
    weights = distances**2 * np.exp(-restraint.k * (distances - restraint.target) ** 2 / unit)
    return -unit * math.log(float((weights * np.exp(-potential(distances) / unit)).sum() / weights.sum()))


@dataclass(frozen=True)
class Charges:
    """Charges of host and guest, in elementary charges, and places in Angstrom, shape (atoms, 3), at the start.

    along: unit vector that the guest is pulled along; start_a: the restrained distance there.
    """

    host: NDArray[np.float64]
    guest: NDArray[np.float64]
    host_a: NDArray[np.float64]
    guest_a: NDArray[np.float64]
    along: NDArray[np.float64]
    start_a: float
    permittivity: float
    debye_length_a: float

    def __call__(self, distance_a: NDArray[np.float64]) -> NDArray[np.float64]:
        """Energy in kcal/mol of the rigid pair at each restrained distance."""
        products = np.outer(self.host, self.guest)
        return np.array([self._energy(products, float(each)) for each in distance_a])

    def _energy(self, products: NDArray[np.float64], distance_a: float) -> float:
        moved = self.guest_a + (distance_a - self.start_a) * self.along
        apart = np.linalg.norm(self.host_a[:, None] - moved[None], axis=-1)
        return float((products * self.between(apart)).sum())

    def between(self, distance_a: NDArray[np.float64]) -> NDArray[np.float64]:
        """Energy of two elementary charges."""
        return ScreenedCoulomb(1.0, self.permittivity, self.debye_length_a)(distance_a)


def of_experiment(experiment: Experiment) -> Term | Refusal:
    """Return the term as it is added to binding, or its refusal if it is uncertain by more than `MOST_UNCERTAIN`."""
    charges = charges_of(experiment)
    last = experiment.frame.distance
    value = residual(charges, last, experiment.temperature_k)
    systematic = _uncertainty(charges, value, last.target, experiment.box_a)
    if systematic <= MOST_UNCERTAIN:
        return Term(NAME, value, systematic=systematic)
    sentence = (
        f"host and guest still feel {value:.2g} +- {systematic:.2g} kcal/mol of each other in the last window, and an "
        f"uncertainty of {MOST_UNCERTAIN:g} is allowed; pull farther, or take a larger box."
    )
    return Refusal(Reason.STILL_INTERACTING, sentence, (len(experiment.windows) - 1,))


def _uncertainty(charges: Charges, value: float, target_a: float, box_a: Sequence[float] | None) -> float:
    """Bound in kcal/mol: of permittivity, ions that the host keeps out, higher multipoles, and nearest images.

    Higher multipoles are those of one orientation, where the simulated guest takes several.
    """
    centre = _centre(charges.host, charges.host_a)
    guest = _centre(charges.guest, charges.guest_a) + (target_a - charges.start_a) * charges.along
    apart = float(np.linalg.norm(guest - centre))
    product = float(charges.host.sum() * charges.guest.sum())
    monopoles = product * float(charges.between(np.array([apart]))[0])
    radius = float(np.linalg.norm(charges.host_a - centre, axis=1).max()) / charges.debye_length_a
    kept_out = math.expm1(radius - math.log1p(radius))
    nearest = 0.0
    if box_a:
        nearest = abs(product) * float(charges.between(np.array([max(min(box_a) - apart, apart)]))[0])
    return (PERMITTIVITY_ERROR + kept_out) * abs(value) + abs(value - monopoles) + nearest


def _centre(charges: NDArray[np.float64], places_a: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean place, weighted by the size of the charges if there are any."""
    weights = np.abs(charges) if np.any(charges) else None
    return np.asarray(np.average(places_a, axis=0, weights=weights))


def charges_of(experiment: Experiment) -> Charges:
    """Charges and places of both, the ions' screening, and the direction of the pull."""
    charges, molecules = _particle_charges(experiment.system), _molecules(experiment.system)
    held, places = experiment.held, experiment.positions_a
    host = np.isin(molecules, molecules[list(held.centre)])
    guest = np.isin(molecules, molecules[list(held.anchors.guest)])
    pulled = places[held.anchors.guest[0]] - places[held.dummies[0]]
    system, box = experiment.system, experiment.box_a
    virtual = any(system.isVirtualSite(at) for at in range(system.getNumParticles()))
    permittivity = IMPLICIT if experiment.implicit else FOUR_SITES if virtual else THREE_SITES
    screening = math.inf
    if box:
        ions = charges[~host & ~guest & _alone(system, molecules)]
        volume = box[0] * box[1] * box[2]
        screening = debye_length(float((ions**2).sum()), volume, permittivity, experiment.temperature_k)
    start = float(geometry.distance(places[held.dummies[0]], places[held.anchors.guest[0]]))
    return Charges(
        charges[host],
        charges[guest],
        places[host],
        places[guest],
        pulled / np.linalg.norm(pulled),
        start,
        permittivity,
        screening,
    )


def _particle_charges(system: object) -> NDArray[np.float64]:
    """Charge of every particle in elementary charges; zeros if the system has no nonbonded force."""
    count = system.getNumParticles()  # type: ignore[attr-defined]
    found = np.zeros(count)
    for force in system.getForces():  # type: ignore[attr-defined]
        if isinstance(force, openmm().NonbondedForce):
            found[:] = [force.getParticleParameters(at)[0]._value for at in range(count)]  # noqa: SLF001 - in e
    return found


def _molecules(system: object) -> NDArray[np.int64]:
    """Number of the molecule of every particle: those that bonds or rigid distances join."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs = [system.getConstraintParameters(at)[:2] for at in range(system.getNumConstraints())]  # type: ignore[attr-defined]
    for force in system.getForces():  # type: ignore[attr-defined]
        if isinstance(force, openmm().HarmonicBondForce):
            pairs += [force.getBondParameters(at)[:2] for at in range(force.getNumBonds())]
    count = system.getNumParticles()  # type: ignore[attr-defined]
    first, second = np.array(pairs, dtype=int).reshape(-1, 2).T
    return np.asarray(connected_components(coo_array((np.ones(len(pairs)), (first, second)), (count, count)))[1])


def _alone(system: object, molecules: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Particles that are a molecule by themselves and have a mass: ions, not dummies or virtual sites."""
    massive = [system.getParticleMass(at)._value > 0 for at in range(len(molecules))]  # type: ignore[attr-defined] # noqa: SLF001
    return np.asarray((np.bincount(molecules)[molecules] == 1) & np.array(massive))
