"""What the loop of a task costs itself, against a plain Snakemake chain of as many jobs.

The worker answers at once, so that what is measured is rules, checkpoints and steps. Compared are wall and CPU seconds
of Snakemake with its jobs, less what the steps themselves took, and the same of a chain of jobs that do nothing.
Run as: python bench/task_loop.py [ROUNDS]
"""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
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


def measured(folder: Path) -> tuple[float, float]:
    """Run Snakemake in a folder; wall and CPU seconds of it and its jobs."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([sys.executable, "-P", "-m", *WORDS, "--cores", "1", "--keep-going"], cwd=folder, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - begun, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def own_seconds(made: toy.Campaign) -> float:
    """Wall seconds inside the steps of a campaign: functions of steps, and conversations."""
    told = made.events("step_ended", "agent_answered")
    return sum(one.get("wall_s") or one.get("measured", {}).get("wall_s", 0.0) for one in told)


def main() -> int:
    """Measure both, write the record."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    os.environ["ANTHROPIC_API_KEY"] = "loopback-no-real-key"
    with TemporaryDirectory() as place, serve_anthropic(Script(hard=[Turn(DONE)] * rounds)) as peer:
        os.environ["ANTHROPIC_BASE_URL"] = peer.url
        folder = Path(place)
        markdown(folder / "tasks", "hard", ["sum.json exists"])
        made = scripted_worker.campaign(folder, pytest.MonkeyPatch(), folder / "tasks", rounds=rounds)
        wall_s, cpu_s = measured(made.root)
        jobs, own_s = 3 * rounds + 4, own_seconds(made)  # pre-scan, rounds, the task, its verdict, acceptance
        (chain := folder / "chain").mkdir()
        (chain / "Snakefile").write_text(CHAIN.format(jobs=jobs))
        plain_wall_s, plain_cpu_s = measured(chain)
    result = {
        "rounds": rounds, "jobs": jobs, "loop": {"wall_s": wall_s, "cpu_s": cpu_s, "own_s": own_s},
        "chain": {"wall_s": plain_wall_s, "cpu_s": plain_cpu_s}, "ratio": (wall_s - own_s) / plain_wall_s,
    }  # fmt: skip
    print(result)
    record("task_loop", result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
