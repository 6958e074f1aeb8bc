"""Where restraints hold host and guest: anchors, three dummy points behind the guest, and the angles between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from sophron.records.errors import UserError
from sophron.science.host_guest.preparation.mol2 import Molecule
from sophron.science.host_guest.task_metadata import NamedAnchors

if TYPE_CHECKING:
    from numpy.typing import NDArray

BEHIND_A = (6.0, 9.0, 11.2)
"""Distances of D1, D2 and D3 behind G1, along the axis from G2 to G1 (Taproom's frame)."""
SIDEWAYS_A = 2.2
"""Distance of D3 from that axis, so that the three are not in a line."""
LEAST_SINE = 0.3
"""Of an angle in the chain of host restraints; near 0 or 180 degrees a torsion around it is undefined."""


@dataclass(frozen=True)
class Anchors:
    """Places of atoms in host-then-guest order. host: H1, H2, H3; guest: G1, behind, and G2, which leaves first."""

    host: tuple[int, int, int]
    guest: tuple[int, int]


def named(host: Molecule, guest: Molecule, names: NamedAnchors) -> Anchors:
    """Return the anchors that task metadata name as `:residue@atom`; UserError if a molecule lacks one."""
    held = _places("host", host, names.host, 0)
    drawn = _places("guest", guest, names.guest, len(host.names))
    if len(held) != 3 or len(drawn) != 2:
        raise UserError("task_metadata.json: anchors needs three atoms of the host and two of the guest.")
    return Anchors((held[0], held[1], held[2]), (drawn[0], drawn[1]))


def _places(what: str, molecule: Molecule, names: Sequence[str], offset: int) -> list[int]:
    """Indices in the complex of the atoms that `names` name; offset: that of the molecule's first atom."""
    found = []
    for name in names:
        atom = name.partition("@")[2]
        if atom not in molecule.names:
            raise UserError(f"task_metadata.json: anchors.{what} names {name}, and {what}.mol2 has no such atom.")
        found.append(offset + tuple(molecule.names).index(atom))
    return found


def chosen(host: Molecule, guest: Molecule) -> Anchors:
    """Return anchors if metadata name none: our choice, from shape alone.

    Guest: the two heavy atoms that are farthest apart, first the one nearer to the host's centre. Host: the three
    ring or carbonyl carbons (three heavy neighbours) that span the largest triangle.
    """
    centre = host.positions_a[list(host.heavy)].mean(axis=0)
    positions, heavy = guest.positions_a, guest.heavy
    pairs = list(combinations(heavy, 2))
    if not pairs:
        raise UserError("guest.mol2 has fewer than two heavy atoms; a guest needs an axis to be restrained.")
    first, second = max(pairs, key=lambda pair: float(np.linalg.norm(positions[pair[0]] - positions[pair[1]])))
    if np.linalg.norm(positions[first] - centre) > np.linalg.norm(positions[second] - centre):
        first, second = second, first
    rigid = [
        place
        for place in host.heavy
        if host.atoms[place].element == "C" and len(set(host.neighbours(place)) & set(host.heavy)) >= 3
    ]
    if len(rigid) < 3:
        raise UserError("host.mol2 has fewer than three carbons with three heavy neighbours; name anchors.")
    best = max(combinations(rigid, 3), key=lambda three: _area(host.positions_a[list(three)]))
    offset = len(host.names)
    return Anchors((best[0], best[1], best[2]), (offset + first, offset + second))


def rotation_to_z(axis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rotation matrix, shape (3, 3), that turns `axis` to +z."""
    unit = axis / np.linalg.norm(axis)
    side = _across(unit)
    return np.asarray(np.stack([side, np.cross(unit, side), unit]))


def dummies(positions_a: NDArray[np.float64], anchors: Anchors) -> NDArray[np.float64]:
    """Return the positions in Angstrom of D1, D2 and D3, shape (3, 3), so that guest restraints are at their targets.

    positions_a: of all atoms, shape (atoms, 3). In the frame with G1 at the origin and G2 on +z they are
    (0, 0, -6), (0, 0, -9) and (0, 2.2, -11.2), the azimuth being free.
    """
    first, second = positions_a[list(anchors.guest)]
    axis = (second - first) / np.linalg.norm(second - first)
    points = np.array([first - distance * axis for distance in BEHIND_A])
    turns = [np.radians(degrees) for degrees in range(0, 360, 15)]
    across, beyond = _across(axis), np.cross(axis, _across(axis))
    # The azimuth in which no angle of the host's restraints is near a line.
    options = [points + _only_third(SIDEWAYS_A * (np.cos(turn) * across + np.sin(turn) * beyond)) for turn in turns]
    return max(options, key=lambda option: _least_sine(option, positions_a[list(anchors.host)]))


def check_frame(points: NDArray[np.float64], host: NDArray[np.float64]) -> None:
    """Raise UserError if host anchors are in line with the dummies: their torsions would be undefined.

    points: D1 to D3, host: H1 to H3, each of shape (3, 3).
    """
    if _least_sine(points, host) < LEAST_SINE:
        raise UserError("task_metadata.json: anchors.host lie in a line with the guest's axis; name other atoms.")


def distance(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances between points, shape (..., 3) to (...)."""
    return np.asarray(np.linalg.norm(second - first, axis=-1))


def angle(first: NDArray[np.float64], apex: NDArray[np.float64], last: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the angles in degrees, shape (..., 3) to (...), exact near 180 degrees too."""
    one, other = first - apex, last - apex
    return np.asarray(np.degrees(np.arctan2(np.linalg.norm(np.cross(one, other), axis=-1), (one * other).sum(axis=-1))))


def torsion(points: Sequence[NDArray[np.float64]]) -> float:
    """Return the torsion in degrees of four points, in the convention of OpenMM (trans is 180)."""
    one, two, three = points[1] - points[0], points[2] - points[1], points[3] - points[2]
    first, second = np.cross(one, two), np.cross(two, three)
    return float(np.degrees(np.arctan2(np.linalg.norm(two) * (one * second).sum(), (first * second).sum())))


def _across(axis: NDArray[np.float64]) -> NDArray[np.float64]:
    """A unit vector at right angles to a unit vector."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    side = np.cross(axis, helper)
    return np.asarray(side / np.linalg.norm(side))


def _only_third(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([np.zeros(3), np.zeros(3), vector])


def _least_sine(points: NDArray[np.float64], host: NDArray[np.float64]) -> float:
    """Least sine of the angles that the host's six restraints need."""
    chain = (points[2], points[1], points[0], host[0], host[1], host[2])
    return min(float(np.sin(np.radians(angle(*chain[at : at + 3])))) for at in range(4))


def _area(three: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(np.cross(three[1] - three[0], three[2] - three[0])))
