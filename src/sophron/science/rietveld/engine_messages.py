"""Requests as plain data for an engine's process, and its answers as what the interface promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from sophron.interfaces.rietveld import (
    Correlation,
    Curves,
    Fit,
    Flag,
    Parameter,
    Pattern,
    PhaseFit,
    Request,
    Rwp,
    Setup,
)


def pattern(given: Pattern) -> dict[str, list[float]]:
    """Return the lists of a pattern, under the names of its fields."""
    lists = {"two_theta_deg": given.two_theta_deg.tolist(), "intensity": given.intensity.tolist()}
    return lists if given.sigma is None else {**lists, "sigma": given.sigma.tolist()}


def setup(given: Setup, limits_deg: tuple[float, float]) -> dict[str, object]:
    """Return a setup without its pattern, with the limits that hold."""
    return {
        "phases": [asdict(one) for one in given.phases],
        "instrument": asdict(given.instrument),
        "background": asdict(given.background),
        "limits_deg": list(limits_deg),
        "excluded_deg": [list(one) for one in given.excluded_deg],
    }


def request(given: Request) -> dict[str, object]:
    """Return a request; `limit_s` goes with the question itself."""
    return {name: value for name, value in asdict(given).items() if name != "limit_s"}


def fit_back(data: Mapping[str, Any], engine: str, curves: Curves) -> Fit:
    """Return a fit from what an engine's process said, or from what `fit` wrote.

    KeyError or TypeError for anything else.
    """
    numbers = ("rp_percent", "r_expected_percent", "chi2", "gof", "observations", "variables", "largest_shift_over_esd")
    return Fit(
        rwp=Rwp(data["rwp_percent"], engine),
        **{key: data[key] for key in numbers},
        parameters=tuple(Parameter(**one) for one in data["parameters"]),
        correlations=tuple(Correlation(**one) for one in data["correlations"]),
        phases=tuple(PhaseFit(**one) for one in data["phases"]),
        flags=tuple(Flag(**one) for one in data["flags"]),
        curves=curves,
    )


def fit(given: Fit) -> dict[str, object]:
    """Return a fit as JSON without its curves, for a file: `fit_back` reads it again beside them."""
    data = asdict(given)
    data["rwp_percent"] = data.pop("rwp")["percent"]
    del data["curves"]
    return data


def curves(data: Mapping[str, Any]) -> Curves:
    """Return the curves that an engine's process said."""
    arrays = {key: np.array(one, dtype=float) for key, one in data.items() if key != "ticks_deg"}
    ticks = {phase: np.array(one, dtype=float) for phase, one in data["ticks_deg"].items()}
    return Curves(**arrays, ticks_deg=ticks)
