"""What `sophron --help` costs in CPU time, beside the start of Python itself, alternating.

Run as: python bench/help_cost.py --rounds 20
"""

import argparse
import resource
import subprocess
import sys
from statistics import median

from record import record

MOST_CPU_S = 0.15
PROGRAM = "import sys; from sophron.cli import main; sys.exit(main())"
WAYS = {"help": [sys.executable, "-c", PROGRAM, "--help"], "python": [sys.executable, "-c", "pass"]}


def cpu_s(command: list[str]) -> float:
    """CPU seconds of one run, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Measure, write the record; 1 where the median costs MOST_CPU_S or more."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    times: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(args.rounds):
        for name, command in WAYS.items():
            times[name].append(cpu_s(command))
    result = {
        name: {"median_cpu_s": round(median(one), 4), "max_cpu_s": round(max(one), 4)} for name, one in times.items()
    }
    record("help_cost", {"rounds": args.rounds, "limit_cpu_s": MOST_CPU_S, **result})
    return 0 if result["help"]["median_cpu_s"] < MOST_CPU_S else 1


if __name__ == "__main__":
    sys.exit(main())
