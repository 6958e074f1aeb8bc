"""A chain of windows of the Lennard-Jones dimer, run by OpenMM or sampled exactly.

A guest whose only interaction depends on its distance has distance and angles that are independent, so that their
distributions can be tabulated and inverted: samples have no correlation at all.
"""

import math

import numpy as np

from sophron.science.estimators.mbar import Run
from sophron.science.estimators.restraints import Frame, Harmonic, rt
from sophron.science.host_guest.protocols import lj_dimer
from sophron.science.host_guest.protocols.apr import chain, reduced
from sophron.science.host_guest.systems.exact_reference import GRID, reach

SIGMA_A = 3.4
STRENGTHS = (0.0, 0.015, 0.15)
DISTANCES_A = tuple(float(each) for each in np.linspace(3.8, 13.8, 17))
FRAME = Frame(Harmonic(DISTANCES_A[0], 3.0))


def windows():
    """3 attach windows behind a wall at 8 Angstrom, 17 pull windows."""
    return chain(FRAME, STRENGTHS, DISTANCES_A, lj_dimer.WALL)


def simulate(potential, temperature_k, sampling):
    """Every window run from its neighbour towards the host, then every window from the other: for the hysteresis."""
    all_windows = windows()
    context = lj_dimer.started(potential, temperature_k, sampling.seed, DISTANCES_A[0])
    order = list(range(len(all_windows)))
    runs = []
    for seeded, places in (("forward", order), ("backward", order[::-1])):
        for place in places:
            distances = lj_dimer.sampled(context, all_windows[place], sampling)
            coordinates = np.stack([distances, np.zeros_like(distances), np.zeros_like(distances)])
            runs.append(Run(place, reduced(all_windows, coordinates, temperature_k), coordinates[:1], seeded))
    return runs


def ideal_gas(distance_a):
    """No interaction."""
    return np.zeros_like(distance_a)


def sample(windows, potential, temperature_k, samples, seed):
    """One run of independent samples of each window."""
    runs = []
    for place, window in enumerate(windows):
        source = np.random.default_rng([seed, place])
        coordinates = _draw(window, potential, rt(temperature_k), samples, source)
        runs.append(Run(place, reduced(windows, coordinates, temperature_k), coordinates))
    return runs


def _draw(window, potential, unit, samples, source):
    """Distance in Angstrom, theta and beta in degrees, shape (3, samples)."""
    k = window.strength * window.frame.distance.k
    beyond = reach(window.wall, unit) if window.wall else window.frame.distance.target + 10 * math.sqrt(unit / k)
    distances = np.linspace(0.0, beyond, GRID)
    weights = distances**2 * np.exp(-(potential(distances) + window.radial(distances)) / unit)
    drawn = [_inverted(distances, weights, source.random(samples))]
    angles = np.linspace(0.0, 180.0, GRID)
    for restraint in (window.frame.theta, window.frame.beta):
        weights = np.sin(np.radians(angles)) * np.exp(-window.angular(restraint, angles) / unit)
        drawn.append(_inverted(angles, weights, source.random(samples)))
    return np.asarray(drawn)


def _inverted(grid, weights, uniform):
    """Values distributed as `weights` over `grid`."""
    sums = np.concatenate([[0.0], np.cumsum(0.5 * (weights[1:] + weights[:-1]))])
    return np.interp(uniform, sums / sums[-1], grid)
