"""One peak of an observed pattern: a pseudo-Voigt on a straight line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sophron.interfaces.rietveld import Pattern
from sophron.records.errors import UserError

if TYPE_CHECKING:
    from sophron.interfaces.rietveld import Array

FEWEST_POINTS = 8
PARAMETERS = 6


def fit(pattern: Pattern, low_deg: float, high_deg: float) -> dict[str, float]:
    """Return the position and width in degrees, area in counts x degrees with its esd, significance.

    Raise UserError for no fit.
    """
    from scipy.optimize import curve_fit

    inside = (pattern.two_theta_deg >= low_deg) & (pattern.two_theta_deg <= high_deg)
    x, y = pattern.two_theta_deg[inside], pattern.intensity[inside]
    if x.size < FEWEST_POINTS:
        raise UserError(f"the window {low_deg:g} to {high_deg:g} degrees holds {x.size} points; widen it")
    sigma = np.sqrt(np.maximum(y, 1.0)) if pattern.sigma is None else pattern.sigma[inside]
    width = float(x[-1] - x[0])
    step = width / (x.size - 1)
    ground = float(np.percentile(y, 20))
    start = [float(x[np.argmax(y)]), width / 6, (float(y.max()) - ground) * width / 6, 0.5, ground, 0.0]
    bounds = ([x[0], step, 0.0, 0.0, -np.inf, -np.inf], [x[-1], width, np.inf, 1.0, np.inf, np.inf])
    start[1] = max(start[1], 1.01 * step)
    try:
        found, covariance = curve_fit(_profile, x, y, start, sigma, absolute_sigma=True, bounds=bounds)
    except RuntimeError:
        raise UserError(
            f"no peak fits between {low_deg:g} and {high_deg:g} degrees; choose a window about one"
        ) from None
    area_esd = float(np.sqrt(covariance[2, 2]))
    chi2 = float(np.sum(((y - _profile(x, *found)) / sigma) ** 2))
    return {
        "position_deg": float(found[0]),
        "fwhm_deg": float(found[1]),
        "area": float(found[2]),
        "area_esd": area_esd,
        "significance": float(found[2] / area_esd) if np.isfinite(area_esd) and area_esd > 0 else 0.0,
        "lorentzian_share": float(found[3]),
        "gof": float(np.sqrt(chi2 / max(x.size - PARAMETERS, 1))),
    }


def _profile(x: Array, *parameters: float) -> Array:
    """Pseudo-Voigt of unit area times `area`, share of its Lorentzian part, on a line through the position."""
    at, fwhm, area, share, ground, slope = parameters
    away = (x - at) / fwhm
    gauss = np.sqrt(4 * np.log(2) / np.pi) / fwhm * np.exp(-4 * np.log(2) * away**2)
    lorentz = 2 / (np.pi * fwhm) / (1 + 4 * away**2)
    curve: Array = area * (share * lorentz + (1 - share) * gauss) + ground + slope * (x - at)
    return curve
