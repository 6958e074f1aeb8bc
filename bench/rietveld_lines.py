"""Where each engine puts a line that axial divergence makes asymmetric, against the theory of its centroid.

SOPHRON_GSAS2_PYTHON=... python bench/rietveld_lines.py
"""

import json
import sys
from pathlib import Path

import numpy as np
from record import record

from sophron.interfaces.rietveld import Background, Instrument, Pattern, Phase, RietveldEngine, Setup
from sophron.science.rietveld.gsas2_engine import Gsas2
from sophron.science.rietveld.rietx_engine import Rietx

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "toy"))
from crystals import CIF, SALT

WAVELENGTH, EDGE = 1.5405, 5.64
GRID = np.arange(20.0, 140.0, 0.005)
HALF_WIDTH = 0.3
LINES = 2 * np.degrees(np.arcsin(WAVELENGTH * np.sqrt([3, 4, 8, 11, 16, 24, 36]) / 2 / EDGE))


def theory(axial: float) -> np.ndarray:
    """Shift of a centroid in degrees: -(H^2 + S^2)/(6 L^2) cot(2 theta), with H = S = axial L.

    Finger, Cox and Jephcoat 1994, 10.1107/S0021889894004218, for small apertures.
    """
    return -np.degrees(axial**2 / 3 / np.tan(np.radians(LINES)))


def centroids(engine: RietveldEngine, axial: float) -> np.ndarray:
    """Of each line, degrees from the Bragg angle."""
    order = Pattern("order", GRID, 3000 * np.exp(-(((GRID - 32) / 5) ** 2)) + 1)
    instrument = Instrument((WAVELENGTH,), axial=axial, profile_w=0.0023, profile_x=0.0001)
    state = engine.start(
        Setup(order, (Phase("salt", CIF.format(edge=EDGE, **SALT)),), instrument, Background(count=1)), limit_s=300
    )
    found = engine.calculate(state, GRID.tolist(), limit_s=300)
    windows = [np.abs(GRID - line) < HALF_WIDTH for line in LINES]
    return np.array([np.average(GRID[at], weights=found[at]) for at in windows]) - LINES


def main() -> None:
    """Measure, print and record."""
    engines = [engine for engine in (Rietx(), Gsas2()) if engine.missing() is None]
    result: dict[str, object] = {"lines_deg": LINES.round(2).tolist()}
    for axial in (0.0, 0.01, 0.02):
        shifts = {"theory": theory(axial), **{engine.name: centroids(engine, axial) for engine in engines}}
        result[f"millidegrees_at_axial_{axial:g}"] = {
            name: (1e3 * one).round(2).tolist() for name, one in shifts.items()
        }
    for engine in engines:
        engine.close()
    record("rietveld_lines", result)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
