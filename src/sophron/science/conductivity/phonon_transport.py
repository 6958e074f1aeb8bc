"""Conductivity of a crystal from its phonons: heat capacities, rates, boxes of finite length, free paths, meshes.

Pure functions of arrays; `lattice_dynamics` makes the arrays. Units: angstrom, ps, THz (without 2 pi), eV, K; the
conductivity in W/(m K).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sophron.science.conductivity.build import UNITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

METAL = UNITS["metal"]
PLANCK = 4.135667696e-3
"""Planck's constant in eV ps (SI of 2019), the energy of a phonon of 1 THz."""
LEAST_FREQUENCY = 1e-3
"""Modes below it (THz) are the three translations, which carry no heat."""
LEAST_MESHES = 3
ACOUSTIC = 3
"""Bands, the lowest ones, whose frequency goes to 0 at the zone's centre."""


@dataclass(frozen=True)
class Modes:
    """Phonons of a mesh that is reduced by symmetry: q irreducible points with b bands each.

    volume: of the primitive cell, angstrom^3; points: of the whole mesh; distance: (q,), from the zone's centre without
    2 pi, 1/angstrom; frequency: (q, b), THz; speed: (q, b), angstrom/ps; velocities: (q, b, 6), products of the
    velocity's components summed over the points that are equal by symmetry, xx, yy, zz, yz, xz, xy, angstrom^2/ps^2;
    capacity: (q, b), eV/K; anharmonic, isotope: (q, b), rates of scattering by other phonons and by the masses of
    isotopes, 1/ps. Statistics are those of capacity and anharmonic.
    """

    volume: float
    points: int
    distance: NDArray[np.float64]
    frequency: NDArray[np.float64]
    speed: NDArray[np.float64]
    velocities: NDArray[np.float64]
    capacity: NDArray[np.float64]
    anharmonic: NDArray[np.float64]
    isotope: NDArray[np.float64]


def mode_capacity(frequency: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """Return the heat capacity of modes with Bose-Einstein occupations, eV/K; the classical one is k_B of each."""
    half = PLANCK * np.maximum(frequency, LEAST_FREQUENCY) / (2 * METAL.boltzmann * temperature)
    with np.errstate(over="ignore"):
        return np.asarray(METAL.boltzmann * (half / np.sinh(half)) ** 2, np.float64)


def scattering_rate(modes: Modes, *, isotopes: bool, length: float | None = None) -> NDArray[np.float64]:
    """Return the rate of each mode, 1/ps: phonons, isotopes if asked, and walls that end every path at `length`.

    length: angstrom, None without walls. The rates add up (Matthiessen's rule).
    """
    rate = modes.anharmonic + (modes.isotope if isotopes else 0.0)
    return rate if length is None else rate + modes.speed / length


def mode_conductivity(modes: Modes, rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each mode adds to the tensor, (q, b, 6) as `Modes.velocities`, W/(m K), in its relaxation time."""
    carries = (modes.frequency > LEAST_FREQUENCY) & (rate > 0)
    time = np.where(carries, 1 / np.where(carries, rate, 1.0), 0.0)
    share = METAL.to_conductivity / (modes.volume * modes.points)
    return np.asarray(share * (modes.capacity * time)[..., None] * modes.velocities, np.float64)


def conductivity(modes: Modes, *, isotopes: bool, length: float | None = None) -> NDArray[np.float64]:
    """Return the tensor xx, yy, zz, yz, xz, xy in the relaxation-time approximation, W/(m K)."""
    rate = scattering_rate(modes, isotopes=isotopes, length=length)
    return np.asarray(mode_conductivity(modes, rate).sum(axis=(0, 1)), np.float64)


def zone_centre(modes: Modes, *, isotopes: bool, length: float | None = None) -> NDArray[np.float64]:
    """Return what the mesh leaves out: the heat of its cell around the centre, whose own point stands still; W/(m K).

    Speeds are those of the nearest points. Of their rates, that of phonons goes as distance^2 (Herring 1954,
    10.1103/PhysRev.95.954), that of isotopes as distance^4. The cell is a sphere of its volume.
    """
    nearest = modes.distance[modes.distance > 0].min()
    shell = (modes.distance > 0) & (modes.distance < 1.001 * nearest)
    bands = np.s_[shell, :ACOUSTIC]
    velocities, speed = modes.velocities[bands], modes.speed[bands]
    multiplicity = velocities[..., :3].sum(axis=-1) / speed**2
    radius = (3 / (4 * np.pi * modes.volume * modes.points)) ** (1 / 3)
    nodes, weights = np.polynomial.legendre.leggauss(32)
    share = (nodes + 1) / 2
    near = (share * radius / nearest)[:, None, None]
    rate = near**2 * modes.anharmonic[bands] + (near**4 * modes.isotope[bands] if isotopes else 0.0)
    time = 1 / (rate if length is None else rate + speed / length)
    averaged = np.tensordot(1.5 * weights * share**2, time, axes=1)
    heat = (modes.capacity[bands] * averaged)[..., None] * velocities
    scale = METAL.to_conductivity / (modes.volume * modes.points)
    return np.asarray(scale * heat.sum(axis=(0, 1)) / multiplicity.sum(axis=0).mean(), np.float64)


def mean(tensor: NDArray[np.float64]) -> float:
    """Return a third of the trace."""
    return float(tensor[:3].mean())


def anisotropy(tensor: NDArray[np.float64]) -> float:
    """Return the largest deviation of a tensor from its mean on the diagonal, over that mean; 0 for a cubic crystal."""
    isotropic = mean(tensor) * np.array([1, 1, 1, 0, 0, 0])
    return float(np.abs(tensor - isotropic).max() / abs(mean(tensor)))


def free_paths(modes: Modes, shares: Sequence[float], *, isotopes: bool) -> list[float]:
    """Return the free paths, angstrom, up to which modes carry these shares (0 to 1) of the conductivity."""
    rate = scattering_rate(modes, isotopes=isotopes)
    carried = mode_conductivity(modes, rate)[..., :3].mean(axis=-1).ravel()
    path = (modes.speed / np.where(rate > 0, rate, np.inf)).ravel()
    order = np.argsort(path, kind="stable")
    reached = np.cumsum(carried[order]) / carried.sum()
    places = np.minimum(np.searchsorted(reached, shares), len(path) - 1)
    return [float(value) for value in path[order][places]]


@dataclass(frozen=True)
class Extrapolated:
    """Value on an infinitely fine mesh with its error; finest: the value on the finest mesh that was taken."""

    value: float
    error: float
    finest: float


def extrapolate_mesh(meshes: Sequence[int], values: Sequence[float]) -> Extrapolated:
    """Extrapolate conductivities on meshes N x N x N to 1/N = 0 by a straight line.

    A mesh misses what long waves around its centre carry, a share that goes as 1/N (Esfarjani, Chen and Stokes 2011,
    10.1103/PhysRevB.84.085204). The error is the largest of the fit's own, of what leaving any mesh out changes, and of
    half the step from the finest mesh; ValueError unless three or more ascending meshes are given.
    """
    fine = 1 / np.asarray(meshes, dtype=np.float64)
    value = np.asarray(values, dtype=np.float64)
    if fine.shape != value.shape or fine.size < LEAST_MESHES or np.any(np.diff(fine) >= 0):
        raise ValueError(f"at least {LEAST_MESHES} ascending meshes with a value each are needed")
    design = np.stack([np.ones_like(fine), fine], axis=1)
    (end, slope), *_ = np.linalg.lstsq(design, value, rcond=None)
    spread = float(((value - end - slope * fine) ** 2).sum()) / (fine.size - 2)
    fitted = math.sqrt(spread * np.linalg.inv(design.T @ design)[0, 0])
    others = [np.arange(fine.size) != left_out for left_out in range(fine.size)]
    without = [np.linalg.lstsq(design[keep], value[keep], rcond=None)[0][0] for keep in others]
    finest = float(value[-1])
    error = max(fitted, *np.abs(np.array(without) - end), abs(end - finest) / 2)
    return Extrapolated(float(end), float(error), finest)
