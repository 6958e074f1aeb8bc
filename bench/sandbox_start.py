"""What a sandbox costs to start and to end: /bin/true in it against /bin/true without, alternating.

Run as: python bench/sandbox_start.py --rounds 100
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

from record import record

from sophron.interfaces.sandbox import Grant
from sophron.sandbox.bubblewrap import Bubblewrap

MOST_MS = 100


def taken(call: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU milliseconds of one call, its child processes included."""
    wall, cpu = time.perf_counter(), sum(os.times()[:4])
    call()
    return 1000 * (time.perf_counter() - wall), 1000 * (sum(os.times()[:4]) - cpu)


def summary(times: list[tuple[float, float]]) -> dict[str, float]:
    """Median and nine-tenths of the wall times, mean of the CPU times (the clock counts them in 10 ms)."""
    wall = [one[0] for one in times]
    cpu = sum(one[1] for one in times) / len(times)
    return {"median_ms": round(median(wall), 2), "p90_ms": round(quantiles(wall, n=10)[-1], 2), "cpu_ms": round(cpu, 2)}


def main() -> int:
    """Measure, write the record; 1 where the median start costs over MOST_MS."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    args = parser.parse_args()
    backend = Bubblewrap()
    if missing := backend.missing():
        sys.exit(missing)
    with tempfile.TemporaryDirectory() as folder:
        (work := Path(folder) / "work").mkdir()
        out, err = Path(folder) / "out", Path(folder) / "err"
        limits = {"cpu_s": 60, "memory_mb": 1000, "file_mb": 100, "processes": 50, "wall_s": 60.0}
        ways = {
            "bare": lambda: subprocess.run(["/bin/true"], check=True),
            "sandbox": lambda: backend.run(["/bin/true"], Grant(work), stdout=out, stderr=err),
            "sandbox_with_limits": lambda: backend.run(["/bin/true"], Grant(work, **limits), stdout=out, stderr=err),
        }
        times = {name: [] for name in ways}
        for _ in range(args.rounds):
            for name, call in ways.items():
                times[name].append(taken(call))
    result = {name: summary(one) for name, one in times.items()}
    record("sandbox_start", {"rounds": args.rounds, **result})
    return 0 if result["sandbox"]["median_ms"] < MOST_MS else 1


if __name__ == "__main__":
    sys.exit(main())
