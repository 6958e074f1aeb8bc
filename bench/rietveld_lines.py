"""Where each engine puts a line that axial divergence makes asymmetric, against the theory of its centroid.

SOPHRON_GSAS2_PYTHON=... python bench/rietveld_lines.py
"""

import json

import numpy as np
from record import record

from sophron.interfaces.rietveld import Background, Instrument, Pattern, Phase, RietveldEngine, Setup
from sophron.science.rietveld.gsas2_engine import Gsas2
from sophron.science.rietveld.rietx_engine import Rietx

WAVELENGTH, EDGE = 1.5405, 5.64
CIF = f"""data_salt
_space_group_name_H-M_alt 'F m -3 m'
_cell_length_a {EDGE}
_cell_length_b {EDGE}
_cell_length_c {EDGE}
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
_atom_site_U_iso_or_equiv
Na1 Na 0 0 0 0.015
Cl1 Cl 0.5 0.5 0.5 0.012
"""
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
    state = engine.start(Setup(order, (Phase("salt", CIF),), instrument, Background(count=1)), limit_s=300)
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
