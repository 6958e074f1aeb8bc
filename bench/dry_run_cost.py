"""What Sophron's rules add to a dry run of 10,000 jobs: CPU against plain rules with the same files, alternating.

Run as: python bench/dry_run_cost.py --rounds 3
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from large_campaign import REPLICAS, steps, unsigned
from record import record

PLAIN = Path(__file__).parent / "dry_run_cost.smk"
MOST_RATIO = 1.3
CHECKED = 10
TOTAL = re.compile(r"^total\s+(\d+)$", re.MULTILINE)


def dry_run(root: Path, replicas: int, *, plain: bool, quiet: str) -> str:
    """What a dry run of the campaign says, or of as many plain rules beside it."""
    command = [sys.executable, "-m", "snakemake", "-n", "--cores", "1"]
    command += ["--snakefile", str(PLAIN), "--config", f"replicas={replicas}"] if plain else []
    done = subprocess.run([*command, *quiet.split()], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def jobs(root: Path, replicas: int, *, plain: bool) -> int:
    """Number of jobs, the target rule included."""
    found = TOTAL.search(dry_run(root, replicas, plain=plain, quiet="--quiet rules"))
    if found is None:
        raise RuntimeError("the dry run does not say how many jobs there are")
    return int(found[1])


def cpu_s(root: Path, *, plain: bool) -> float:
    """CPU seconds of a dry run."""
    before = sum(os.times()[2:4])
    dry_run(root, REPLICAS, plain=plain, quiet="--quiet")
    return round(sum(os.times()[2:4]) - before, 2)


def main() -> int:
    """Measure, write the record; 1 where Sophron's rules cost over MOST_RATIO times the plain ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        small = unsigned(Path(folder) / "small", CHECKED)
        counted = {jobs(small, CHECKED, plain=plain) for plain in (False, True)}
        if counted != {steps(CHECKED) + 1}:
            raise RuntimeError(f"the two workflows have {counted} jobs, not {steps(CHECKED) + 1}")
        root = unsigned(Path(folder) / "large", REPLICAS)
        times: dict[str, list[float]] = {"sophron": [], "plain": []}
        for _ in range(args.rounds):
            for name, each in times.items():
                each.append(cpu_s(root, plain=name == "plain"))
    ratio = round(median(times["sophron"]) / median(times["plain"]), 3)
    about = {"rounds": args.rounds, "jobs": steps(REPLICAS) + 1, "load_average": round(os.getloadavg()[0], 1)}
    record("dry_run_cost", {**about, "cpu_s": times, "ratio": ratio, "target_ratio": MOST_RATIO})
    return int(ratio > MOST_RATIO)


if __name__ == "__main__":
    sys.exit(main())
