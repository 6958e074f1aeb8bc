"""Makes the patterns of a simulated series: expected counts from its truth, and Poisson counts by seed.

The engine that calculates the truth is the one that refines it, so a series says nothing about the engine's physics. It
says what counts, recipe, weights and thresholds do. What a model cannot reach is put in on purpose: the ladder's
truth has more tantalum than its model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.interfaces.rietveld import Background, Pattern, RietveldEngine, Setup
from sophron.records.errors import UserError
from sophron.science.rietveld.simulated import series as known
from sophron.science.rietveld.simulated.series import Series

if TYPE_CHECKING:
    from sophron.interfaces.rietveld import Array


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
    x = known.angles_deg()
    bragg, version = np.zeros_like(x), ""
    for structure, share in of.truth.items():
        per_scale, version = _per_scale(engine, structure, x)
        bragg += share / _mass_times_volume(structure) * per_scale
    background = known.background_shape(x)
    rate = known.rate_per_s() * ((1.0 - background.mean()) * bragg / bragg.mean() + background)
    cell_angstrom = _small(next(iter(of.truth))).cell.a
    shares = {known.phase(structure).name: share for structure, share in of.truth.items()}
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
    phase = known.phase(structure)
    any_pattern = Pattern("only to start from", x, np.linspace(2.0, 1.0, x.size))
    setup = Setup(any_pattern, (phase,), known.instrument(true=True), Background(count=1))
    state = engine.start(setup)
    return engine.calculate(state, x.tolist()) / state.values[f"scale/{phase.name}"], state.version


def _mass_times_volume(structure: str) -> float:
    """Of one cell, in u x cubic angstrom."""
    small = _small(structure)
    mass = sum(site.element.weight * site.occ for site in small.get_all_unit_cell_sites())
    return float(mass * small.cell.volume)


def _small(structure: str) -> Any:
    import gemmi

    return gemmi.make_small_structure_from_block(gemmi.cif.read_string(known.cif(structure)).sole_block())
