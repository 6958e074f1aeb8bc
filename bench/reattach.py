"""A driver is killed with 20 jobs on a real Slurm: what the next one does, by dpdispatcher and by `--executor slurm`.

Run as: python bench/reattach.py
"""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from queue_tools import SNAKEFILE, Queue, begin, queue, wait_for
from record import record

COUNT = 20
EXECUTE = re.compile(r"Execute (\d+) jobs")
MOST_S = 10.0
EXECUTORS = {
    "dpdispatcher_array": ["--executor", "dpdispatcher", "--dpdispatcher-batch-type", "SlurmJobArray"],
    "dpdispatcher_single_jobs": ["--executor", "dpdispatcher", "--dpdispatcher-batch-type", "Slurm"],
    "slurm": [
        "--executor",
        "slurm",
        "--slurm-status-command",
        "squeue",
        "--default-resources",
        "slurm_partition=debug",
    ],
}


def dry_run(folder: Path, one: Queue) -> float:
    """Seconds that Snakemake needs to start and to plan the same workflow, whatever the executor."""
    begun = time.perf_counter()
    line = [sys.executable, "-m", "snakemake", "-n", "--nolock", "--rerun-incomplete", "--quiet", "all"]
    subprocess.run(line, cwd=folder, env=one.env, check=True, capture_output=True)
    return time.perf_counter() - begun


def measure(one: Queue, options: list[str]) -> dict[str, object]:
    """Kill a driver when all jobs are with Slurm, start another, and count what Slurm has seen."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "Snakefile").write_text(SNAKEFILE.format(count=COUNT, seconds=1))
        driver = begin(folder, one.env, *options)
        wait_for(lambda: one.waiting() + len(one.completed()) >= COUNT, "all jobs with Slurm", 120)
        driver.kill()
        driver.wait()
        dry_s = min(dry_run(folder, one) for _ in range(2))
        before, left, calls = len(one.completed()), one.waiting(), one.called("sbatch")
        again = begin(folder, one.env, *options)
        log = folder / "driver.log"

        def attached() -> bool:
            text = log.read_text()
            started = EXECUTE.search(text)
            return "jobs taken up" in text or bool(started and one.called("sbatch") - calls >= int(started[1]))

        attach_s = wait_for(attached, "the next driver takes up or submits", 300)
        code = again.wait(timeout=1200)
        runs = (folder / "runs").read_text().split()
        return {
            "queued_or_running_at_the_kill": left,
            "ended_before_the_kill": before,
            "seconds_until_all_are_with_the_next_driver": round(attach_s, 2),
            "seconds_of_a_dry_run_just_before": round(dry_s, 2),
            "submit_calls_of_the_next_driver": one.called("sbatch") - calls,
            "slurm_job_ids_in_all": len(one.completed()) + one.waiting(),
            "steps_run": len(runs),
            "steps_run_twice": len(runs) - len(set(runs)),
            "steps_lost": COUNT - len(list((folder / "made").iterdir())),
            "exit_code": code,
        }


def main() -> int:
    """Measure each in a Slurm of its own, write the record; 1 where dpdispatcher misses its target."""
    result = {}
    for name, options in EXECUTORS.items():
        with queue() as one:
            result[name] = measure(one, options)
        print(name, result[name], flush=True)
    record("reattach", {"jobs": COUNT, "target_s": MOST_S, **result})
    ours = [value for name, value in result.items() if name != "slurm"]
    good = all(
        one["seconds_until_all_are_with_the_next_driver"] < MOST_S
        and one["submit_calls_of_the_next_driver"] == 0
        and one["slurm_job_ids_in_all"] == COUNT
        and (one["steps_run_twice"], one["steps_lost"], one["exit_code"]) == (0, 0, 0)
        for one in ours
    )
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
