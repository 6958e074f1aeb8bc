"""Steps a second through a Parsl pilot in a block of a real Slurm, beside Snakemake's local and Slurm executors.

1,000 trivial shell steps, start-up included, alternating; steps that need Snakemake's own job step (--job-steps) and
the Slurm plugin (--few) are measured on fewer, and the record says on how many. Starts a private Slurm; needs root,
slurm-wlm and munge. For a quiet machine. Run as: python bench/pilot_throughput.py --rounds 3
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from record import record

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "queues"))
import private_slurm

SNAKEFILE = """
rule all:
    input: expand("out/{i}", i=range(int(config["count"])))
rule one:
    output: touch("out/{i}")
    resources: mem_mb=500, runtime=5
    shell: "true"
"""
PROFILE = ("--scheduler", "greedy", "--scheduler-subsample", "200")
PILOT = ("--executor", "parsl", "--jobs", "10000", "--parsl-provider", "slurm", "--parsl-cores", "2")
PILOT += ("--parsl-address", "127.0.0.1")
WAYS = {
    "pilot": (*PILOT, *PROFILE),
    "local": ("--cores", "2"),
    "local_greedy": ("--cores", "2", *PROFILE),
    "pilot_job_step": (*PILOT, *PROFILE, "--parsl-job-step"),
    "slurm_plugin": ("--executor", "slurm", "--jobs", "100", "--slurm-status-command", "squeue", *PROFILE),
}
WANTED = {("pilot", "local"): 2, ("pilot", "slurm_plugin"): 150, ("pilot_job_step", "slurm_plugin"): 10}


def steps_a_s(folder: Path, way: str, count: int, environment: dict[str, str]) -> float:
    """Steps a second of one run from nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "Snakefile").write_text(SNAKEFILE)
    command = [sys.executable, "-m", "snakemake", *WAYS[way], "--quiet", "--config", f"count={count}"]
    begun = time.monotonic()
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    took = time.monotonic() - begun
    if len(list((folder / "out").iterdir())) != count:
        raise RuntimeError(f"{way}: steps are missing")
    return count / took


def main() -> int:
    """Measure, write the record; 1 where a ratio is below what is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--job-steps", type=int, default=300)
    parser.add_argument("--few", type=int, default=20)
    args = parser.parse_args()
    counts = dict.fromkeys(WAYS, args.steps) | {"pilot_job_step": args.job_steps, "slurm_plugin": args.few}
    rates: dict[str, list[float]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as name:
        slurm = Path(name) / "slurm"
        found = private_slurm.start(slurm)
        environment = {**os.environ, **found, "OMP_NUM_THREADS": "1"}
        try:
            for _ in range(args.rounds):
                for way, each in rates.items():
                    each.append(round(steps_a_s(Path(name) / "run", way, counts[way], environment), 3))
        finally:
            private_slurm.stop(slurm)
    ratios = {f"{a}/{b}": round(median(rates[a]) / median(rates[b]), 2) for a, b in WANTED}
    ratios["pilot/local_greedy"] = round(median(rates["pilot"]) / median(rates["local_greedy"]), 2)
    wanted = {f"{a}/{b}": least for (a, b), least in WANTED.items()}
    about = {"rounds": args.rounds, "steps": counts, "load_average": round(os.getloadavg()[0], 1)}
    record("pilot_throughput", {**about, "steps_a_s": rates, "ratios": ratios, "wanted": wanted})
    return int(any(ratios[name] < least for name, least in wanted.items()))


if __name__ == "__main__":
    sys.exit(main())
