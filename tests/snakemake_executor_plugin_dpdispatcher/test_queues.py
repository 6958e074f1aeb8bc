"""The executor on a real Slurm, and through a real sshd."""

import json
import shutil
import subprocess
import time

import private_sshd
import pytest
from dispatched_workflow import PATIENCE_S, Workflow

pytestmark = pytest.mark.queues

EACH = """
rule all:
    input: expand("made/{{i}}", i=range({count}))
rule make:
    output: "made/{{i}}"
    retries: {retries}
    resources: mem_mb=500, runtime=5
    shell: "echo {{wildcards.i}} >> runs; {work}; touch {{output}}"
"""


def each(count, work=":", retries=0):
    return EACH.format(count=count, work=work, retries=retries)


@pytest.fixture
def queued(slurm, tmp_path):
    """A workflow whose environment finds the Slurm."""
    one = Workflow(tmp_path, slurm)
    yield one
    one.end()
    subprocess.run(["scancel", "--me"], env=one.env, check=True)


def squeue(env, *options):
    done = subprocess.run(["squeue", "-h", "-r", *options], env=env, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_killed_driver_loses_and_repeats_nothing(queued):
    queued.write(each(20))
    driver = queued.begin(batch_type="SlurmJobArray")
    queued.wait_for(lambda: len(squeue(queued.env, "-o", "%A")) + len(queued.runs()) >= 20)
    driver.kill()
    driver.wait()
    (record,) = queued.records.glob("*.jsonl")
    before = record.read_text()
    again = queued.begin("--rerun-incomplete", batch_type="SlurmJobArray")
    begun = time.monotonic()
    log = queued.folder / "driver.log"
    queued.wait_for(lambda: "jobs taken up" in log.read_text() or again.poll() is not None)
    print(f"taken up after {time.monotonic() - begun:.1f} s")
    assert ", 0 submitted" in log.read_text()
    assert again.wait(timeout=PATIENCE_S) == 0, log.read_text()
    assert sorted(queued.runs(), key=int) == [str(i) for i in range(20)]
    settled = queued.records / "settled" / record.name
    assert settled.read_text().startswith(before)
    assert len(list(settled.parent.iterdir())) == 1


@pytest.mark.parametrize("batch_type", ["Slurm", "SlurmJobArray"])
def test_an_element_that_is_ended_from_outside_is_a_failure_of_its_own(queued, batch_type):
    queued.write(each(2, "[ {wildcards.i} = 0 ] || [ $(grep -c 1 runs) = 2 ] || sleep 300", retries=1))
    driver = queued.begin(batch_type=batch_type)
    queued.wait_for(lambda: (queued.folder / "made" / "0").exists() and "1" in queued.runs())
    queued.wait_for(lambda: len(squeue(queued.env)) > 0 and len(squeue(queued.env, "-o", "%i")) == 1)
    subprocess.run(["scancel", squeue(queued.env, "-o", "%i")[0]], env=queued.env, check=True)
    assert driver.wait(timeout=PATIENCE_S) == 0, (queued.folder / "driver.log").read_text()
    assert "ended without a word" in (queued.folder / "driver.log").read_text()
    assert sorted(queued.runs()) == ["0", "1", "1"]


def test_a_submit_command_that_fails_three_times(queued, tmp_path):
    commands = tmp_path / "commands"
    commands.mkdir()
    real = shutil.which("sbatch")
    count = f"echo call >> {tmp_path}/calls; [ $(wc -l < {tmp_path}/calls) -gt 3 ]"
    (commands / "sbatch").write_text(f'#!/bin/sh\n{count} || {{ echo try later >&2; exit 1; }}\nexec {real} "$@"\n')
    (commands / "sbatch").chmod(0o755)
    queued.env["PATH"] = f"{commands}:{queued.env['PATH']}"
    queued.write(each(1))
    done = queued.run(batch_type="Slurm")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("try later") == 3
    assert (tmp_path / "calls").read_text().split() == ["call"] * 4
    assert queued.runs() == ["0"]


def test_steps_share_jobs_where_that_is_asked_for(queued):
    queued.write(each(4))
    done = queued.run("--dpdispatcher-group-size", "2", batch_type="Slurm")
    assert done.returncode == 0, done.stderr
    (record,) = (queued.records / "settled").iterdir()
    ids = [json.loads(line)["id"] for line in record.read_text().splitlines() if '"id"' in line]
    assert len(set(ids)) == 2
    assert "--time=10" in record.read_text()  # two steps of five minutes, one after the other


def test_keys_are_in_no_spool_of_slurm(queued, slurm):
    from pathlib import Path

    queued.env |= {"SOME_API_KEY": "value-of-the-key", "HARMLESS": "a-harmless-value"}
    queued.write(each(1, "env > environment; sleep 4"))
    driver = queued.begin(batch_type="Slurm")
    queued.wait_for((queued.folder / "environment").exists)
    folder = Path(slurm["SLURM_CONF"]).parent
    spooled = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert driver.wait(timeout=PATIENCE_S) == 0
    assert b"a-harmless-value" in spooled
    assert b"value-of-the-key" not in spooled
    assert "value-of-the-key" not in (queued.folder / "environment").read_text()


# Through ssh


@pytest.fixture
def remote(queued, tmp_path, slurm):
    """function(batch_type) -> the workflow with a machine file that goes through sshd; the option that names it."""
    reason = private_sshd.missing()
    if reason:
        pytest.skip(f"no sshd here: {reason}")
    folder = tmp_path / "sshd"
    folder.mkdir()
    profile = private_sshd.start(folder, slurm | {name: queued.env[name] for name in ("PYTHONPATH", "HOME")})
    (tmp_path / "remote").mkdir()

    def machine(batch_type):
        named = {"batch_type": batch_type, "context_type": "SSHContext", "remote_root": str(tmp_path / "remote")}
        queued.write(json.dumps({"machine": named | {"remote_profile": profile}}), "machine.yaml")
        return ["--dpdispatcher-machine", "machine.yaml"]

    yield machine
    private_sshd.stop(folder)


@pytest.mark.parametrize("batch_type", ["Shell", "SlurmJobArray"])
def test_jobs_go_through_ssh_and_are_taken_up_again(queued, remote, batch_type):
    queued.write(each(3, "while [ {wildcards.i} = 2 ] && [ ! -e go ]; do sleep 0.2; done"))
    options = remote(batch_type)
    driver = queued.begin(*options, batch_type=None)
    queued.wait_for(lambda: len(queued.runs()) == 3 and len(list((queued.folder / "made").glob("[01]"))) == 2)
    driver.kill()
    driver.wait()
    again = queued.begin("--rerun-incomplete", *options, batch_type=None)
    log = queued.folder / "driver.log"
    queued.wait_for(lambda: "jobs taken up" in log.read_text() or again.poll() is not None)
    (queued.folder / "go").touch()
    assert again.wait(timeout=PATIENCE_S) == 0, log.read_text()
    assert sorted(queued.runs()) == ["0", "1", "2"]
    assert "key_filename" not in queued.spool()
