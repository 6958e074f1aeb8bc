"""Whether the esd of a weight fraction covers its scatter: a simulated mixture over many seeds, with each engine.

The truth is the fraction that the same model gives for the mean counts. `scatter_over_esd` is the root mean square of
deviations over esds, 1 for an esd that holds; `expected` is where it lies in 95 of 100 repeats if it does.

    SOPHRON_GSAS2_PYTHON=... python bench/rietveld_fractions.py --seeds 24
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from record import record
from scipy import stats

from sophron.interfaces.rietveld import Fit, RietveldEngine
from sophron.science.rietveld.gsas2_engine import Gsas2
from sophron.science.rietveld.rietx_engine import Rietx

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "toy"))
import mixture  # found beside the tests that share it

FIRST_SEED = 100
PHASE = "salt"


def over_esd(fits: list[Fit], true: Fit) -> dict[str, dict[str, float]]:
    """Of the share and of each cell edge: root mean square and mean of deviations over esds."""
    share = [mixture.share(fit, PHASE) for fit in fits]
    found = {"weight_fraction": [(value - mixture.share(true, PHASE)[0]) / esd for value, esd in share]}
    for name in ("cell/salt/a", "cell/Si/a"):
        edges = [fit.parameter(name) for fit in fits]
        found[name] = [(one.value - mixture.TRUE[name]) / one.esd for one in edges]
        found[f"{name}, counting alone"] = [(one.value - mixture.TRUE[name]) / one.esd_counting for one in edges]
    return {
        name: {
            "scatter_over_esd": round(float(np.sqrt(np.mean(np.square(each)))), 3),
            "mean_over_esd": round(float(np.mean(each)), 3),
        }
        for name, each in found.items()
    }


def scattered(engine: RietveldEngine, seeds: int) -> dict[str, object]:
    """What one engine says of all seeds."""
    mean = mixture.expected(engine)
    with tempfile.TemporaryDirectory() as folder:
        true = mixture.refined(engine, mean, Path(folder) / "mean")
        fits = [
            mixture.refined(engine, mixture.drawn(mean, FIRST_SEED + number), Path(folder) / str(number))
            for number in range(seeds)
        ]
    engine.close()
    share = np.array([mixture.share(fit, PHASE) for fit in fits])
    return {
        "weight_fraction_true": round(mixture.share(true, PHASE)[0], 5),
        "weight_fraction_mean": round(float(share[:, 0].mean()), 5),
        "weight_fraction_scatter": round(float(share[:, 0].std(ddof=1)), 6),
        "weight_fraction_esd_mean": round(float(share[:, 1].mean()), 6),
        "deviations": over_esd(fits, true),
    }


def main() -> int:
    """Measure, print and record; 1 where a fraction scatters further than its esd says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=24)
    args = parser.parse_args()
    low, high = np.sqrt(stats.chi2.ppf([0.025, 0.975], args.seeds) / args.seeds).round(3).tolist()
    engines = [engine for engine in (Rietx(), Gsas2()) if engine.missing() is None]
    found = {engine.name: scattered(engine, args.seeds) for engine in engines}
    result = {"simulated": True, "seeds": args.seeds, "first_seed": FIRST_SEED, "expected": [low, high], **found}
    record("rietveld_fractions", result)
    print(json.dumps(result, indent=2))
    scatter = [one["deviations"]["weight_fraction"]["scatter_over_esd"] for one in found.values()]
    return 0 if all(one <= high for one in scatter) else 1


if __name__ == "__main__":
    sys.exit(main())
