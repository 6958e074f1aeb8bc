"""What the loop of a task costs itself, against a plain Snakemake chain of as many jobs.

The worker answers at once, so that what is measured is rules, checkpoints and steps. Compared are wall seconds of
Snakemake with its jobs, less those that the steps themselves took, and the wall seconds of a chain of jobs that do
nothing, run once before and once after, since the machine's load changes. CPU seconds of all processes, work of the
steps included, stand beside.
Run as: python bench/task_loop.py [ROUNDS]
"""

import ctypes
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

import pytest
from record import record

TOP = Path(__file__).parents[1]
sys.path[:0] = [str(TOP / "tests" / "toy"), str(TOP / "tests" / "agents" / "loopback")]

import scripted_worker  # noqa: E402
import toy  # noqa: E402
from loopback_anthropic import serve_anthropic  # noqa: E402
from scripted_worker import DONE, Script, Turn, markdown  # noqa: E402

CHAIN = """
rule all:
    default_target: True
    input:
        "{jobs}.txt",


rule link:
    input:
        lambda wildcards: [] if int(wildcards.place) == 1 else f"{{int(wildcards.place) - 1}}.txt",
    output:
        "{{place}}.txt",
    shell:
        "touch {{output}}"
"""
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
MOST = 1.5
WORDS = (
    "snakemake",
    "--profile",
    "none",
    "--workflow-profile",
    "none",
    "--executor",
    "local",
    "--nolock",
    "--quiet",
    "all",
)


def measured(folder: Path) -> dict[str, float]:
    """Run Snakemake in a folder; wall seconds, and CPU seconds of it and all that it started."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([sys.executable, "-P", "-m", *WORDS, "--cores", "1", "--keep-going"], cwd=folder, check=False)
    wall_s = time.monotonic() - begun
    reap_orphans()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall_s": round(wall_s, 1), "cpu_s": round(cpu_s, 1), "load": round(os.getloadavg()[0], 1)}


def adopt_orphans() -> None:
    """Become the parent of processes whose own one ends, such as the fork server, so that their CPU time is counted."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans() -> None:
    """Wait for all of them."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def chain_of(folder: Path, jobs: int) -> dict[str, float]:
    """Run a plain chain of jobs in a new folder."""
    folder.mkdir()
    (folder / "Snakefile").write_text(CHAIN.format(jobs=jobs))
    return measured(folder)


def own_seconds(made: toy.Campaign) -> float:
    """Wall seconds inside the steps of a campaign: functions of steps, and conversations."""
    told = made.events("step_ended", "agent_answered")
    return sum(one.get("wall_s") or one.get("measured", {}).get("wall_s", 0.0) for one in told)


def main() -> int:
    """Measure both, write the record; 1 if the loop costs more than MOST chains."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    adopt_orphans()
    os.environ["ANTHROPIC_API_KEY"] = "loopback-no-real-key"
    with TemporaryDirectory() as place, serve_anthropic(Script(hard=[Turn(DONE)] * rounds)) as peer:
        os.environ["ANTHROPIC_BASE_URL"] = peer.url
        folder = Path(place)
        markdown(folder / "tasks", "hard", ["sum.json exists"])
        made = scripted_worker.campaign(folder, pytest.MonkeyPatch(), folder / "tasks", rounds=rounds)
        jobs = 3 * rounds + 4  # pre-scan, rounds, the task, its verdict, acceptance
        before = chain_of(folder / "before", jobs)
        loop = measured(made.root)
        chains = [before, chain_of(folder / "after", jobs)]
        own_s = round(own_seconds(made), 1)
    ratio = round((loop["wall_s"] - own_s) / mean(one["wall_s"] for one in chains), 2)
    about = {"rounds": rounds, "jobs": jobs, "most": MOST, "ratio": ratio}
    result = {**about, "own_s": own_s, "loop": loop, "chains": chains}
    print(result)
    record("task_loop", result)
    return int(ratio > MOST)


if __name__ == "__main__":
    sys.exit(main())
