"""Rough, documented estimates of how fast things relax and vibrate, in LJ units, for probes that compare orders."""

import math

from sophron.science.probes.spec_access import MissingValueError, Spec, needed, number, value

WCA_CUTOFF = 2 ** (1 / 6)
"""Minimum of the Lennard-Jones potential in sigma: cut there, it is purely repulsive."""

BUILD = "stages.build.definition"
MODEL = f"{BUILD}.model"
SEQUENCES = "stages.warm_up.definition.model"
"""Interaction of chains whose sequence is searched for."""

# Kremer-Grest melt at density 0.85 and temperature 1: bead friction in mass/tau from Rouse modes, and mean squared
# end-to-end distance a bond in sigma squared (Kremer and Grest 1990, 10.1063/1.458541; Auhl et al. 2003,
# 10.1063/1.1628670).
_FRICTION = 25.0
_SEGMENT_SQUARED = 1.75
_MELT_DENSITY = (0.80, 0.90)
_MELT_TEMPERATURE = (0.8, 1.2)
# Last exponential of the stress autocorrelation of the dense LJ liquid near its triple point, in tau.
_LIQUID_STRESS_TAU = 0.5


_ATOMIC_MASS_KG = 1.66053907e-27
_STIFFEST_BOND_N_PER_M = 470.0

# Density of the Lennard-Jones liquid that freezes: polynomial in 1/T, times T^(1/4) (Mastny and de Pablo 2007,
# 10.1063/1.2753149), from the triple point up.
_FREEZING = (0.90735, -0.27120, 0.91784, -1.16270, 0.68012, -0.15284)
TRIPLE_POINT = 0.694

# Densities of vapour and liquid that coexist, of the potential cut and shifted at 2.5 sigma: the critical density and
# factors of (Tc - T)^(1/3), (Tc - T), (Tc - T)^(3/2) (Vrabec et al. 2006, 10.1080/00268970600556774).
CRITICAL_POINT = 1.0779
_CRITICAL_DENSITY = 0.3190
_POWERS = (1 / 3, 1.0, 1.5)
_VAPOUR = (-0.5649, 0.2128, 0.0702)
_LIQUID = (0.5649, 0.1314, 0.0413)


def chain_length(spec: Spec) -> int:
    """Return the beads a chain; 1 for single beads. Raises MissingValueError."""
    return int(needed(spec, f"{BUILD}.chain_length"))


def temperature(spec: Spec) -> float:
    """Return the temperature in epsilon: that of the question, else that of equilibration. Raises MissingValueError."""
    asked = "question.conditions.temperature"
    key = "stages.equilibrate.definition.temperature" if number(spec, asked) is None else asked
    found = needed(spec, key)
    if found <= 0:
        raise MissingValueError(key)
    return found


def duration_tau(spec: Spec, stage: str, *steps: str) -> float:
    """Return the time in tau that a stage simulates: time step times the named numbers of steps. MissingValueError."""
    where = f"stages.{stage}.definition"
    return needed(spec, f"{where}.timestep") * sum(needed(spec, f"{where}.{name}") for name in steps)


def known_melt(spec: Spec) -> bool:
    """Return whether density and temperature are near those of the Rouse estimate. Raises MissingValueError."""
    density = needed(spec, f"{BUILD}.density")
    return _MELT_DENSITY[0] <= density <= _MELT_DENSITY[1] and (
        _MELT_TEMPERATURE[0] <= temperature(spec) <= _MELT_TEMPERATURE[1]
    )


def freezing_density(warm: float) -> float:
    """Return the density at which the Lennard-Jones liquid begins to freeze, per sigma^3; warm: epsilon, >= 0.694."""
    return math.pow(warm, 0.25) * sum(factor / warm**power for power, factor in enumerate(_FREEZING))


def coexisting_densities(warm: float) -> tuple[float, float]:
    """Return the densities of vapour and liquid that coexist, per sigma^3; warm: epsilon, below CRITICAL_POINT."""
    below = CRITICAL_POINT - warm
    vapour, liquid = (
        _CRITICAL_DENSITY + sum(factor * below**power for factor, power in zip(factors, _POWERS, strict=True))
        for factors in (_VAPOUR, _LIQUID)
    )
    return vapour, liquid


def rouse_tau(beads: int) -> float:
    """Return the longest Rouse relaxation time of a chain in tau, zeta N^2 b^2 / (3 pi^2 kT) at kT 1: about 1.5 N^2.

    Doi and Edwards, The Theory of Polymer Dynamics (1986), chapter 4. A lower bound for entangled chains.
    """
    return _FRICTION * beads**2 * _SEGMENT_SQUARED / (3 * math.pi**2)


def solvent_tau(spec: Spec) -> float:
    """Return the longest relaxation time in tau of a chain in good solvent with a Langevin thermostat and no flow.

    Rouse with the friction m/damping of a bead, swollen: N^(1+2 nu) in place of N^2, nu 0.588. MissingValueError.
    """
    damping = needed(spec, "stages.equilibrate.definition.damping")
    segment = 1.3  # squared bond times stiffness of FENE chains without attraction
    return segment * math.pow(chain_length(spec), 1 + 2 * 0.588) / (3 * math.pi**2 * damping * temperature(spec))


def overlap_density(beads: int) -> float:
    """Return the beads per sigma^3 at which coils of chains in good solvent fill space: above, they slow each other."""
    radius = math.sqrt(1.3 / 6) * math.pow(beads, 0.588)
    return beads / (4 / 3 * math.pi * radius**3)


def stress_tau(beads: int) -> float:
    """Longest stress relaxation time in tau: half the Rouse time, as stress goes with the square of a mode."""
    return _LIQUID_STRESS_TAU if beads == 1 else rouse_tau(beads) / 2


def end_to_end(beads: int) -> float:
    """Return the root mean squared end-to-end distance of a melt chain in sigma."""
    return math.sqrt(_SEGMENT_SQUARED * (beads - 1))


def shortest_period(spec: Spec) -> float:
    """Return the period of the stiffest motion in the time unit of the spec, ps or tau. Raises MissingValueError."""
    return _shortest_period_ps(spec) if value(spec, f"{BUILD}.units") == "metal" else shortest_period_tau(spec)


def _shortest_period_ps(spec: Spec) -> float:
    """Period of two atoms of the lightest species on a bond as stiff as that of diamond, 470 N/m (28 fs for carbon)."""
    species = value(spec, f"{BUILD}.species")
    masses = [number(spec, f"{BUILD}.species.{place}.mass") for place in range(len(species or ()))]
    known = [mass for mass in masses if mass is not None and mass > 0]
    if not known:
        raise MissingValueError(f"{BUILD}.species.0.mass")
    return 2 * math.pi * math.sqrt(min(known) / 2 * _ATOMIC_MASS_KG / _STIFFEST_BOND_N_PER_M) * 1e12


def shortest_period_tau(spec: Spec) -> float:
    """Period of the stiffest motion in tau: of a bond at rest, or of a pair that collides with an energy of 2 kT.

    Both from the curvature of the potential and the reduced mass 1/2. Raises MissingValueError.
    """
    if value(spec, SEQUENCES) is not None:
        bond = _fene_stiffness(needed(spec, f"{SEQUENCES}.bond_k"), needed(spec, f"{SEQUENCES}.bond_r0"))
        strongest = max(needed(spec, f"{SEQUENCES}.epsilon_{kind}") for kind in "ab") or 1.0
        warm = needed(spec, f"{SEQUENCES}.temperature")
        pair = strongest * _pair_curvature(_closest(2 * warm / strongest))
        return 2 * math.pi / math.sqrt(2 * max(bond, pair))
    stiffness = _pair_curvature(_closest(2 * temperature(spec)))
    if value(spec, f"{MODEL}.bonds.style") == "fene":
        stiffness = max(stiffness, _fene_stiffness(needed(spec, f"{MODEL}.bonds.k"), needed(spec, f"{MODEL}.bonds.r0")))
    return 2 * math.pi / math.sqrt(2 * stiffness)


def _closest(energy: float) -> float:
    """Distance in sigma at which the repulsive branch of 12-6 Lennard-Jones has this energy in epsilon."""
    return math.pow((2 / energy) * (math.sqrt(1 + energy) - 1), 1 / 6)


def _pair_curvature(distance: float) -> float:
    """Second derivative of 12-6 Lennard-Jones in epsilon over sigma squared."""
    return 4 * (156 / distance**14 - 42 / distance**8)


def _fene_stiffness(spring: float, longest: float) -> float:
    """Curvature at the minimum of FENE plus purely repulsive LJ, found by bisection on its slope."""
    low, high = 0.5, min(WCA_CUTOFF, longest * (1 - 1e-9))
    for _ in range(60):
        middle = (low + high) / 2
        slope = spring * middle / (1 - (middle / longest) ** 2) - 4 * (12 / middle**13 - 6 / middle**7)
        low, high = (middle, high) if slope < 0 else (low, middle)
    stretch = (low / longest) ** 2
    return _pair_curvature(low) + spring * (1 + stretch) / (1 - stretch) ** 2
