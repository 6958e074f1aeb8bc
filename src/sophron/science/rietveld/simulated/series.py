"""Make the patterns of a simulated series: expected counts from its truth, and Poisson counts by seed.

Series are in `series.yaml`, their CIF texts in `structures/`. The engine that calculates the truth is the one that
refines it, so a series says nothing about the engine's physics. It says what counts, recipe, weights and thresholds do.
What a model cannot reach is put in on purpose: the ladder's truth has more tantalum than its model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from sophron.interfaces.rietveld import Background, Instrument, Pattern, Phase, RietveldEngine, Setup
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


@dataclass(frozen=True, eq=False)
class Truth:
    """What a series is made of. rate_per_s: expected counts a second at each of `two_theta_deg`.

    cell_angstrom: true cell edge a of the main phase; weight_fractions: by name of phase; engine_version: of the engine
    that calculated it.
    """

    series: Series
    two_theta_deg: Array
    rate_per_s: Array
    cell_angstrom: float
    weight_fractions: dict[str, float]
    engine_version: str = ""


def truth(engine: RietveldEngine, of: Series) -> Truth:
    """Return the expected pattern: phases by weight, then as much background as the series has.

    Intensity of a phase goes as scale x (mass of the cell x its volume), so the scale as the weight fraction over
    that product (Hill and Howard 1987, 10.1107/S0021889887086199).
    """
    x = angles_deg()
    bragg, version = np.zeros_like(x), ""
    for structure, share in of.truth.items():
        per_scale, version = _per_scale(engine, structure, x)
        bragg += share / _mass_times_volume(structure) * per_scale
    background = background_shape(x)
    rate = rate_per_s() * ((1.0 - background.mean()) * bragg / bragg.mean() + background)
    cell_angstrom = _small(next(iter(of.truth))).cell.a
    shares = {phase(structure).name: share for structure, share in of.truth.items()}
    return Truth(of, x, rate, cell_angstrom, shares, version)


def scan(of: Truth, time_s: float, seed: int) -> Pattern:
    """Poisson counts of `time_s` seconds a step; raw, so without sigma. The same seed gives the same counts."""
    if not time_s > 0:
        raise UserError(f"count_time_s: {time_s:g} s counts nothing; give more than 0")
    noise = np.random.default_rng([seed, of.series.stream, round(time_s)])
    counts = noise.poisson(of.rate_per_s * time_s).astype(float)
    return Pattern(f"{of.series.title}, {time_s:g} s, seed {seed}", of.two_theta_deg, counts)


def expected(of: Truth, time_s: float) -> Pattern:
    """Return the counts that `scan` scatters about, with their standard deviation: no noise."""
    mean = of.rate_per_s * time_s
    return Pattern(f"{of.series.title}, {time_s:g} s, without noise", of.two_theta_deg, mean, np.sqrt(mean))


def _per_scale(engine: RietveldEngine, structure: str, x: Array) -> tuple[Array, str]:
    """Bragg intensities of one phase at a scale of one, and the version of the engine."""
    given = phase(structure)
    any_pattern = Pattern("only to start from", x, np.linspace(2.0, 1.0, x.size))
    setup = Setup(any_pattern, (given,), instrument(true=True), Background(count=1))
    state = engine.start(setup)
    return engine.calculate(state, x.tolist()) / state.values[f"scale/{given.name}"], state.version


def _mass_times_volume(structure: str) -> float:
    """Of one cell, in u x cubic angstrom."""
    small = _small(structure)
    mass = sum(site.element.weight * site.occ for site in small.get_all_unit_cell_sites())
    return float(mass * small.cell.volume)


def _small(structure: str) -> Any:
    import gemmi

    return gemmi.make_small_structure_from_block(gemmi.cif.read_string(cif(structure)).sole_block())
