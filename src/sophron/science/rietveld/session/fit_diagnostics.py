"""What speaks against a fit, as typed findings, and what a plot shows in one sentence: rules of thumb, all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sophron.interfaces.rietveld import Fit

CORRELATED = 0.95
UNEXPLAINED_ESD = 6.0
FROM_TICK_DEG = 0.3
RUN_POINTS = 400
TILTED_ESD = 0.25
LARGEST_U, SMALLEST_U = 0.1, 0.0
"""Angstrom^2: an atom of a stable solid is within."""

FAR_PERCENT = 0.5
"""Of a cell edge: heat and solid solution move one by tenths of a per cent; what moves further is another phase."""


def reading(shown: Mapping[str, float | None]) -> str:
    """Return what a plot shows where it was made, from its own numbers."""
    largest, at = shown["largest_difference_esd"] or 0.0, shown["largest_difference_deg"] or 0.0
    spread = shown["root_mean_square_esd"] or 0.0
    side = "above" if largest > 0 else "below"
    quality = "as counting statistics want" if spread < 1.3 else "more than counting statistics want"
    return (
        f"the difference spreads by {spread:.2f} esd, {quality}; "
        f"its largest, {abs(largest):.1f} esd {side} the model, is at {at:.2f} degrees"
    )


@dataclass(frozen=True)
class Finding:
    """What speaks against a fit. at_deg: in degrees 2 theta; parameter: name of one, or of a cell."""

    code: str
    message: str
    at_deg: float | None = None
    parameter: str | None = None


def of(fit: Fit, values: Mapping[str, float], moved: Mapping[str, float], ended: str | None) -> list[Finding]:
    """Return all findings, those that make the model wrong before those that make it incomplete.

    moved: phase -> how far its cell is from the structure that was given, see `cell_moves`; ended: how the cycle that
    came to this fit did, so that whoever refined is not told two things.
    """
    return [
        *_far(moved),
        *_displacements(values),
        *_occupancies(values),
        *_correlations(fit),
        *_unconverged(fit, ended),
        *_background(fit),
        *_unexplained(fit),
    ]


def cell_moves(values: Mapping[str, float], given: Mapping[str, float]) -> dict[str, float]:
    """Return phase -> largest relative change of a cell edge in per cent.

    given: values of the structures that were given.
    """
    found: dict[str, float] = {}
    for name, value in values.items():
        group, _, rest = name.partition("/")
        phase, _, edge = rest.rpartition("/")
        if group == "cell" and edge in ("a", "b", "c") and name in given:
            found[phase] = max(found.get(phase, 0.0), 100.0 * abs(value / given[name] - 1.0))
    return found


def _far(moved: Mapping[str, float]) -> list[Finding]:
    return [
        Finding(
            "CELL_FAR",
            f"the cell of {phase} moved by {percent:.2f} % from its structure; look whether it is this phase at all",
            None,
            f"cell/{phase}",
        )
        for phase, percent in moved.items()
        if percent > FAR_PERCENT
    ]


def _displacements(values: Mapping[str, float]) -> list[Finding]:
    wrong = [name for name, one in values.items() if name.startswith("u_iso/") and not SMALLEST_U <= one <= LARGEST_U]
    return [
        Finding("U_OUT_OF_RANGE", f"{name} is {values[name]:.3g} angstrom^2; hold u_iso of this atom", None, name)
        for name in wrong
    ]


def _occupancies(values: Mapping[str, float]) -> list[Finding]:
    wrong = [name for name, one in values.items() if name.startswith("occupancy/") and not -0.01 <= one <= 1.01]
    return [
        Finding("OCCUPANCY_OUT_OF_RANGE", f"{name} is {values[name]:.3g}; hold the occupancy", None, name)
        for name in wrong
    ]


def _correlations(fit: Fit) -> list[Finding]:
    # Coefficients of one polynomial are correlated by nature; nothing is read from them.
    strong = [
        one
        for one in fit.correlations
        if abs(one.value) > CORRELATED and not (one.first.startswith("back") and one.second.startswith("back"))
    ]
    return [
        Finding(
            "CORRELATED",
            f"{one.first} and {one.second} are correlated by {one.value:.3f}; hold one of them",
            None,
            one.second,
        )
        for one in strong
    ]


def _unconverged(fit: Fit, ended: str | None) -> list[Finding]:
    if ended != "unfinished":
        return []
    shift = fit.largest_shift_over_esd
    by = "" if shift is None else f": its largest shift is {shift:.2g} esd"
    return [Finding("NOT_CONVERGED", f"the cycle ended before it had converged{by}; refine again")]


def _background(fit: Fit) -> list[Finding]:
    """Where far from all reflections the difference leans to one side over many points, the background is wrong."""
    x, over = fit.curves.two_theta_deg, _over(fit)
    free = _distance(fit) > FROM_TICK_DEG
    found = []
    for first in range(0, x.size - RUN_POINTS + 1, RUN_POINTS):
        part = slice(first, first + RUN_POINTS)
        here = over[part][free[part]]
        if here.size > RUN_POINTS // 4 and abs(float(here.mean())) > max(TILTED_ESD, 4 / np.sqrt(here.size)):
            middle = float(x[part].mean())
            found.append(
                Finding("BACKGROUND", f"the background is off about {middle:.0f} degrees; add coefficients", middle)
            )
    return found[:3]


def _unexplained(fit: Fit) -> list[Finding]:
    """Counts above the model that no reflection is near to: another phase, or a line of the tube."""
    over = _over(fit)
    width = 7
    summed = np.convolve(over, np.ones(width), "same") / np.sqrt(width)
    summed[_distance(fit) <= FROM_TICK_DEG] = 0.0
    at = int(np.argmax(summed))
    if summed[at] < UNEXPLAINED_ESD:
        return []
    angle = float(fit.curves.two_theta_deg[at])
    said = f"counts at {angle:.2f} degrees, {summed[at]:.1f} esd above the model, belong to no phase; zoom in"
    return [Finding("UNEXPLAINED_PEAK", said, round(angle, 3))]


def _over(fit: Fit) -> np.ndarray[Any, np.dtype[np.float64]]:
    found: np.ndarray[Any, np.dtype[np.float64]] = (fit.curves.observed - fit.curves.calculated) / fit.curves.sigma
    return found


def _distance(fit: Fit) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Degrees from each point to the nearest Bragg position."""
    x = fit.curves.two_theta_deg
    ticks = np.sort(np.concatenate([np.asarray(at, dtype=float) for at in fit.curves.ticks_deg.values()]))
    if ticks.size == 0:
        return np.full(x.size, np.inf)
    right = np.clip(np.searchsorted(ticks, x), 1, ticks.size - 1) if ticks.size > 1 else np.zeros(x.size, dtype=int)
    near: np.ndarray[Any, np.dtype[np.float64]] = np.minimum(np.abs(x - ticks[right]), np.abs(x - ticks[right - 1]))
    return near
