"""`--profile pbs` on an emulation of PBS Pro's commands over a real Slurm; no real PBS was there to try it on."""

import json
import os
import re
import subprocess
from pathlib import Path

import private_slurm
import pytest
from conftest import PATIENCE_S, wait_until

pytestmark = pytest.mark.queues

FAST = ("--seconds-between-status-checks", "1")
ONE = "results/a/outcome.json"
EMULATION = Path(__file__).parent / "emulated_pbs"
KEY = "sk-planted-0123456789abcdef"


@pytest.fixture
def emulated(slurm, monkeypatch):
    """The commands of the emulated PBS on PATH, and a key in the environment."""
    monkeypatch.setenv("PATH", f"{EMULATION}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


@pytest.fixture
def pbs(of_campaign, emulated, monkeypatch):
    """Make a campaign whose jobs go to the emulated PBS."""

    def make(name, *changes):
        queued = of_campaign(name, *changes, profile="pbs", words=FAST)
        monkeypatch.setenv("PATH", f"{EMULATION}{os.pathsep}{os.environ['PATH']}")
        return queued

    return make


def qsub(script, *words):
    done = subprocess.run(["qsub", *words, script], capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr).strip()


def queued_job(script, *words):
    """The id of a job, submitted as the profile does: a busy Slurm may refuse a call."""
    for _ in range(4):
        code, said = qsub(script, *words)
        if code == 0:
            return said
    raise AssertionError(said)


def finished(job):
    done = subprocess.run(["qstat", "-x", "-f", job], capture_output=True, text=True, check=True)
    return done.stdout if "job_state = F" in done.stdout else ""


def test_the_viscosity_campaign_runs(pbs):
    queued = pbs("smoke")
    driver = queued.start()
    try:
        assert driver.wait(2 * PATIENCE_S) == 0, queued.said
    finally:
        driver.kill()
    assert set(queued.campaign.verdicts().values()) == {"pass"}
    folder = queued.campaign.root / ".snakemake" / "pbs"
    scripts = [path.read_text() for path in folder.glob("*.sh")]
    assert len(scripts) == 9
    assert all("#PBS -l select=1:ncpus=1:mpiprocs=1:ompthreads=1:mem=500mb\n" in text for text in scripts)
    assert not any(KEY in path.read_text(errors="replace") for path in folder.iterdir())


@pytest.mark.slow
def test_a_new_driver_finds_the_job_of_a_dead_one(pbs, slurm):
    queued = pbs(
        "arithmetic", ("definition: {first: 1, terms: 4}", "definition: {first: 1, terms: 4, sleep_ms: 60000}")
    )
    before = len(private_slurm.completed(slurm.folder))
    driver = queued.start(ONE)
    slurm.wait_for_job()
    wait_until(lambda: list((queued.campaign.root / "records" / "a").glob("*/try.json")))
    driver.kill()
    driver.wait()
    assert queued.run(ONE) == 0, queued.said
    assert len(private_slurm.completed(slurm.folder)) == before + 1
    notes = [json.loads(path.read_text()) for path in (queued.campaign.root / "records" / "a").glob("*/try.json")]
    assert [note["status"] for note in notes] == ["done"]


def test_the_emulation_runs_arrays_and_sets_the_variables_of_pbs(emulated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "array.sh"
    script.write_text(
        "#!/bin/sh\n#PBS -N numbers\n#PBS -l select=1:ncpus=1:mem=100mb\n#PBS -l walltime=00:01:00\n#PBS -j oe\n"
        "echo $PBS_JOBID $PBS_ARRAY_INDEX $PBS_ENVIRONMENT $PBS_O_WORKDIR key=$ANTHROPIC_API_KEY slurm=$SLURM_JOB_ID\n"
        "[ $PBS_ARRAY_INDEX = 1 ]\n"
    )
    job = queued_job(script, "-J", "1-2", "-o", str(tmp_path))
    assert re.fullmatch(r"\d+\[\]\.emulated", job)
    whole = wait_until(lambda: finished(job))
    assert "Exit_status = 1" in whole
    number = job.partition("[")[0]
    said = wait_until((tmp_path / f"numbers.o{number}.2").read_text).strip()
    assert said == f"{number}[2].emulated 2 PBS_BATCH {tmp_path} key= slurm="
    assert "Exit_status = 0" in finished(job.replace("[]", "[1]"))


@pytest.mark.parametrize(
    "line", ["-l nodes=1:ppn=4", "-l select=1:gpus=1", "-l select=2:ncpus=1", "-V", "-l walltime=90", "-j eo"]
)
def test_what_the_emulation_does_not_know_it_refuses(line, emulated, tmp_path):
    script = tmp_path / "job.sh"
    script.write_text(f"#!/bin/sh\n#PBS {line}\ntrue\n")
    code, said = qsub(script)
    assert code != 0
    assert said.startswith("qsub: ")


def test_a_deleted_job_has_exit_status_271(emulated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "long.sh"
    script.write_text("#!/bin/sh\n#PBS -l select=1:ncpus=1:mem=100mb\nsleep 100\n")
    job = queued_job(script)
    subprocess.run(["qdel", job], check=True)
    assert "Exit_status = 271" in wait_until(lambda: finished(job))
    without = subprocess.run(["qstat", "-f", job], capture_output=True, text=True, check=False)
    assert without.returncode == 35
    assert "use -x" in without.stderr
