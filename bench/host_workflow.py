"""What the gate of a host workflow costs: a planning pass over a plain dry run, and the check in a job process.

Run as: python bench/host_workflow.py --jobs 10000 --rounds 3
Runs alternate, so that a busy machine slows both; what is compared is CPU seconds.
"""

import argparse
import contextlib
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from record import record

from sophron.campaign.approval import approve
from sophron.campaign.execution import campaign_lock
from sophron.campaign.planning.host_plan import PLAN_VARIABLE
from sophron.campaign.scaffold import adopt

MOST_RATIO, MOST_CHECK_S = 1.3, 0.1
JOB_PAIRS = 5
"""Pairs of job processes a round: one alone varies by more than what is measured."""
SNAKEFILE = """\
configfile: "config.yaml"


rule all:
    input:
        expand("out/{{i}}.c", i=range({count})),


rule shell:
    input:
        "data/{{n}}.txt".format(n=0),
    output:
        "out/{{i}}.a",
    params:
        word=lambda wildcards: config["word"] + wildcards.i,
    shell:
        "echo {{params.word}} {{config[word]}} > {{output}}"


rule script:
    input:
        "out/{{i}}.a",
    output:
        "out/{{i}}.b",
    script:
        "script.py"


rule run:
    input:
        "out/{{i}}.b",
    output:
        "out/{{i}}.c",
    run:
        open(output[0], "w").write(config["word"])
"""
STAGE = """\
  made:
    depends_on: []
    definition: {rules: [run], results: {}}
    criteria: []
    mechanical: {ranks: 1, threads: 1, accelerator: none, memory_mb: 500, runtime_min: 5, retries: 2, choices: {},
      ceilings: {cores: 1, memory_mb: 2000, runtime_min: 10}}
"""
JOB = [
    "--target-jobs",
    "shell:i=1",
    "--allowed-rules",
    "shell",
    "--mode",
    "remote",
    "--no-hooks",
    "--force",
    "--nolock",
]
BASICS = ["--cores", "1", "--nocolor", "--quiet", "all", "--nolock"]


def cpu_s(folder: Path, snakefile: str, *words: str, **variables: str) -> float:
    """CPU seconds of a Snakemake process that must end well."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "snakemake", "-s", snakefile, *BASICS, *words]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env={**os.environ, **variables})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 3)


def prepare(folder: Path, jobs: int) -> None:
    """Write a workflow of about so many jobs, once as it is and once gated, and sign it."""
    (folder / "data").mkdir()
    (folder / "data" / "0.txt").write_text("x\n")
    (folder / "config.yaml").write_text("word: w\n")
    (folder / "script.py").write_text('open(snakemake.output[0], "w").write("s")\n')
    (folder / "Plain.smk").write_text(SNAKEFILE.format(count=jobs // 3))
    (folder / "Snakefile").write_text(SNAKEFILE.format(count=jobs // 3))
    os.environ |= {
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "SOPHRON_CONFIG": str(folder / "config"),
    }
    adopt.adopt(folder, None, [], write=True, outer=False)
    spec = folder / "campaign" / "campaign.yaml"
    text = spec.read_text().replace("UNVERIFIED", "verified")
    spec.write_text(text[: text.index("  outputs:\n")] + STAGE)
    key = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    with campaign_lock.signing(folder / "campaign"):
        approve.sign(approve.propose(folder / "campaign", probe=lambda _: []), key, "bench")


def main() -> int:
    """Measure, write the record; 1 if a limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    times: dict[str, list[float]] = {"plain": [], "planning": [], "job plain": [], "job gated": []}
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        folder = Path(name)
        prepare(folder, args.jobs)
        for _ in range(args.rounds):
            times["plain"].append(cpu_s(folder, "Plain.smk", "--dry-run", "--forceall"))
            plan = str(folder / "plan.json")
            times["planning"].append(cpu_s(folder, "Snakefile", "--dry-run", "--forceall", **{PLAN_VARIABLE: plan}))
            for _ in range(JOB_PAIRS):
                times["job plain"].append(cpu_s(folder, "Plain.smk", *JOB))
                times["job gated"].append(cpu_s(folder, "Snakefile", *JOB))
    ratio = median(b / a for a, b in zip(times["plain"], times["planning"], strict=True))
    check = median(b - a for a, b in zip(times["job plain"], times["job gated"], strict=True))
    about = {"jobs": args.jobs, "rounds": args.rounds, "load_average": round(os.getloadavg()[0], 1)}
    result = {"planning_over_plain": round(ratio, 3), "job_process_adds_cpu_s": round(check, 3), "cpu_s": times}
    record("host_workflow", {**about, "limits": [MOST_RATIO, MOST_CHECK_S], **result})
    return int(ratio > MOST_RATIO or check > MOST_CHECK_S)


if __name__ == "__main__":
    sys.exit(main())
