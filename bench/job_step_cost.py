"""CPU seconds of Snakemake's own job step for one trivial step: a new process, and a fork of the warm server.

Run as: python bench/job_step_cost.py --rounds 10
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from record import record

from sophron.warm_workers import worker
from sophron.warm_workers.job_message import Ended, Order

MOST_CPU_S = 0.15
SNAKEFILE = "rule one:\n    output: '{name}.txt'\n    benchmark: '{name}.tsv'\n    shell: 'echo > {output}'\n"
STEP = "--target-jobs one:name={name} --allowed-rules one --cores 1 --force --nolock --nocolor --no-hooks --mode remote"
STEP += " --force-use-threads --scheduler greedy --ignore-incomplete --target-files-omit-workdir-adjustment"


def cold_cpu_s(folder: Path, name: str) -> float:
    """A nested Snakemake as other executors start it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "snakemake", *STEP.format(name=name).split()]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def warm_cpu_s(folder: Path, name: str) -> float:
    """The same step, forked; the first one of a server pays its imports."""
    order = Order(str(folder), str(folder / "lease"), str(folder / "log"), argv=STEP.format(name=name).split())
    ended = Ended.read(worker.run(order.text()))
    if ended.failed:
        raise RuntimeError((folder / "log").read_text())
    return ended.cpu_s


def main() -> int:
    """Measure, write the record; 1 where a warm step costs over MOST_CPU_S."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    times: dict[str, list[float]] = {"cold": [], "warm": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "Snakefile").write_text(SNAKEFILE)
        (folder / "lease").touch()
        first = warm_cpu_s(folder, "first")
        for number in range(args.rounds):
            times["cold"].append(round(cold_cpu_s(folder, f"c{number}"), 3))
            times["warm"].append(round(warm_cpu_s(folder, f"w{number}"), 3))
        worker.close()
    result = {way: {"median_cpu_s": round(median(each), 3), "cpu_s": each} for way, each in times.items()}
    about = {"rounds": args.rounds, "limit_cpu_s": MOST_CPU_S, "load_average": round(os.getloadavg()[0], 1)}
    ratio = round(median(times["cold"]) / median(times["warm"]), 1)
    record("job_step_cost", {**about, "first_fork_cpu_s": first, "cold_over_warm": ratio, **result})
    return int(result["warm"]["median_cpu_s"] > MOST_CPU_S)


if __name__ == "__main__":
    sys.exit(main())
