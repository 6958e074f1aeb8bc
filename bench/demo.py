"""What the demo reached: viscosity, temperature, wall time, and the share of it in which no stage was computing.

Run `make demo` first, on an otherwise quiet machine; this reads the finished campaign's records.

    python bench/demo.py .demo/lj-liquid-viscosity
"""

import argparse
import json
import sys
from pathlib import Path

from record import record


def computing(root: Path) -> list[tuple[float, float]]:
    """Start and end (seconds since the epoch) of every try of a stage function."""
    spans = []
    for path in root.glob("records/*/*/try.json"):
        note, end = json.loads(path.read_text()), path.stat().st_mtime
        spans.append((end - note["core_seconds"] / note["cores"], end))
    return sorted(spans)


def covered(spans: list[tuple[float, float]]) -> float:
    """Seconds covered by at least one span."""
    total, until = 0.0, 0.0
    for start, end in spans:
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def wall(root: Path) -> tuple[float, float]:
    """First and last moment of the run: Snakemake's log is made when it starts, the report is written last."""
    started = min(path.stat().st_mtime for path in (root / ".snakemake" / "log").glob("*.log"))
    logs = sorted((root / ".snakemake" / "log").glob("*.log"))
    name = logs[-1].name.split(".")
    from datetime import datetime

    begun = datetime.strptime(f"{name[0]}.{name[1]}", "%Y-%m-%dT%H%M%S.%f").astimezone().timestamp()
    return begun, max(started, (root / "results" / "report.html").stat().st_mtime)


def main() -> int:
    """Read, print and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaign", type=Path)
    args = parser.parse_args()
    result = json.loads((args.campaign / "results/green_kubo/outcome.json").read_text())["result"]
    begun, ended = wall(args.campaign)
    stages = covered(computing(args.campaign))
    payload = {
        "viscosity": result["viscosity"],
        "viscosity_standard_error": result["viscosity_standard_error"],
        "relative_error": result["viscosity_relative_error"],
        "degrees_of_freedom": result["degrees_of_freedom"],
        "interval_95": [result["interval_low"], result["interval_high"]],
        "temperature_mean": result["temperature_mean"],
        "temperature_off": abs(result["temperature_mean"] - 0.722),
        "published": [3.2, 3.35],
        "replicas": result["replicas"],
        "wall_s": round(ended - begun, 1),
        "no_stage_computing_s": round(ended - begun - stages, 1),
        "overhead_share_with_snakemake": round(1 - stages / (ended - begun), 4),
    }
    record("demo", payload)
    print(json.dumps(payload, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
