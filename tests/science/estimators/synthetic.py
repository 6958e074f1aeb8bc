"""Gaussian series with known autocorrelations, and exact answers for them."""

import math

import numpy as np
from scipy.signal import lfilter


def exponential_noise(rng, samples, columns, interval, terms):
    """Sum of independent Ornstein-Uhlenbeck series: C(t) = sum of amplitude * exp(-t / tau), sampled exactly."""
    series = np.zeros((samples, columns))
    for amplitude, tau in terms:
        decay = math.exp(-interval / tau)
        kicks = rng.normal(size=(samples, columns)) * math.sqrt(amplitude * (1 - decay**2))
        kicks[0] /= math.sqrt(1 - decay**2)
        series += lfilter([1.0], [1.0, -decay], kicks, axis=0)
    return series


def exact_integral(interval, terms):
    """The trapezoid sum over all lags of that autocorrelation."""
    return sum(amplitude * interval * (0.5 + 1.0 / math.expm1(interval / tau)) for amplitude, tau in terms)
