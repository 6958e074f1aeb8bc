"""Attach-pull-release: windows of restraints and a wall, their reduced energies, and the sum of the legs.

Host and guest interact alike in all windows, so that only restraints and walls distinguish them: what is common to
all windows cancels in MBAR and is left out. Binding is seen from the dissociated side: attach and pull are simulated,
release is an integral, and binding is minus their sum (Henriksen, Fenley and Gilson 2015, 10.1021/acs.jctc.5b00405).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sophron.science.estimators.mbar import Run, estimate
from sophron.science.estimators.refusal import Refusal
from sophron.science.estimators.restraints import Frame, Harmonic, release, rt
from sophron.science.estimators.thermodynamic_cycle import Term, total

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Wall:
    """Half a harmonic that keeps a guest that is not restrained in its site: U = k (r - start)^2 beyond `start`."""

    start: float
    k: float


@dataclass(frozen=True)
class Window:
    """One window. frame: restraints at full strength; strength: factor on them, from 0; wall: None: it has none."""

    frame: Frame
    strength: float = 1.0
    wall: Wall | None = None

    def radial(self, distance_a: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the energy of wall and restraint of the distance, in kcal/mol."""
        energy = self.strength * self.frame.distance.k * (distance_a - self.frame.distance.target) ** 2
        if self.wall:
            energy = energy + self.wall.k * np.maximum(distance_a - self.wall.start, 0.0) ** 2
        return np.asarray(energy)

    def angular(self, restraint: Harmonic | None, angle_deg: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the energy of the restraint of an angle, in kcal/mol."""
        if restraint is None:
            return np.zeros_like(angle_deg)
        return np.asarray(self.strength * restraint.k * np.radians(angle_deg - restraint.target) ** 2)


def chain(frame: Frame, strengths: Sequence[float], distances_a: Sequence[float], wall: Wall) -> list[Window]:
    """Return the windows from the free complex behind its wall to the guest far away.

    strengths: ascending from 0, below 1, of the attach windows, which alone have the wall; distances_a: targets of
    the pull windows, the first that of `frame`, where full strength has made the wall superfluous.
    """
    attach = [Window(frame, strength, wall) for strength in strengths]
    pull = [Window(_at(frame, distance)) for distance in distances_a]
    return attach + pull


def reduced(
    windows: Sequence[Window],
    coordinates: NDArray[np.float64],
    temperature_k: float,
) -> NDArray[np.float64]:
    """Return the reduced energies of samples in all windows, shape (windows, samples).

    coordinates: distance in Angstrom, theta and beta in degrees, shape (3, samples); angles that no window restrains
    may be anything finite.
    """
    distance, theta, beta = coordinates
    rows = [
        window.radial(distance) + window.angular(window.frame.theta, theta) + window.angular(window.frame.beta, beta)
        for window in windows
    ]
    return np.asarray(rows) / rt(temperature_k)


def binding(
    runs: Sequence[Run], windows: Sequence[Window], temperature_k: float, residual: Term | None = None
) -> Term | Refusal:
    """Standard binding free energy in kcal/mol (1 mol/l), or why there is none.

    residual: what host and guest still feel of each other in the last window (`residual_interaction`), of which the
    release knows nothing; None if they feel nothing.
    """
    found = estimate(runs, temperature_k)
    if isinstance(found, Refusal):
        return found
    legs = [
        Term("attach and pull", found.difference, found.error, found.systematic),
        Term("release", release(windows[-1].frame, temperature_k)),
        *([-residual] if residual else []),
    ]
    return -total("binding", legs)


def _at(frame: Frame, distance_a: float) -> Frame:
    return Frame(Harmonic(distance_a, frame.distance.k), frame.theta, frame.phi, frame.alpha, frame.beta, frame.gamma)
