"""Read the simulated series from `series.yaml`, with the CIF texts from `structures/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from sophron.interfaces.rietveld import Background, Instrument, Pattern, Phase, Setup
from sophron.records.errors import UserError, shown

if TYPE_CHECKING:
    from sophron.interfaces.rietveld import Array

HERE = Path(__file__).parent
NAMES = {"la2zr2o7": "La2Zr2O7"}
"""Phases by structure file; all others are LLZO."""


@dataclass(frozen=True)
class Series:
    """One simulated sample. truth: weight fraction by structure; main, candidate: the structures that are refined.

    times_s: count times in seconds that it is meant for; stream: tells its noise from that of other series.
    """

    name: str
    title: str
    stream: int
    truth: Mapping[str, float]
    main: str
    candidate: str
    times_s: tuple[int, ...]


@cache
def _document() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((HERE / "series.yaml").read_text(encoding="utf-8"))
    return found


def names() -> tuple[str, ...]:
    """Return all series."""
    return tuple(_document()["series"])


def series(name: str) -> Series:
    """Return the series called so; UserError."""
    if name not in _document()["series"]:
        raise UserError(f'there is no simulated series "{shown(name)}"; known are {", ".join(names())}')
    data = _document()["series"][name]
    return Series(name=name, **{**data, "times_s": tuple(data["times_s"])})


def cif(structure: str) -> str:
    """Return the text of one of our structure files."""
    return (HERE / "structures" / f"{structure}.cif").read_text(encoding="utf-8")


def phase(structure: str) -> Phase:
    """Return a structure under the name that refinements know it by."""
    return Phase(NAMES.get(structure, "LLZO"), cif(structure))


def angles_deg() -> Array:
    """2 theta of every series."""
    grid = _document()["grid"]
    count = int((grid["last_deg"] - grid["first_deg"]) / grid["step_deg"]) + 1
    found: Array = np.round(grid["first_deg"] + grid["step_deg"] * np.arange(count), 6)
    return found


def rate_per_s() -> float:
    """Return the counts a second and step, averaged over a pattern."""
    return float(_document()["rate_per_s"])


def background_shape(two_theta_deg: Array) -> Array:
    """Return the true background, scaled to its share of one. No polynomial, so that a refined one only comes close."""
    decay = float(_document()["background_decay_deg"])
    shape = 1.0 + 0.6 * np.exp(-(two_theta_deg - two_theta_deg[0]) / decay)
    return np.asarray(float(_document()["background_share"]) * shape / shape.mean())


def instrument(*, true: bool) -> Instrument:
    """Return the diffractometer with the sample in it, or as it was calibrated."""
    data = {**_document()["instrument"], **(_document()["true_instrument"] if true else {})}
    return Instrument(**{**data, "wavelengths_angstrom": tuple(data["wavelengths_angstrom"])})


def setup(of: Series, pattern: Pattern) -> Setup:
    """Return what a refinement of `pattern` starts from: the model's structures, the instrument as calibrated."""
    background = Background(**_document()["refined_background"], start=float(pattern.intensity.mean()) / 2)
    return Setup(pattern, (phase(of.main), phase(of.candidate)), instrument(true=False), background)
