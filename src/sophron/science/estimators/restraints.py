"""Restraints whose free energy is an integral: turning on, releasing into the standard state.

Energies are k x (deviation)^2, **without 1/2**, as in Amber: a constant K of a form with 1/2 enters as K / 2. Distances
are in Angstrom, angles in degrees, k in kcal/mol/Angstrom^2 or kcal/mol/rad^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

GAS_CONSTANT = 8.31446261815324 / 4184.0
"""kcal/mol/K (CODATA 2018; a thermochemical calorie is 4.184 J)"""
STANDARD_VOLUME = 1e27 / 6.02214076e23
"""Volume of one molecule at 1 mol/l, in Angstrom^3."""
NODES = 400
WIDTHS = 10.0
"""Half the range of an angle's integral, where its Boltzmann factor has fallen to exp(-WIDTHS^2)."""


@dataclass(frozen=True)
class Harmonic:
    """U = k (x - target)^2; target in Angstrom or degrees, k in kcal/mol/Angstrom^2 or kcal/mol/rad^2."""

    target: float
    k: float

    def __post_init__(self) -> None:
        """Raise ValueError if it restrains nothing."""
        if not (self.k > 0 and math.isfinite(self.target)):
            raise ValueError("a restraint needs k > 0 and a finite target; leave it out where it is free")


@dataclass(frozen=True)
class Frame:
    """Restraints of a rigid guest against three points D1, D2, D3; None if it is free.

    distance: D1-G1; theta: angle D2-D1-G1; phi: torsion D3-D2-D1-G1; alpha: torsion D2-D1-G1-G2; beta: angle
    D1-G1-G2; gamma: torsion D1-G1-G2-G3. Attach-pull-release uses distance, theta and beta; all six are those of
    Boresch et al. (2003, 10.1021/jp0217839), with D1 to D3 in the host.
    """

    distance: Harmonic
    theta: Harmonic | None = None
    phi: Harmonic | None = None
    alpha: Harmonic | None = None
    beta: Harmonic | None = None
    gamma: Harmonic | None = None


def rt(temperature_k: float) -> float:
    """Return the gas constant times temperature, in kcal/mol."""
    if not temperature_k > 0:
        raise ValueError("a temperature is above 0 K")
    return GAS_CONSTANT * temperature_k


def release(frame: Frame, temperature_k: float) -> float:
    """Free energy in kcal/mol of letting a guest go from `frame`, without host, into 1 mol/l and all orientations.

    RT ln(Z / (8 pi^2 V0)) with the whole integral Z, Jacobians included: the Gaussian form is wrong for target
    angles near 0 or 180 degrees.
    """
    unit = rt(temperature_k)
    polar = _polar(frame.theta, unit) * _polar(frame.beta, unit)
    torsions = _torsion(frame.phi, unit) * _torsion(frame.alpha, unit) * _torsion(frame.gamma, unit)
    return unit * math.log(_radial(frame.distance, unit) * polar * torsions / (8 * math.pi**2 * STANDARD_VOLUME))


def _radial(restraint: Harmonic, unit: float) -> float:
    """Integral of r^2 exp(-U / RT) from 0 on, in closed form."""
    a, r = restraint.k / unit, restraint.target
    root = math.sqrt(a)
    bulk = (0.5 * r * r + 0.25 / a) * math.sqrt(math.pi / a) * (1.0 + math.erf(root * r))
    return bulk + 0.5 * r / a * math.exp(-a * r * r)


def _polar(restraint: Harmonic | None, unit: float) -> float:
    """Integral of sin(x) exp(-U / RT) from 0 to pi."""
    if restraint is None:
        return 2.0
    a, target = restraint.k / unit, math.radians(restraint.target)
    if not 0 <= target <= math.pi + 1e-9:
        raise ValueError(f"an angle of {restraint.target:g} degrees is not from 0 to 180")
    low, high = max(0.0, target - WIDTHS / math.sqrt(a)), min(math.pi, target + WIDTHS / math.sqrt(a))
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    angles = 0.5 * (high - low) * nodes + 0.5 * (high + low)
    return float(0.5 * (high - low) * (weights * np.sin(angles) * np.exp(-a * (angles - target) ** 2)).sum())


def _torsion(restraint: Harmonic | None, unit: float) -> float:
    """Integral of exp(-U / RT) over one turn, the deviation taken the shorter way."""
    if restraint is None:
        return 2 * math.pi
    a = restraint.k / unit
    return math.sqrt(math.pi / a) * math.erf(math.pi * math.sqrt(a))
