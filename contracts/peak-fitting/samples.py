"""Spectra whose every parameter is known: counts drawn once from a seed around exact line shapes."""

import numpy as np
from scipy.special import voigt_profile

from sophron.agentbuild.curriculum import Given


def spectrum(folder, parameters):
    """Return a spectrum of counts.

    parameters: `axis` [first, last, points], `background` (Legendre coefficients, counts a point), `peaks` (shape,
    position, area in counts, fwhm or fwhm_gauss and fwhm_lorentz), `seed`.
    """
    del folder
    first, last, points = parameters["axis"]
    x = np.linspace(first, last, points)
    mean = expected(x, parameters)
    counts = np.random.default_rng(parameters["seed"]).poisson(mean)
    sample = {"x": [float(value) for value in x], "counts": [int(value) for value in counts], "unit": "1/cm"}
    task = {"axis": [first, last], "unit": "1/cm", "points": points, "counts": int(counts.sum())}
    return Given(sample, task)


def expected(x, parameters):
    """Return the mean counts of each point."""
    mean = np.polynomial.legendre.legval(2 * (x - x[0]) / (x[-1] - x[0]) - 1, parameters["background"])
    for peak in parameters["peaks"]:
        shape, to_sigma = peak["shape"], 1 / np.sqrt(8 * np.log(2))
        gauss = peak["fwhm_gauss"] if shape == "voigt" else peak["fwhm"] * (shape == "gaussian")
        lorentz = peak["fwhm_lorentz"] if shape == "voigt" else peak["fwhm"] * (shape == "lorentzian")
        mean = mean + peak["area"] * (x[1] - x[0]) * voigt_profile(x - peak["position"], gauss * to_sigma, lorentz / 2)
    return mean
