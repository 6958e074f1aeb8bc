"""What the benches of queues share: a private Slurm whose commands are counted, and timed runs of Snakemake."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY / "tests" / "queues"))
import private_slurm  # noqa: E402

COMMANDS = ("sbatch", "squeue", "scancel", "srun", "scontrol", "sinfo", "sacct", "sacctmgr")
WRAPPER = """#!/bin/sh
echo {name} >> {calls}
export SLURM_CONF={conf}
exec {program} "$@"
"""
SNAKEFILE = """
rule all:
    input: expand("made/{{i}}", i=range({count}))
rule make:
    output: "made/{{i}}"
    resources: mem_mb=500, runtime=2
    shell: "echo {{wildcards.i}} >> runs; sleep {seconds}; touch {{output}}"
"""


class Queue:
    """A Slurm of one node in `folder`. Its commands set their own configuration: a job step drops SLURM_CONF."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls = folder / "calls"
        commands = folder / "counted"
        commands.mkdir(parents=True)
        for name in COMMANDS:
            program = shutil.which(name)
            if program is not None:
                text = WRAPPER.format(name=name, calls=self.calls, conf=folder / "slurm.conf", program=program)
                (commands / name).write_text(text)
                (commands / name).chmod(0o755)
        self.env = os.environ | {
            "PATH": f"{commands}:{os.environ['PATH']}",
            "PYTHONPATH": str(REPOSITORY / "src"),
            "OMP_NUM_THREADS": "1",
            "HOME": str(folder),  # dpdispatcher's scripts are login shells: no profile of the user's is measured
        }

    def called(self, name: str) -> int:
        """How often a command was called."""
        return self.calls.read_text().split().count(name) if self.calls.exists() else 0

    def waiting(self) -> int:
        """Jobs and array elements that are queued or running."""
        done = subprocess.run(["squeue", "-h", "-r"], env=self.env, capture_output=True, text=True, check=True)
        return len(done.stdout.splitlines())

    def completed(self) -> list[str]:
        """Ids of the jobs that Slurm itself has recorded as ended."""
        log = self.folder / "log" / "jobcomp.log"
        return [line.split()[0].partition("=")[2] for line in log.read_text().splitlines()] if log.exists() else []


@contextlib.contextmanager
def queue() -> Iterator[Queue]:
    """A running Slurm in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="queue-") as name:
        one = Queue(Path(name))
        private_slurm.start(one.folder)
        try:
            yield one
        finally:
            private_slurm.stop(one.folder)


def begin(folder: Path, env: dict[str, str], *options: str) -> subprocess.Popen[bytes]:
    """A driver whose output goes to `folder/driver.log`."""
    fixed = ["--jobs", "200", "--nolock", "--rerun-incomplete", "--scheduler", "greedy"]
    line = [sys.executable, "-m", "snakemake", *fixed, *options]
    with (folder / "driver.log").open("wb") as log:
        return subprocess.Popen(line, cwd=folder, env=env, stdout=log, stderr=log)


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 600) -> float:
    """Wait until `condition`; seconds it took. RuntimeError where it takes too long."""
    begun = time.perf_counter()
    while not condition():
        if time.perf_counter() - begun > seconds:
            raise RuntimeError(f"waited {seconds} s in vain: {what}")
        time.sleep(0.1)
    return time.perf_counter() - begun
