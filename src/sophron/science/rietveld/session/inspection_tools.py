"""Tools that look: single peaks, where the model misses the pattern, plots, what speaks against the model."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from sophron.interfaces.rietveld import Fit, Pattern
from sophron.records.errors import UserError
from sophron.records.typed_json import to_json
from sophron.science.rietveld import plots
from sophron.science.rietveld.session import fit_diagnostics
from sophron.science.rietveld.session.report import cell, fit_numbers, phase_numbers, rounded
from sophron.science.rietveld.session.session import Session
from sophron.science.rietveld.session.trajectory import Answer, Plot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sophron.interfaces.rietveld import Array

WINDOW_DEG = 2.0
WORST = 5
MOST_CORRELATIONS = 10
LEAST_SIGNIFICANCE = 5.0


def fit_peak(session: Session, low_deg: float, high_deg: float) -> Answer:
    """Fit one peak (pseudo-Voigt on a line) in a window of the pattern: position, width, area, significance."""
    found = fit_pseudo_voigt(session.sample.pattern, low_deg, high_deg)
    hint = (
        f"a significance below {LEAST_SIGNIFICANCE:g} is no peak"
        if found["significance"] < LEAST_SIGNIFICANCE
        else "one peak on a line"
    )
    return Answer(hint, numbers={key: rounded(one) for key, one in found.items()})


def residuals(session: Session) -> Answer:
    """Agreement indices, refined parameters, phases, correlations, and the windows where the model misses most."""
    state, fit = session.fitted()
    values = dict(state.kept.state.values)
    details = {
        "state": state.number,
        "free": to_json(state.free),
        "phases": [
            to_json(phase_numbers(fit, name)) | {"cell": to_json(cell(fit, values, name))} for name in state.phases
        ],
        "parameters": [
            {"name": one.name, "value": rounded(one.value), "esd": rounded(one.esd)}
            for one in fit.parameters
            if not one.name.startswith("background/")
        ],
        "correlations": [
            {"first": one.first, "second": one.second, "value": rounded(one.value)}
            for one in sorted(fit.correlations, key=lambda one: -abs(one.value))[:MOST_CORRELATIONS]
        ],
        "flags": [asdict(one) for one in fit.flags],
        "worst": to_json(worst_windows(fit)),
    }
    return Answer("zoom into the worst windows before anything is released", numbers=fit_numbers(fit), details=details)


@dataclass(frozen=True)
class Window:
    """A window of 2 theta and its share of chi2."""

    low_deg: float
    high_deg: float
    share: float


def worst_windows(fit: Fit) -> list[Window]:
    """The windows of 2 degrees with the largest share of chi2, worst first. Angles in degrees, share from 0 to 1."""
    curves = fit.curves
    term = ((curves.observed - curves.calculated) / curves.sigma) ** 2
    at = np.floor((curves.two_theta_deg - curves.two_theta_deg[0]) / WINDOW_DEG).astype(int)
    sums = np.bincount(at, weights=term)
    first = float(curves.two_theta_deg[0])
    last = float(curves.two_theta_deg[-1])
    found = []
    for window in np.argsort(-sums, kind="stable")[:WORST]:
        low = first + WINDOW_DEG * float(window)
        share = float(sums[window] / sums.sum())
        found.append(Window(round(low, 3), round(min(low + WINDOW_DEG, last), 3), round(share, 4)))
    return found


def get_pattern_plot(session: Session) -> Answer:
    """The whole pattern: observed, calculated, background, Bragg ticks, and below the difference over its esd."""
    _, fit = session.fitted()
    x = fit.curves.two_theta_deg
    return _plot(session, float(x[0]), float(x[-1]), whole=True)


def get_zoomed_plot(session: Session, low_deg: float, high_deg: float) -> Answer:
    """The same curves in a window of 2 theta, for weak peaks, shoulders and the shape of lines."""
    return _plot(session, low_deg, high_deg, whole=False)


def _plot(session: Session, low: float, high: float, *, whole: bool) -> Answer:
    _, fit = session.fitted()
    file = f"plots/{session.trajectory.next_call:03d}.png"
    path = plots.pattern_png(fit, session.folder / file, None if whole else (low, high))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    shown = _inside(fit, low, high)
    numbers = {"low_deg": low, "high_deg": high, **shown}
    return Answer(fit_diagnostics.reading(shown), numbers=numbers, plot=Plot(low, high, whole, digest, file))


def _inside(fit: Fit, low: float, high: float) -> dict[str, float | None]:
    curves = fit.curves
    inside: NDArray[np.bool_] = (curves.two_theta_deg >= low) & (curves.two_theta_deg <= high)
    if not inside.any():
        raise UserError(f"the window {low:g} to {high:g} degrees holds no point of the fit; name one inside of it")
    over = (curves.observed - curves.calculated)[inside] / curves.sigma[inside]
    at = int(np.argmax(np.abs(over)))
    return {
        "largest_difference_esd": rounded(float(over[at])),
        "largest_difference_deg": rounded(float(curves.two_theta_deg[inside][at])),
        "mean_difference_esd": rounded(float(over.mean())),
        "root_mean_square_esd": rounded(float(np.sqrt(np.mean(over**2)))),
    }


def diagnose(session: Session) -> Answer:
    """What speaks against the current model, by code: cells that ran away, correlations, unexplained peaks, bounds."""
    state, fit = session.fitted()
    begun = next(one for one in session.states if one.refinement is state.refinement)
    values, given = dict(state.kept.state.values), dict(begun.kept.state.values)
    moved = fit_diagnostics.cell_moves(values, given)
    found = fit_diagnostics.of(fit, values, moved, state.ended)
    hint = found[0].message if found else "nothing speaks against it"
    numbers = {
        "findings": float(len(found)),
        "misfit_percent": rounded(fit.misfit_percent),
        "cell_moved_percent": rounded(max(moved.values(), default=0.0)),
    }
    return Answer(hint, numbers=numbers, details={"findings": to_json(found)})


FEWEST_POINTS = 8
PARAMETERS = 6


def fit_pseudo_voigt(pattern: Pattern, low_deg: float, high_deg: float) -> dict[str, float]:
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
