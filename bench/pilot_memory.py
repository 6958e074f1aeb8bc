"""5,000 steps through one pilot: what the driver's memory grows by a step, and whether a step was lost or repeated.

Compared are the peaks of two runs that differ in the number of steps alone, alternating. What Snakemake itself needs
for a job more is measured with the local executor's dry run beside it. Run as: python bench/pilot_memory.py
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from record import record

MOST_KB = 20.0
SNAKEFILE = """
rule all:
    input: expand("out/{i}", i=range(int(config["count"])))
rule one:
    output: "out/{i}"
    shell: "echo >> {output}; echo >> times.{wildcards.i}"
"""
DRIVER = """
import resource, sys
from snakemake.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
    sys.exit(end.code)
"""
PILOT = ("--executor", "parsl", "--jobs", "10000", "--parsl-cores", "2", "--scheduler", "greedy")
PILOT += ("--scheduler-subsample", "200", "--quiet")
WAYS = {"pilot": PILOT, "dry_run": ("--dry-run", "--quiet", "--cores", "2")}


def peak_kb(folder: Path, way: str, count: int) -> int:
    """Peak of the driver's memory in KB; RuntimeError where a step did not run exactly once."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "Snakefile").write_text(SNAKEFILE)
    command = [sys.executable, "-c", DRIVER, *WAYS[way], "--config", f"count={count}"]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    if way == "pilot":
        times = [path.stat().st_size for path in folder.glob("times.*")]
        if len(times) != count or set(times) != {1}:
            raise RuntimeError(f"{len(times)} of {count} steps ran, at most {max(times)} times")
    return int(done.stderr.rpartition("peak ")[2].split()[0])


def main() -> int:
    """Measure, write the record; 1 where a step costs MOST_KB or more."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--base", type=int, default=500)
    args = parser.parse_args()
    grown: dict[str, list[float]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as name:
        for _ in range(args.rounds):
            for way, each in grown.items():
                small, large = (peak_kb(Path(name) / "run", way, count) for count in (args.base, args.steps))
                each.append(round((large - small) / (args.steps - args.base), 2))
    about = {"rounds": args.rounds, "steps": args.steps, "base": args.base, "limit_kb": MOST_KB}
    record("pilot_memory", {**about, "load_average": round(os.getloadavg()[0], 1), "kb_a_step": grown, "lost": 0})
    return int(median(grown["pilot"]) >= MOST_KB)


if __name__ == "__main__":
    sys.exit(main())
