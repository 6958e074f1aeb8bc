"""Workflows for executors that share the file system, and how they are run: real Snakemake in a process of its own."""

import os
import subprocess
import sys
import time
from pathlib import Path

# Rules of every sort. Those in DIRECT are plain shell lines; each writes whether its shell leads a session, which it
# does where a worker ran it directly, and not inside Snakemake's own job step.
EVERY_SORT = """
envvars: "DECLARED"
LEADS = "$(ps -o sid= -p $$ | tr -d ' ' | grep -qx $$ && echo direct || echo step)"
rule all:
    input: expand("sum/{i}", i=range(2)), "dir.txt", "touched", "bench.txt", "group2/a", "chk.txt", "script.txt", "retried", "prot", "ensured", "run.txt", "shadowed", "named"
rule plain:
    output: temp("plain/{i}")
    log: "logs/plain/{i}.log"
    params: x="it's {i}", l=[1, "b c"]
    threads: 2
    resources: mem_mb=100, runtime=5
    shell: "pwd > {output}; echo {wildcards.i} {params.x:q} {params.l} {threads} $OMP_NUM_THREADS {resources.mem_mb} {rule} >> {output}; echo log > {log}; echo $DECLARED ${{SECRET_KEY:-none}} >> {output}; echo $(ps -o sid= -p $$) $$ > way.plain"
rule summed:
    input: "plain/{i}"
    output: "sum/{i}"
    shell: "cat {input} > {output}; echo $(ps -o sid= -p $$) $$ > way.summed"
rule dir:
    output: directory("d")
    shell: "mkdir -p {output}/x; echo 1 > {output}/x/1; echo $(ps -o sid= -p $$) $$ > way.dir"
rule dirsum:
    input: "d"
    output: "dir.txt"
    shell: "find {input} | sort > {output}"
rule touched:
    output: touch("touched")
    shell: "echo $(ps -o sid= -p $$) $$ > way.touched"
rule bench:
    output: "bench.txt"
    benchmark: "bench.tsv"
    shell: "echo > {output}; echo $(ps -o sid= -p $$) $$ > way.bench"
rule g1:
    output: temp("group1/{x}")
    group: "g"
    shell: "echo {wildcards.x} > {output}; echo $(ps -o sid= -p $$) $$ > way.g1"
rule g2:
    input: "group1/{x}"
    output: "group2/{x}"
    group: "g"
    shell: "cat {input} > {output}"
checkpoint chk:
    output: directory("c")
    shell: "mkdir -p c; touch c/1 c/2"
def chks(wildcards):
    checkpoints.chk.get()
    return expand("c2/{n}", n=glob_wildcards("c/{n}").n)
rule c2:
    input: "c/{n}"
    output: "c2/{n}"
    shell: "echo {wildcards.n} > {output}"
rule chkall:
    input: chks
    output: "chk.txt"
    shell: "cat {input} > {output}"
rule script:
    output: "script.txt"
    params: n=3
    script: "script.py"
rule retried:
    output: "retried"
    retries: 1
    resources: mem_mb=lambda wildcards, attempt: attempt * 100
    shell: "echo {resources.mem_mb} >> tries; test {resources.mem_mb} -ge 200; touch {output}"
rule prot:
    output: protected("prot")
    shell: "echo 1 > {output}"
rule ensured:
    output: ensure("ensured", non_empty=True)
    shell: "echo 1 > {output}"
rule run:
    output: "run.txt"
    run:
        with open(output[0], "w") as out:
            out.write(f"{threads}\\n")
rule shadowed:
    output: "shadowed"
    shadow: "minimal"
    shell: "echo 1 > litter; echo 1 > {output}"
rule named:
    output: "named"
    params: where=lambda wildcards: "here"
    shell: "echo {params.where} {LEADS} > /dev/null; echo {params.where} > {output}; echo $(ps -o sid= -p $$) $$ > way.named"
"""
SCRIPT = "with open(snakemake.output[0], 'w') as out:\n    out.write(f'{snakemake.params.n}\\n')\n"
DIRECT = {"plain", "summed", "dir", "touched"}
STEPS = {"bench", "g1", "named"}  # `named` uses a global variable of the Snakefile
PATIENCE_S = 900  # for what a busy machine may take; how long it took is no part of a test
SLEEP = "rule one:\n    output: 'done'\n    shell: 'echo $$ >> pids; sleep {seconds}; touch {{output}}'\n"


def write(folder: Path, snakefile: str) -> Path:
    """A workflow in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Snakefile").write_text(snakefile)
    (folder / "script.py").write_text(SCRIPT)
    return folder


def environment(**more: str) -> dict[str, str]:
    """Surroundings of a driver: with a secret and a declared variable."""
    return {**os.environ, "SECRET_KEY": "hush-hush", "DECLARED": "said", "OMP_NUM_THREADS": "1", **more}


def command(*words: str) -> list[str]:
    """A Snakemake of this interpreter, in the way of our profiles."""
    return [sys.executable, "-m", "snakemake", "--scheduler", "greedy", "--latency-wait", "3", *words]


def start(folder: Path, *words: str, **more: str) -> subprocess.Popen[bytes]:
    """Snakemake in the background, in a process group of its own; what it says goes to `said`."""
    with (folder / "said").open("ab") as said:
        # Whoever runs the tests in the background ignores SIGINT, and so would all that they start.
        line = ["env", "--default-signal=INT", *command(*words)]
        return subprocess.Popen(
            line, cwd=folder, env=environment(**more), stdout=said, stderr=said, start_new_session=True
        )


def run(folder: Path, *words: str, **more: str) -> tuple[int, str]:
    """Exit code and words of a Snakemake run."""
    code = start(folder, *words, **more).wait(timeout=PATIENCE_S)
    return code, (folder / "said").read_text()


def results(folder: Path) -> dict[str, str]:
    """Content of all files that a workflow made, by name; of times and processes nothing."""
    paths = [path for path in folder.rglob("*") if path.is_file() and ".snakemake" not in path.parts]
    left_out = ("bench.tsv", "said", "pids")
    return {
        str(path.relative_to(folder)): path.read_text().replace(str(folder), "")
        for path in paths
        if path.name not in left_out and not path.name.startswith("way.")
    }


def ways(folder: Path) -> dict[str, bool]:
    """Rule -> whether its shell led a session."""
    found = {path.name.partition(".")[2]: path.read_text().split() for path in folder.glob("way.*")}
    return {rule: session == shell for rule, (session, shell) in found.items()}


def wait_for(path: Path, most_s: float = PATIENCE_S) -> None:
    """Until a file is there."""
    deadline = time.monotonic() + most_s
    while not (path.exists() and path.read_text().strip()):
        if time.monotonic() > deadline:
            raise TimeoutError(str(path))
        time.sleep(0.1)


def is_alive(pid: int) -> bool:
    """Whether a process is there and not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(pid: int, most_s: float = 60) -> bool:
    """Whether a process ends in time."""
    deadline = time.monotonic() + most_s
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not is_alive(pid)
