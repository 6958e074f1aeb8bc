"""What the loop of a task costs itself, against a plain Snakemake chain of as many jobs.

The worker answers at once, so that what is measured is rules, checkpoints and steps. Two plain chains of as many jobs
stand beside, run before and after, since the machine's load changes. The jobs of one do nothing. Those of the other do
what those of the loop do, as a person would write them: a script asks the model by its client, one looks for the file
in a sandbox, one adds to a history. The loop's own wall seconds, without those inside its steps, are held against the
first; its CPU seconds, all processes and the work counted, against the second.
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
WORK = """
rule all:
    default_target: True
    input:
        "conclude/{rounds}.txt",


rule ask:
    input:
        lambda wildcards: [] if wildcards.number == "1" else f"conclude/{{int(wildcards.number) - 1}}.txt",
    output:
        "ask/{{number}}.txt",
    shell:
        "{python} ask.py {{output}}"


rule check:
    input:
        "ask/{{number}}.txt",
    output:
        "check/{{number}}.txt",
    shell:
        "{python} check.py {{output}}"


rule conclude:
    input:
        "check/{{number}}.txt",
    output:
        "conclude/{{number}}.txt",
    shell:
        "{python} conclude.py {{input}} {{output}}"
"""
SCRIPTS = {
    "ask.py": """import sys
from pathlib import Path

import anthropic

asked = [{"role": "user", "content": [{"type": "text", "text": "Marker hard."}]}]
said = anthropic.Anthropic().messages.create(model="claude-opus-5-5", max_tokens=1000, system="Do it.", messages=asked)
Path(sys.argv[1]).write_text(said.content[0].text)
""",
    "check.py": """import subprocess
import sys
from pathlib import Path

box = ["bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin"]
box += ["--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--bind", ".", "/app", "--chdir", "/app"]
Path(sys.argv[1]).write_text(str(subprocess.run([*box, "test", "-f", "sum.json"]).returncode))
""",
    "conclude.py": """import json
import sys
from pathlib import Path

history = Path("history.json")
tried = json.loads(history.read_text()) if history.exists() else []
history.write_text(json.dumps([*tried, Path(sys.argv[1]).read_text()]))
Path(sys.argv[2]).write_text("failed")
""",
}
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


def plain_chains(folder: Path, rounds: int, jobs: int) -> dict[str, dict[str, float]]:
    """Run both plain chains in new folders."""
    (empty := folder / "empty").mkdir(parents=True)
    (empty / "Snakefile").write_text(CHAIN.format(jobs=jobs))
    (work := folder / "work").mkdir()
    (work / "Snakefile").write_text(WORK.format(rounds=rounds, python=sys.executable))
    for name, text in SCRIPTS.items():
        (work / name).write_text(text)
    found = {"empty": measured(empty), "same_work": measured(work)}
    if not (work / "conclude" / f"{rounds}.txt").exists():
        raise SystemExit(f"{work}: the plain chain did not come to its end")
    return found


def own_seconds(made: toy.Campaign) -> float:
    """Wall seconds inside the steps of a campaign: functions of steps, and conversations."""
    told = made.events("step_ended", "agent_answered")
    return sum(one.get("wall_s") or one.get("measured", {}).get("wall_s", 0.0) for one in told)


def main() -> int:
    """Measure both, write the record; 1 if the loop costs more than MOST chains."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    adopt_orphans()
    os.environ["ANTHROPIC_API_KEY"] = "loopback-no-real-key"
    with TemporaryDirectory() as place, serve_anthropic(Script(hard=[Turn(DONE)] * 9 * rounds)) as peer:
        os.environ["ANTHROPIC_BASE_URL"] = peer.url
        folder = Path(place)
        markdown(folder / "tasks", "hard", ["sum.json exists"])
        made = scripted_worker.campaign(folder, pytest.MonkeyPatch(), folder / "tasks", rounds=rounds)
        jobs = 3 * rounds + 4  # pre-scan, rounds, the task, its verdict, acceptance
        before = plain_chains(folder / "before", rounds, jobs)
        loop = measured(made.root)
        chains = [before, plain_chains(folder / "after", rounds, jobs)]
        own_s = round(own_seconds(made), 1)
    to_empty = (loop["wall_s"] - own_s) / mean(one["empty"]["wall_s"] for one in chains)
    to_work = loop["cpu_s"] / mean(one["same_work"]["cpu_s"] for one in chains)
    ratios = {"own_wall_to_empty_jobs": round(to_empty, 2), "cpu_to_same_work": round(to_work, 2)}
    about = {"rounds": rounds, "jobs": jobs, "most": MOST, "ratios": ratios}
    result = {**about, "own_s": own_s, "loop": loop, "chains": chains}
    print(result)
    record("task_loop", result)
    return int(max(ratios.values()) > MOST)


if __name__ == "__main__":
    sys.exit(main())
