"""Shear viscosity and thermal conductivity by Green and Kubo: stress components, running integrals, their plateau."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import integrate

from sophron.science.estimators.plateau import LEAST_LAGS, Cutoff, Reason, Refusal, choose_cutoff, noise_rate, slow_tail
from sophron.science.estimators.statistics import t_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

COMPONENTS = ("Pxy", "Pxz", "Pyz", "(Pxx - Pyy)/2", "(2 Pzz - Pxx - Pyy)/(2 sqrt 3)")
"""An orthonormal basis of the traceless symmetric tensors: in an isotropic liquid all five have the variance of Pxy
and no two are correlated (Daivis and Evans 1994, 10.1063/1.466970, use their sum). (Pxx - Pyy)/2 and (Pyy - Pzz)/2
would correlate at -1/2, and their error would come out too small."""

NOISE_LIMIT = 0.25
"""Largest standard error, in units of the result, that still counts as a result."""

_BASIS = np.array(
    [
        [0.0, 0.0, 0.0, 0.5, -0.5 / math.sqrt(3.0)],
        [0.0, 0.0, 0.0, -0.5, -0.5 / math.sqrt(3.0)],
        [0.0, 0.0, 0.0, 0.0, 1.0 / math.sqrt(3.0)],
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0, 0.0],
    ]
)


def stress_components(pressure: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pressure tensor, shape (n, 6) in the order xx, yy, zz, xy, xz, yz -> the five `COMPONENTS`, shape (n, 5)."""
    return np.asarray(pressure @ _BASIS)


def running_integral(
    autocorrelation: NDArray[np.float64], interval: float, volume: float, temperature: float
) -> NDArray[np.float64]:
    """eta(t) = V / (k_B T) * integral of <P(0) P(s)> ds over 0 <= s <= t, by the trapezoid rule along the first axis.

    autocorrelation: shape (lags, ...), squared pressure; interval: time between lags; temperature: k_B T. In LJ units
    all are reduced and the result is in epsilon tau / sigma**3. Same shape as the input, first value 0.
    """
    factor = volume / temperature
    return np.asarray(factor * integrate.cumulative_trapezoid(autocorrelation, dx=interval, axis=0, initial=0.0))


def conductivity_integral(
    autocorrelation: NDArray[np.float64], interval: float, volume: float, temperature: float, *, boltzmann: float
) -> NDArray[np.float64]:
    """kappa(t) = V / (k_B T^2) * integral of <J(0) J(s)> ds over 0 <= s <= t, for each component of the flux.

    autocorrelation: (..., lags), of the flux density J (energy / (area time)), last axis the lag; interval: time
    between lags; boltzmann: k_B in the same units of energy and temperature. Same shape, first value 0. The mean over
    the three components is the conductivity of a cubic crystal or a liquid (Green 1954, 10.1063/1.1740082; Kubo 1957).
    """
    # The prefactor is that of the viscosity with k_B T^2 for k_B T.
    lag_first = np.moveaxis(autocorrelation, -1, 0)
    integral = running_integral(lag_first, interval, volume, boltzmann * temperature**2)
    return np.ascontiguousarray(np.moveaxis(integral, 0, -1))


@dataclass(frozen=True)
class Estimate:
    """Plateau of the running integrals with its error; units are those of the integrals and lags.

    coefficient: the viscosity, or what else the integrals are of; standard_error: the largest of unit_error,
    procedure_error and replica_error; degrees_of_freedom: of that one; low, high: ends of the 95 % t interval, the
    upper one with slow_tail, what a weak slow part may add beyond the cut-off; units: replicas x components; cutoff:
    where and why it was read.
    """

    coefficient: float
    standard_error: float
    degrees_of_freedom: int
    low: float
    high: float
    unit_error: float
    procedure_error: float
    replica_error: float | None
    slow_tail: float
    units: int
    cutoff: Cutoff


def estimate(times: NDArray[np.float64], integrals: NDArray[np.float64], run_length: float) -> Estimate | Refusal:
    """Plateau and error of running integrals (replicas, components, lags) of runs of `run_length`, or a refusal.

    The rule of `plateau` chooses one cut-off from the mean over replicas and components. Three errors are found there:

    - unit_error: spread of the components x replicas values at the cut-off. Components of one replica are
      uncorrelated by symmetry, and so are, for stresses that are nearly Gaussian, their integrals.
    - procedure_error: delete-one jackknife over the same values with the whole rule repeated each time (Efron and
      Stein 1981, 10.1214/aos/1176345462), so that the choice of the cut-off counts too. Repetitions in which the rule
      refuses are left out; if they are half or more, the result is refused as noise.
    - replica_error: spread of the replica means, free of any assumption about components; None for one replica.
      Its degrees of freedom are few, so it speaks through a wide interval if it is the largest.

    Refuses if `plateau` does, and if the standard error exceeds `NOISE_LIMIT` of the value. ValueError for values that
    are not finite.
    """
    if not np.all(np.isfinite(integrals)):
        raise ValueError("running integrals may hold finite values only")
    replicas, components, lags = integrals.shape
    if lags < LEAST_LAGS:
        return Refusal(Reason.RUN_TOO_SHORT, f"{lags} lags are too few to fit; at least {LEAST_LAGS} are needed.")
    flat = integrals.reshape(replicas * components, lags)
    rate = noise_rate(times, flat)
    if not rate > 0:
        what = "all replicas and components are equal" if np.ptp(integrals) > 0 else "the series does not fluctuate"
        return Refusal(Reason.NO_RELAXATION, f"{what}.")
    cutoff = choose_cutoff(times, flat.mean(axis=0), rate / len(flat), run_length)
    if isinstance(cutoff, Refusal):
        return cutoff
    values = integrals[:, :, cutoff.index]
    errors = [
        (_standard_error(values.ravel()), values.size - 1),
        (_procedure_error(times, flat, rate, run_length), values.size - 1),
    ]
    if replicas > 1:
        errors.append((_standard_error(values.mean(axis=1)), replicas - 1))
    largest, dof = max(errors)
    mean = float(values.mean())
    if not largest < NOISE_LIMIT * mean:
        sentence = (
            f"at the cut-off of {cutoff.time:g} the integral is {mean:.3g} with a standard error of {largest:.3g}"
            f"{', and no coefficient is negative.' if mean < 0 else '.'}"
        )
        return Refusal(Reason.NOISE, sentence, cutoff.longest_relaxation)
    half = t_quantile(dof) * largest
    tail = slow_tail(times, flat.mean(axis=0), rate / len(flat), cutoff)
    return Estimate(
        coefficient=mean,
        standard_error=largest,
        degrees_of_freedom=dof,
        low=mean - half,
        high=mean + half + tail,
        unit_error=errors[0][0],
        procedure_error=errors[1][0],
        replica_error=errors[2][0] if replicas > 1 else None,
        slow_tail=tail,
        units=values.size,
        cutoff=cutoff,
    )


def _standard_error(values: NDArray[np.float64]) -> float:
    """Standard error of the mean of independent values."""
    return float(values.std(ddof=1) / math.sqrt(values.size))


def _procedure_error(times: NDArray[np.float64], flat: NDArray[np.float64], rate: float, run_length: float) -> float:
    """Jackknife error of choosing a cut-off from, and reading it in, the mean of all units but one."""
    units, total = len(flat), flat.sum(axis=0)
    results = []
    for unit in range(units):
        rest = (total - flat[unit]) / (units - 1)
        chosen = choose_cutoff(times, rest, rate / (units - 1), run_length)
        if isinstance(chosen, Cutoff):
            results.append(rest[chosen.index])
    if len(results) <= units // 2:
        return math.inf
    return math.sqrt((units - 1) * float(np.var(results)))
