"""Whether `esd_counting` is how far cells scatter from counting: simulated mixtures, GOF 1 and GOF 2, both engines.

For a GOF of 2 the counts are of wider lines than the model has, which it cannot follow: the misfit is the same in every
draw, and only counting makes cells differ. `scatter_over_esd` is the standard deviation of the edges of salt and
silicon over their mean `esd_counting`, both together; `interval` is where it lies with 95 % for what was found.

    SOPHRON_GSAS2_PYTHON=... python bench/rietveld_esd.py --seeds 40
"""

import argparse
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from record import record
from scipy import stats

from sophron.interfaces.rietveld import RietveldEngine
from sophron.science.rietveld.gsas2_engine import Gsas2
from sophron.science.rietveld.rietx_engine import Rietx

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "toy"))
import mixture  # found beside the tests that share it

FIRST_SEED = 500
WIDTHS = {"gof_1": 0.004, "gof_2": 0.0053}
"""Gaussian W of the simulated lines in degrees^2; the model has 0.004."""
CELLS = ("cell/salt/a", "cell/Si/a")


def expected(engine: RietveldEngine, width: float) -> np.ndarray:
    """Mean counts of lines of this width."""
    order = mixture.setup(300.0 + 2000.0 * np.exp(-(((mixture.ANGLES - 40) / 5) ** 2)), *mixture.TRUE.values())
    wide = replace(order, instrument=replace(order.instrument, profile_w=width))
    return engine.calculate(engine.start(wide, limit_s=mixture.LIMIT_S), mixture.ANGLES.tolist())


def scattered(engine: RietveldEngine, width: float, seeds: int) -> dict[str, object]:
    """What one engine says of all draws."""
    mean = expected(engine, width)
    with tempfile.TemporaryDirectory() as folder:
        fits = [
            mixture.refined(engine, mixture.drawn(mean, FIRST_SEED + number), Path(folder) / str(number))
            for number in range(seeds)
        ]
    edges = np.array([[fit.parameter(name).value for name in CELLS] for fit in fits])
    esd = np.array([[fit.parameter(name).esd_counting for name in CELLS] for fit in fits])
    inflated = np.mean([fit.parameter(CELLS[0]).esd for fit in fits]) / esd[:, 0].mean()
    squares = float(np.sum(((edges - edges.mean(axis=0)) / esd.mean(axis=0)) ** 2))
    freedom = len(CELLS) * (seeds - 1)
    low, high = np.sqrt(squares / stats.chi2.ppf([0.975, 0.025], freedom)).round(3).tolist()
    return {
        "seeds": seeds,
        "gof": round(float(np.mean([fit.gof for fit in fits])), 3),
        "scatter_over_esd": round(float(np.sqrt(squares / freedom)), 3),
        "interval": [low, high],
        "esd_over_esd_counting": round(float(inflated), 3),
        "esd_counting_angstrom": esd.mean(axis=0).tolist(),
    }


def main() -> int:
    """Measure, print and record; 1 if a scatter is not an esd's, with 95 %."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--engines", nargs="+", default=["rietx", "gsas2"])
    args = parser.parse_args()
    engines = [one for one in (Rietx(), Gsas2()) if one.name in args.engines and one.missing() is None]
    found: dict[str, dict[str, dict[str, object]]] = {}
    for engine in engines:
        found[engine.name] = {name: scattered(engine, width, args.seeds) for name, width in WIDTHS.items()}
        print(json.dumps(found, indent=2), flush=True)
        engine.close()
    record("rietveld_esd", {"simulated": True, "seeds": args.seeds, "first_seed": FIRST_SEED, **found})
    intervals = [one["interval"] for of_engine in found.values() for one in of_engine.values()]
    return 0 if all(low <= 1.1 and high >= 0.9 for low, high in intervals) else 1


if __name__ == "__main__":
    raise SystemExit(main())
