"""How often the impurity of the simulated ladder is claimed where it is, and where it is not, on seeds of their own.

    pip install 'sophron[xrd]'; PYTHONPATH=tests/toy python bench/impurity_power.py --seeds 201 220

The thresholds were frozen on controls of other seeds (phase_significance.yaml). Intervals are Clopper and Pearson's.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import phase_significance
from ladder import measure
from record import record
from scipy.stats import binomtest

from sophron.science.rietveld.rietx_engine import VERSION
from sophron.science.rietveld.simulated import series

SERIES = ("ladder", "control")
LEVEL = 0.95


def rate(claimed: int, scans: int) -> dict[str, object]:
    """Return how many were claimed, their share, and its 95 % interval."""
    interval = binomtest(claimed, scans).proportion_ci(LEVEL)
    share = round(claimed / scans, 4)
    return {"scans": scans, "claimed": claimed, "share": share, "interval": [round(end, 4) for end in interval]}


def row(scans: list[dict[str, float]]) -> dict[str, object]:
    """Return one count time of one series, or several together."""
    by = phase_significance.thresholds()
    values = [one["significance"] for one in scans]
    claimed = [one["significance"] >= by.claimed_from and one["misfit_percent"] <= by.misfit_percent for one in scans]
    cells = [(one["cell_error_ppm"] / one["cell_esd_ppm"]) ** 2 for one in scans if one["cell_esd_ppm"]]
    return rate(sum(claimed), len(scans)) | {
        "significance": [round(value, 2) for value in (min(values), sum(values) / len(values), max(values))],
        "gof": round(sum(one["rwp_percent"] / one["r_expected_percent"] for one in scans) / len(scans), 3),
        "cell_error_over_esd_counting_rms": round((sum(cells) / len(cells)) ** 0.5, 3) if cells else None,
    }


def main() -> int:
    """Measure the scans that have no file yet, then count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=[201, 220])
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "sophron-impurity-power")
    args = parser.parse_args()
    first, last = args.seeds
    measure(args.work, range(first, last + 1), list(SERIES), first)
    found: dict[str, object] = {}
    for name in SERIES:
        files = [path for path in args.work.glob(f"{name}-*.json") if not path.name.endswith("-0.json")]
        scans = [json.loads(path.read_text()) for path in files]
        scans = [one for one in scans if first <= one["seed"] <= last and "significance" in one]
        times = series.series(name).times_s
        by_time = {str(time): row(here) for time in times if (here := [one for one in scans if one["time_s"] == time])}
        found[name] = {"by_time_s": by_time, "together": row(scans)}
    record(
        "impurity_power",
        {
            "simulated": True,
            "engine": {"name": "rietx", "version": VERSION},
            "seeds": args.seeds,
            "level": LEVEL,
            "thresholds": asdict(phase_significance.thresholds()),
            "power": found["ladder"],
            "false_alarms": found["control"],
        },
    )
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
