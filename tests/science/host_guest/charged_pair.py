"""Host and guest that feel each other's charges through a solvent: independent samples of all windows, exact answer.

What both feel depends on the distance of the guest's first atom from the host's centre alone, so that its place has a
table to draw from, and its direction another one.
"""

import math
from dataclasses import replace

import numpy as np

from sophron.science.estimators.restraints import Frame, Harmonic, rt
from sophron.science.host_guest.protocols import analysis, residual_interaction
from sophron.science.host_guest.protocols.apr import Wall, chain
from sophron.science.host_guest.protocols.lj_dimer import LennardJones
from sophron.science.host_guest.protocols.restrained_system import Site
from sophron.science.host_guest.sampling.samples import WAYS, Sampled
from sophron.science.host_guest.systems import exact_reference

from .conftest import T, charged

STRAIGHT = Harmonic(180.0, 15.0)
FRAME = Frame(Harmonic(4.0, 0.25), theta=STRAIGHT, beta=STRAIGHT)
"""The distance is soft, so that few windows and samples reach from one end to the other: errors go as the root of the constant."""
ATTACH = (0.0, 0.008, 0.02, 0.045, 0.09, 0.18, 0.35, 0.65)
PULL_A = tuple(4.0 + 1.75 * place for place in range(9))
CORE = LennardJones(0.5, 2.0)
TASK = {"symmetry": {"equivalent_sites": 1, "locked_by_restraint": False}, "ph": 7.0}
BEHIND_A = 4.0
"""Distance of the first dummy from the host's centre."""
RADII, ANGLES = 1200, 500


def experiment(host, guest, **box):
    """A host of three points that share a charge, a guest that bears its own on the atom that is pulled."""
    made = charged(host, guest, locked=False, **box)
    made = replace(made, site=Site(Wall(8.0, 5.0)))
    return made.with_windows(chain(FRAME, ATTACH, PULL_A, Wall(0.0, 1.0)))


def potential(made, product):
    """A core, and charges as the solvent and the ions of the system screen them, by distance from the centre."""
    medium = residual_interaction.charges_of(made)
    screened = residual_interaction.ScreenedCoulomb(product, medium.permittivity, medium.debye_length_a)
    return lambda apart_a: CORE(apart_a) + screened(apart_a)


def binding(made, product, samples, seed):
    """The answer of the whole analysis from independent samples, and the exact one, in kcal/mol."""
    feels = potential(made, product)
    sampled = [
        Sampled(place, way, _draw(window, made.site, feels, samples, np.random.default_rng([seed, place, number])))
        for place, window in enumerate(made.windows)
        for number, way in enumerate(WAYS)
    ]
    return analysis.binding(made, sampled, TASK), exact_reference.binding(feels, made.site.wall, T)


def _draw(window, site, feels, samples, rng):
    """Columns of a window: distance, theta, beta, distance from the centre, and an angle that no lock looks at."""
    k, target = window.strength * window.frame.distance.k, window.frame.distance.target
    reach = exact_reference.reach(site.wall, rt(T)) if window.wall else 0.0
    end = BEHIND_A + reach if window.wall else target + 10 * math.sqrt(rt(T) / k)
    low = 0.0 if window.wall else max(target - 10 * math.sqrt(rt(T) / k), 0.0)
    radius, off = np.linspace(low, end, RADII + 1), np.linspace(0.0, math.pi, ANGLES + 1)
    r, chi = (radius[:-1] + radius[1:])[:, None] / 2, (off[:-1] + off[1:])[None] / 2
    apart = _apart(r, chi)
    energy = feels(apart) + k * (r - target) ** 2 + window.strength * window.frame.theta.k * chi**2
    if window.wall:
        energy = energy + site.wall.k * np.maximum(apart - site.wall.start, 0.0) ** 2
    places = _cells(r**2 * np.sin(chi) * np.exp(-(energy - energy.min()) / rt(T)), samples, rng)
    row, column = np.unravel_index(places, energy.shape)
    distance = radius[row] + (radius[1] - radius[0]) * rng.random(samples)
    angle = off[column] + off[1] * rng.random(samples)
    weights = np.sin(chi[0]) * np.exp(-window.strength * window.frame.beta.k * chi[0] ** 2 / rt(T))
    turned = off[_cells(weights, samples, rng)] + off[1] * rng.random(samples)
    straight = np.full(samples, 180.0)
    degrees = (180.0 - np.degrees(angle), 180.0 - np.degrees(turned))
    return np.stack([distance, *degrees, _apart(distance, angle), straight])


def _apart(distance_a, angle):
    """Distance from the host's centre, by that from the first dummy and the angle off the axis."""
    return np.sqrt(distance_a**2 - 2 * BEHIND_A * distance_a * np.cos(angle) + BEHIND_A**2)


def _cells(weights, samples, rng):
    """Numbers of cells, drawn with their weights."""
    sums = np.cumsum(weights)
    return np.searchsorted(sums / sums[-1], rng.random(samples), side="right")
