"""Thermal conductivity by Green and Kubo: running integrals of the heat flux."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sophron.science.estimators.green_kubo import running_integral

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
