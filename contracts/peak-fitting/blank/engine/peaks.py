"""Peaks on a polynomial background, fitted to counts by maximum likelihood. Frozen: no build changes it.

A peak is {shape, position, area, fwhm} or, for a Voigt line, {shape, position, area, fwhm_gauss, fwhm_lorentz}:
positions and widths in the unit of the axis, areas in counts. The background is a Legendre series in counts a point,
the axis mapped to -1 .. 1. Variances are those of Poisson counts.
"""

import math

import numpy as np
from scipy.optimize import least_squares
from scipy.special import voigt_profile

WIDTHS = {"gaussian": ("fwhm",), "lorentzian": ("fwhm",), "voigt": ("fwhm_gauss", "fwhm_lorentz")}
TO_SIGMA = 1 / (2 * math.sqrt(2 * math.log(2)))
LEAST = 1e-6  # counts a point, so that a logarithm has an argument


def names(peak):
    """Return the names of the parameters of a peak."""
    return ("position", "area", *WIDTHS[peak["shape"]])


def profile(x, peak):
    """Return the peak at `x`, area one."""
    if peak["shape"] == "gaussian":
        sigma, gamma = peak["fwhm"] * TO_SIGMA, 0.0
    elif peak["shape"] == "lorentzian":
        sigma, gamma = 0.0, peak["fwhm"] / 2
    else:
        sigma, gamma = peak["fwhm_gauss"] * TO_SIGMA, peak["fwhm_lorentz"] / 2
    return voigt_profile(x - peak["position"], sigma, gamma)


def calculated(x, background, peaks):
    """Return (background, all) in counts a point. background: coefficients of the Legendre series."""
    across = 2 * (x - x[0]) / (x[-1] - x[0]) - 1
    below = np.polynomial.legendre.legval(across, background)
    return below, below + sum((peak["area"] * profile(x, peak) for peak in peaks), np.zeros_like(x)) * (x[1] - x[0])


def pack(background, peaks):
    """Return all parameters as one vector."""
    return np.array([*background, *(peak[name] for peak in peaks for name in names(peak))], dtype=float)


def unpack(vector, degree, peaks):
    """Return (background, peaks) of a vector; `peaks` says of which shapes."""
    rest, made = list(vector[degree + 1 :]), []
    for peak in peaks:
        made.append({"shape": peak["shape"], **{name: float(rest.pop(0)) for name in names(peak)}})
    return [float(value) for value in vector[: degree + 1]], made


def fisher(x, background, peaks):
    """Return the Fisher information of Poisson counts: its inverse bounds every covariance (Cramer and Rao)."""
    vector, degree = pack(background, peaks), len(background) - 1
    _, mean = calculated(x, background, peaks)
    slopes = []
    for number, value in enumerate(vector):
        step = 1e-5 * max(abs(value), 1e-2)
        up, down = vector.copy(), vector.copy()
        up[number], down[number] = value + step, value - step
        slopes.append(
            (calculated(x, *unpack(up, degree, peaks))[1] - calculated(x, *unpack(down, degree, peaks))[1]) / (2 * step)
        )
    jacobian = np.array(slopes).T
    return jacobian.T @ (jacobian / np.maximum(mean, LEAST)[:, None])


def deviance_terms(counts, mean):
    """Return the signed roots of the terms of the Poisson deviance: about normal with variance one in a right model."""
    mean = np.maximum(mean, LEAST)
    ratio = np.where(counts > 0, counts / mean, 1.0)
    terms = 2 * (mean - counts + counts * np.log(ratio))
    return np.sign(counts - mean) * np.sqrt(np.maximum(terms, 0.0))


def fit(x, counts, background, peaks):
    """Fit from starting values; return (background, peaks, covariance, deviance, converged).

    The covariance is in the order of `pack`.
    """
    degree = len(background) - 1
    low = [-np.inf] * (degree + 1)
    for peak in peaks:
        low += [x[0], 0.0, *[1e-3] * len(WIDTHS[peak["shape"]])]
    high = [np.inf] * (degree + 1)
    for peak in peaks:
        high += [x[-1], np.inf, *[x[-1] - x[0]] * len(WIDTHS[peak["shape"]])]
    start = np.clip(pack(background, peaks), np.array(low) + 1e-9, np.array(high) - 1e-9)

    def terms(vector):
        return deviance_terms(counts, calculated(x, *unpack(vector, degree, peaks))[1])

    found = least_squares(terms, start, bounds=(low, high), x_scale="jac", max_nfev=400)
    background, peaks = unpack(found.x, degree, peaks)
    covariance = np.linalg.pinv(fisher(x, background, peaks))
    return background, peaks, covariance, float(2 * found.cost), bool(found.success)


def fwhm(peak):
    """Return the full width at half maximum.

    Of a Voigt line to 0.02 % (Olivero and Longbothum 1977, 10.1016/0022-4073(77)90161-3).
    """
    if peak["shape"] != "voigt":
        return peak["fwhm"]
    lorentz, gauss = peak["fwhm_lorentz"], peak["fwhm_gauss"]
    return 0.5346 * lorentz + math.sqrt(0.2166 * lorentz**2 + gauss**2)


def fwhm_esd(peak, covariance):
    """Return its standard deviation. covariance: of the parameters of this peak, in the order of `names`."""
    if peak["shape"] != "voigt":
        return math.sqrt(max(covariance[2, 2], 0.0))
    lorentz, gauss = peak["fwhm_lorentz"], peak["fwhm_gauss"]
    root = math.sqrt(0.2166 * lorentz**2 + gauss**2)
    slopes = np.array([0.0, 0.0, gauss / root, 0.5346 + 0.2166 * lorentz / root])
    return math.sqrt(max(float(slopes @ covariance @ slopes), 0.0))
