"""PbSO4 of the round robin, X-rays and neutrons, with both engines: Rwp, cell, what a rung takes.

SOPHRON_XRD_DATA=... SOPHRON_GSAS2_PYTHON=... PYTHONPATH=tests/toy python bench/rietveld_lead_sulfate.py
"""

import json
import os
import resource
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import rietveld_recipes
from public_patterns import take
from record import record
from rietveld_recipes import Rung

from sophron.interfaces.rietveld import Background, Phase, RietveldEngine, Setup
from sophron.science.rietveld import pattern
from sophron.science.rietveld.gsas2_engine import Gsas2
from sophron.science.rietveld.instrument_files import read_instrument
from sophron.science.rietveld.refinement import Refinement
from sophron.science.rietveld.rietx_engine import Rietx

MOST_RWP = 14.0
"""GSAS-II on X-rays alone."""

PATIENCE_S = 600.0
NEUTRONS = (
    Rung("scale", ("scale", "background")),
    Rung("cell", ("cell", "zero")),
    Rung("width", ("profile_u", "profile_v", "profile_w")),
    Rung("atoms", ("position", "u_iso")),
)
CASES = {
    "xray": ("PBSO4.XRA", "INST_XRY.PRM", (16.0, 158.4), rietveld_recipes.LABORATORY),
    "neutron": ("PBSO4.CWN", "inst_d1a.prm", (19.0, 153.0), NEUTRONS),
}
"""Limits of GSAS-II's own test of the joint refinement."""


def refined(make: type[RietveldEngine], data: str, parameters: str, limits: tuple[float, float], rungs) -> dict:
    """A whole recipe without axial divergence; the profile is the file's."""
    engine = make()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    setup = Setup(
        pattern.read(take(data), engine),
        (Phase("PbSO4", take("PbSO4-Wyckoff.cif").read_text()),),
        replace(read_instrument(take(parameters)), axial=0.0),
        Background(count=9, start=100.0),
        limits,
    )
    with tempfile.TemporaryDirectory() as folder:
        refinement = Refinement.begin(engine, setup, Path(folder) / "refinement")
        cycles = rietveld_recipes.climb_rungs(refinement, rungs, limit_s=PATIENCE_S)
    engine.close()
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    fit = refinement.current.fit
    return {
        "rungs": {
            rung.name: [one.ended, round(one.fit.rwp.percent, 3)] for rung, one in zip(rungs, cycles, strict=True)
        },
        "rwp_percent": round(fit.rwp.percent, 3),
        "gof": round(fit.gof, 3),
        "r_f_percent": round(fit.phases[0].r_f_percent, 2),
        "variables": fit.variables,
        "raw_counts": setup.pattern.sigma is None,
        "cell_angstrom": {axis: round(refinement.current.state.values[f"cell/PbSO4/{axis}"], 6) for axis in "abc"},
        "engine_cpu_s": round(spent.ru_utime + spent.ru_stime - before.ru_utime - before.ru_stime, 1),
        "load_average": round(os.getloadavg()[0], 1),
    }


def main() -> int:
    """Measure, print and record; 1 where GSAS-II misses its bound."""
    makes = [make for make in (Rietx, Gsas2) if make().missing() is None]
    result = {name: {make.name: refined(make, *case) for make in makes} for name, case in CASES.items()}
    for found in result.values():
        if len(found) == 2:
            ours, theirs = (found[name]["cell_angstrom"] for name in ("rietx", "gsas2"))
            found["ppm_of_rietx_from_gsas2"] = {axis: round((ours[axis] / theirs[axis] - 1) * 1e6, 1) for axis in ours}
    record("rietveld_lead_sulfate", result)
    print(json.dumps(result, indent=2))
    return 0 if result["xray"].get("gsas2", {"rwp_percent": 0.0})["rwp_percent"] <= MOST_RWP else 1


if __name__ == "__main__":
    sys.exit(main())
