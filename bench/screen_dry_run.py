"""What a dry run of a screen costs against a plain Snakefile with as many jobs: CPU time, and memory at most.

The plain one has as many jobs with as many outputs and logs, and the same inputs between the steps of a guest. It has
no gate, no verdicts that steps wait for, no digests, and no resources. Both take turns, and the median ratio counts,
for one pair scatters by some 5 %.

python bench/screen_dry_run.py --guests 10000 --rounds 3
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kills import SNAKEFILE
from record import record
from ruamel.yaml import YAML

from sophron.debate.pipelines.pipeline import Pipeline
from sophron.debate.screening import screen_campaign
from sophron.records.documents import load_yaml
from sophron.science.host_guest.pipelines import reference_pipelines

LIMIT = 1.3
WINDOWS = 2
PLAIN = """\
GUESTS = [f"g{{number}}" for number in range({guests})]
WINDOWS = list(range({windows}))

rule all:
    input: expand("rank/{{part}}", part=range(1)), expand("service/{{number}}", number=range({services}))

rule service:
    output: "service/{{number}}"
    log: "logs/service/{{number}}.log"
    shell: "touch {{output}}"

rule tasks:
    output: "tasks/{{guest}}/a", "tasks/{{guest}}/b"
    log: "logs/tasks/{{guest}}.log"
    shell: "touch {{output}}"

rule prepare:
    input: "tasks/{{guest}}/a"
    output: "prepare/{{guest}}/a", "prepare/{{guest}}/b", "prepare/{{guest}}/c"
    log: "logs/prepare/{{guest}}.log"
    shell: "touch {{output}}"

rule equilibrate:
    input: "tasks/{{guest}}/a", "prepare/{{guest}}/a"
    output: "equilibrate/{{guest}}/a", "equilibrate/{{guest}}/b", "equilibrate/{{guest}}/c"
    log: "logs/equilibrate/{{guest}}.log"
    shell: "touch {{output}}"

rule produce:
    input: "tasks/{{guest}}/a", "prepare/{{guest}}/a", "equilibrate/{{guest}}/a"
    output: "produce/{{guest}}/{{window}}/a", "produce/{{guest}}/{{window}}/b", "produce/{{guest}}/{{window}}/c"
    log: "logs/produce/{{guest}}-{{window}}.log"
    shell: "touch {{output}}"

rule analyse:
    input:
        "tasks/{{guest}}/a", "prepare/{{guest}}/a", "equilibrate/{{guest}}/a",
        expand("produce/{{{{guest}}}}/{{window}}/a", window=WINDOWS)
    output: "analyse/{{guest}}/a", "analyse/{{guest}}/b", "analyse/{{guest}}/c"
    log: "logs/analyse/{{guest}}.log"
    shell: "touch {{output}}"

rule rank:
    input: expand("analyse/{{guest}}/a", guest=GUESTS)
    output: "rank/{{part}}"
    log: "logs/rank/{{part}}.log"
    shell: "touch {{output}}"
"""


def cost(folder: Path) -> dict[str, float]:
    """CPU seconds and MB of one dry run, and the jobs that it shows."""
    command = [sys.executable, "-m", "snakemake", "-n", "--quiet", "rules", "-c", "1"]
    script = "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], capture_output=True, text=True);"
    script += "used = resource.getrusage(resource.RUSAGE_CHILDREN);"
    script += "print(done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024);"
    script += "print((done.stdout + done.stderr).split('total')[1].split()[0])"
    said = subprocess.run(
        [sys.executable, "-c", script, *command], cwd=folder, capture_output=True, text=True, check=True
    )
    first, jobs = said.stdout.splitlines()
    code, cpu_s, memory_mb = first.split()
    if int(code):
        raise RuntimeError(f"the dry run in {folder} failed")
    return {"cpu_s": round(float(cpu_s), 2), "memory_mb": round(float(memory_mb)), "jobs": int(jobs)}


def _turn(number: int, **folders: Path) -> Iterator[tuple[str, dict[str, float]]]:
    """The cost of both; who is first changes."""
    names = sorted(folders, reverse=number % 2 == 0)
    yield from ((name, cost(folders[name])) for name in names)


def main() -> int:
    """Measure both, and record; 1 where the screen costs more than the limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--guests", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    names = [f"g{number}" for number in range(args.guests)]
    settings = {"sigma_a": 3.4, "temperature_k": 298.15, "epsilon_kcal_per_mol": dict.fromkeys(names, 1.0)}
    library = {"system": "dimers", "guests": names, "settings": settings}
    origin = load_yaml(Path(__file__).parent / "trials.campaign.yaml").data
    pipeline = Pipeline.parse(reference_pipelines.lj_dimer().replace("windows=12", f"windows={WINDOWS}"))
    with tempfile.TemporaryDirectory() as name:
        screen, plain = Path(name) / "screen", Path(name) / "plain"
        for folder in (screen, plain):
            folder.mkdir()
        os.environ["XDG_CONFIG_HOME"], os.environ["XDG_STATE_HOME"] = f"{name}/config", f"{name}/state"
        with (screen / "campaign.yaml").open("w") as stream:
            YAML().dump(screen_campaign.draft(pipeline, library, origin), stream)
        (screen / "Snakefile").write_text(SNAKEFILE)
        services = cost(screen)["jobs"] - args.guests * (4 + WINDOWS) - 2
        (plain / "Snakefile").write_text(PLAIN.format(guests=args.guests, windows=WINDOWS, services=services))
        pairs = [dict(_turn(number, screen=screen, plain=plain)) for number in range(args.rounds)]
    ratios = [round(pair["screen"]["cpu_s"] / pair["plain"]["cpu_s"], 3) for pair in pairs]
    ratio = statistics.median(ratios)
    payload = {
        "guests": args.guests,
        "windows": WINDOWS,
        "rounds": pairs,
        "ratios": ratios,
        "ratio": ratio,
        "limit": LIMIT,
    }
    record("screen_dry_run", payload)
    print(payload)
    return int(ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
