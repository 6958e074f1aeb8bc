"""`--profile slurm` on a real Slurm: a whole campaign, and what goes wrong on a queue."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import private_slurm
import pytest
from conftest import FAST, PATIENCE_S, wait_until
from toy import DATA

from sophron.records.files import resource

pytestmark = pytest.mark.queues

ONE = "results/a/outcome.json"
DEFINITION = "definition: {first: 1, terms: 4}"
MEMORY = "memory_mb: 200"
CEILING = "ceilings: {cores: 2, memory_mb: 600, runtime_min: 10}"
ROOMY = ((MEMORY, "memory_mb: 700"), (CEILING, "ceilings: {cores: 2, memory_mb: 2100, runtime_min: 10}"))
# The first takes longer than the last, which fails while others are done: each must stand for itself.
SEVERAL = """
rule all:
    input: expand("made/{i}", i=range(3))
rule make:
    output: "made/{i}"
    resources: mem_mb=500, runtime=5
    shell: "echo {wildcards.i} >> runs; sleep $((10 - 4 * {wildcards.i})); test {wildcards.i} != 2; touch {output}"
"""
PLANTED = {
    "ANTHROPIC_API_KEY": "sk-planted-0123456789abcdef",
    "SIGNING_KEY": "-----BEGIN OPENSSH PRIVATE KEY-----\nplanted\n-----END OPENSSH PRIVATE KEY-----",
    "SSH_AUTH_SOCK": "/tmp/planted-agent/socket",
}
OPEN = {"AN_OPEN_VARIABLE": "an-open-value"}


def tries(queued, step="a"):
    """How each try of a step ended, in their order."""
    paths = sorted((queued.campaign.root / "records" / step).glob("*/try.json"), key=lambda path: int(path.parent.name))
    return [json.loads(path.read_text()).get("status") for path in paths]


def step(of_campaign, keys="", *changes):
    """A campaign of which one step is asked for; its definition has further keys."""
    return of_campaign("arithmetic", (DEFINITION, f"{DEFINITION[:-1]}{keys}}}"), *ROOMY, *changes)


def job_environments(slurm: Path) -> str:
    """The environments of all processes of all jobs now."""
    found = []
    for stepper in private_slurm._steppers(slurm):
        for pid in private_slurm._descendants(stepper):
            try:
                found.append(Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace"))
            except OSError:
                continue
    return "\n".join(found)


def spooled(slurm: Path) -> str:
    """All that Slurm keeps: job scripts and environments in its state, its spool, its logs."""
    found = []
    for name in ("state", "spool", "log"):
        for path in (slurm / name).rglob("*"):
            try:
                found.append(path.read_bytes().decode(errors="replace") if path.is_file() else "")
            except OSError:
                continue
    return "\n".join(found)


def test_the_viscosity_campaign_runs_and_no_job_learns_a_key(of_campaign, slurm, monkeypatch):
    for name, value in (PLANTED | OPEN).items():
        monkeypatch.setenv(name, value)
    queued = of_campaign("smoke")
    environments, spool = "", ""
    driver = queued.start()
    deadline = time.monotonic() + 2 * PATIENCE_S
    while driver.poll() is None and time.monotonic() < deadline:
        environments, spool = environments + job_environments(slurm.folder), spool + spooled(slurm.folder)
        environments, spool = _distinct(environments), _distinct(spool)
        time.sleep(0.3)
    driver.kill()
    assert driver.wait() == 0, queued.said
    # What is not a key is found in all three places, so a key would have been.
    for place in (environments, spool):
        assert OPEN["AN_OPEN_VARIABLE"] in place
        assert "planted" not in place
    assert "#!/bin/sh" in spool
    assert set(queued.campaign.verdicts().values()) == {"pass"}
    assert all(number == 1 for number in queued.campaign.tries().values())
    ended = [one for one in private_slurm.completed(slurm.folder) if one["JobState"] == "COMPLETED"]
    assert len(ended) >= 9  # 2 replicas of four stages and green_kubo; gate, verify, accept and report stayed here


def _distinct(text: str) -> str:
    return "\n".join(dict.fromkeys(line for part in text.split("\0") for line in part.splitlines()))


def test_a_job_beyond_its_memory_runs_again_with_more(of_campaign):
    queued = replace(step(of_campaign, ", takes_mb: 800"), words=(*FAST, "--logger-sophron-plain"))
    assert queued.run(ONE) == 0, queued.said
    assert tries(queued) == ["killed", "done"]
    assert "--mem 1400" in queued.said or "mem_mb=1400" in queued.said


@pytest.mark.slow
def test_a_job_beyond_its_time_runs_again_with_more(of_campaign, slurm):
    queued = step(of_campaign, ", hangs: 1", ("runtime_min: 5", "runtime_min: 1"))
    queued = replace(queued, words=(*FAST, "--logger-sophron-plain"))
    assert queued.run(ONE) == 0, queued.said
    assert tries(queued) == ["killed", "done"]
    assert "runtime=2" in queued.said
    assert "TIMEOUT" in {one["JobState"] for one in private_slurm.completed(slurm.folder)}


def test_a_job_that_somebody_cancels_runs_again(of_campaign, slurm):
    queued = step(of_campaign, ", hangs: 1")
    driver = queued.start(ONE)
    job = slurm.wait_for_job()
    wait_until(lambda: tries(queued))
    subprocess.run(["scancel", job], check=True)
    assert driver.wait(PATIENCE_S) == 0, queued.said
    assert tries(queued) == ["killed", "done"]


@pytest.mark.slow
def test_a_job_whose_node_dies_runs_again(of_campaign, slurm):
    queued = step(of_campaign, ", hangs: 1")
    driver = queued.start(ONE)
    slurm.wait_for_job()
    wait_until(lambda: tries(queued))
    private_slurm.kill_node(slurm.folder)
    wait_until(lambda: not private_slurm.jobs(slurm.folder, "RUNNING"))
    private_slurm.revive_node(slurm.folder)
    assert driver.wait(PATIENCE_S) == 0, queued.said
    assert tries(queued) == ["killed", "done"]


def test_after_kill_9_of_the_driver_nothing_is_computed_twice(of_campaign, slurm):
    queued = step(of_campaign, ", sleep_ms: 15000")
    driver = queued.start(ONE)
    wait_until(lambda: tries(queued))
    driver.kill()
    driver.wait()
    # The plugin does not know the job of the dead driver and submits another one; that finds the first at work.
    assert queued.run(ONE) == 0, queued.said
    assert tries(queued) == ["done"]


def test_a_driver_that_is_asked_to_end_lets_its_job_finish(of_campaign, slurm):
    queued = step(of_campaign, ", sleep_ms: 8000")
    driver = queued.start(ONE)
    wait_until(lambda: tries(queued))
    driver.send_signal(signal.SIGTERM)
    driver.wait(PATIENCE_S)
    assert tries(queued) == ["done"]
    assert queued.run(ONE) == 0, queued.said
    assert tries(queued) == ["done"]


@pytest.mark.slow
def test_a_full_disk_in_the_jobs_folder_leaves_no_half_result(of_campaign, slurm):
    queued = step(of_campaign, "", ("retries: 2", "retries: 0"))
    scratch = queued.campaign.root / "scratch"
    scratch.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", scratch], check=False)
    if mounted.returncode:
        pytest.skip("this system lets nobody mount a small file system")
    try:
        (scratch / "filler").write_bytes(b"x" * 4096)
        assert queued.run(ONE) != 0
    finally:
        subprocess.run(["umount", scratch], check=True)
    assert not (queued.campaign.root / ONE).exists()
    assert "No space left on device" in queued.said + _job_logs(queued)
    assert queued.run(ONE) == 0, queued.said


def _job_logs(queued):
    return "".join(path.read_text() for path in (queued.campaign.root / ".snakemake" / "slurm_logs").rglob("*.log"))


def test_a_step_that_fails_costs_the_others_of_its_rule_nothing(slurm, tmp_path):
    (tmp_path / "Snakefile").write_text(SEVERAL)
    profile = str(resource("profiles", "slurm"))
    command = [sys.executable, "-m", "snakemake", "--profile", profile, "--latency-wait", "10", *FAST]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode != 0
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["0", "1"], done.stderr
    assert sorted((tmp_path / "runs").read_text().split()) == ["0", "1", "2"]


def test_a_submission_that_fails_three_times_succeeds_the_fourth_time(of_campaign, slurm, tmp_path, monkeypatch):
    queued = of_campaign("arithmetic", *ROOMY, ("retries: 2", "retries: 3"))
    broken = tmp_path / "broken"
    broken.mkdir()
    counter = broken / "count"
    (broken / "sbatch").write_text(
        f'#!/bin/sh\necho x >> {counter}\n[ $(wc -l < {counter}) -gt 3 ] && exec {shutil.which("sbatch")} "$@"\n'
        'echo "sbatch: error: Batch job submission failed: Socket timed out" >&2\nexit 1\n'
    )
    (broken / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{broken}{os.pathsep}{os.environ['PATH']}")
    assert queued.run(ONE) == 0, queued.said
    assert counter.read_text().count("x") == 4
    assert tries(queued) == ["done"]


PRODUCE = "definition: {timestep: 0.005, steps: 2000, sample_every: 5, thermo_every: 10, restart_every: 500}"
SELDOM = "definition: {timestep: 0.005, steps: 2000, sample_every: 1000, thermo_every: 1000, restart_every: 1000}"
LONG_S = 60  # more than the half of a minute that the first try leaves to LAMMPS, whatever the machine
STEPS_A_S = re.compile(r"([0-9.]+) timesteps/s")


@pytest.mark.slow
def test_production_goes_on_from_its_restart_file_when_its_wall_time_ends(of_campaign):
    """One minute of wall time for a run that needs more; two ranks of MPI, which the job asks for as two tasks."""
    _, tail = (DATA / "smoke" / "campaign.yaml").read_text().split("  produce:\n")
    short, rest = tail.split("  green_kubo:\n")
    for old, new in (
        (PRODUCE, SELDOM),
        ("runtime_min: 5", "runtime_min: 1"),
        ("runtime_min: 30}", "runtime_min: 2}"),
        ("ranks: 1", "ranks: 2"),
        ("choices: {threads: [1, 2]}", "choices: {}"),
        ("retries: 2", "retries: 20"),
    ):
        assert old in short
        short = short.replace(old, new)
    queued = of_campaign("smoke", (tail, f"{short}  green_kubo:\n{rest}"))
    assert queued.run_local("results/equilibrate/accepted.json") == 0, queued.said
    root = queued.campaign.root
    (seen,) = STEPS_A_S.findall((root / "records" / "equilibrate-0" / "1" / "log.equilibrate.lammps").read_text())
    thousands = max(round(LONG_S * float(seen) / 1000), 10)
    queued.campaign.amend(f"stages.produce.definition.steps={thousands}000")
    assert queued.run("results/produce/0/outcome.json", patience_s=2 * PATIENCE_S) == 0, queued.said
    outcome = json.loads((root / "results" / "produce" / "0" / "outcome.json").read_text())
    assert outcome["status"] == "done"
    assert outcome["result"]["samples"] == thousands + 1
    assert outcome["result"]["continued"] >= 1
    ended = tries(queued, "produce-0")
    assert ended[-1] == "done"
    assert {"retry", "killed"} & set(ended[:-1])
    places = [json.loads(path.read_text())["placement"] for path in (root / "records" / "produce-0").glob("*/try.json")]
    assert {place["scheduler"] for place in places} == {"slurm"}
    assert len({place["job"] for place in places}) == len(ended), "each try was a job of its own"
