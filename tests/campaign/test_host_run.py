"""Runs of a host workflow as its person sees them: status by rule, `sophron run` with agents between, limits."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import host_edits
import psutil
import pytest
import toy

from sophron import cli
from sophron.campaign.host_workflow import guard
from sophron.campaign.scaffold import adopt
from sophron.campaign.state.projector import project
from sophron.records import core_hours, events

WORKFLOW = """\
rule all:
    input:
        expand("out/{s}.done", s=["a", "b"]),


rule hungry:
    output:
        "out/{s}.raw",
    log:
        "logs/{s}.log",
    threads: 1
    resources:
        mem_mb=500,
    shell:
        "if [ {resources.mem_mb} -lt 2000 ]; then echo 'Detected 1 oom_kill event' > {log}; exit 137; fi;"
        " echo x > {output}"


rule done:
    input:
        "out/{s}.raw",
    output:
        "out/{s}.done",
    shell:
        "while [ -e hold ]; do sleep 0.1; done; cp {input} {output}"


onerror:
    shell("touch theirs")
"""


@pytest.fixture(scope="module")
def adopted(tmp_path_factory) -> Path:
    """The workflow with its campaign, as `sophron adopt` leaves it."""
    folder = tmp_path_factory.mktemp("adopted") / "hungry"
    folder.mkdir()
    (folder / "Snakefile").write_text(WORKFLOW)
    adopt.adopt(folder, None, [], write=True, outer=False)
    return folder


@pytest.fixture
def host(tmp_path, monkeypatch, adopted) -> toy.Campaign:
    """A signed workflow whose first rule fails for want of memory, with a signed choice of more."""
    folder = tmp_path / "hungry"
    shutil.copytree(adopted, folder, ignore=shutil.ignore_patterns(".snakemake"))
    monkeypatch.chdir(folder)
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    host_edits.plan_warm(monkeypatch)
    made = toy.Campaign(folder / "campaign", toy.make_key(tmp_path / "key"))
    made.edit("UNVERIFIED", "verified")
    made.edit("choices: {}", "choices: {memory_mb: [2000]}")
    made.spec.write_text(made.spec.read_text() + "limits: {core_hours: 50}\n")
    return made


def replace(old: str, new: str) -> None:
    text = Path("Snakefile").read_text()
    assert old in text
    Path("Snakefile").write_text(text.replace(old, new))


def jobs(campaign: toy.Campaign) -> dict[str, dict]:
    """Rule -> how many jobs are done, running and failed."""
    rules = project(campaign.root).get("host", {})
    return {name: {key: len(rule[key]) for key in ("done", "running", "failed")} for name, rule in rules.items()}


def test_an_unsigned_workflow_says_what_to_sign(host, capsys):
    assert cli.main(["run", "--cores", "1"]) == 2
    assert "is not approved yet; look at it and sign" in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.slow
def test_a_failed_rule_gets_what_was_signed_and_an_edit_is_refused(host, capfd):
    host.sign()
    assert cli.main(["run", "--cores", "1", "--snakefile", "Snakefile"]) == 0
    said = capfd.readouterr().out
    assert "debug of outputs, try 1: overlay: The step needed more memory than was reserved." in said
    assert Path("theirs").exists()
    (overlay,) = host.events("overlay")
    assert (overlay["key"], overlay["value"]) == ("memory_mb", 2000)
    (failure,) = host.root.glob("records/failures/*.json")
    assert ".log\nDetected 1 oom_kill event" in json.loads(failure.read_text())["log"]
    done = {"done": 2, "running": 0, "failed": 0}
    assert jobs(host) == {"done": done, "hungry": done}
    assert 0 < core_hours.core_hours(host.root) < 1
    assert cli.main(["status"]) == 0
    said = capfd.readouterr().out
    assert "version 1: completed" in said
    assert [line.split() for line in said.splitlines() if line.startswith(("done ", "hungry "))] == [
        ["done", "outputs", "2"],
        ["hungry", "outputs", "2"],
    ]
    replace("echo x", "echo y")
    for path in Path("out").glob("a.*"):
        path.unlink()
    assert cli.main(["run", "--cores", "1"]) == 5
    assert "Refused: the rule hungry is not the signed one (changed: shell)" in capfd.readouterr().out
    assert cli.main(["run", "--snakefile", "other.smk"]) == 2
    assert "the campaign gates" in capfd.readouterr().err


def test_after_a_kill_the_jobs_are_lost_until_the_same_line_goes_on(host, capsys):
    replace("mem_mb=500", "mem_mb=2000")
    host.sign()
    Path("hold").touch()
    line = [sys.executable, "-m", "snakemake", "-c2", "--rerun-incomplete", "--nolock"]
    driver = subprocess.Popen(line, start_new_session=True)
    deadline = time.monotonic() + 60
    while jobs(host).get("done", {}).get("running") != 2 and time.monotonic() < deadline:
        time.sleep(0.2)
    cli.main(["status"])
    assert "running  " in capsys.readouterr().out
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    assert cli.main(["status"]) == 0
    said = capsys.readouterr().out
    assert "lost; run snakemake again" in said
    assert ["rule", "stage", "done", "lost", "failed", "waiting"] in [row.split() for row in said.splitlines()]
    Path("hold").unlink()
    assert subprocess.run(line, check=False).returncode == 0
    assert jobs(host)["done"] == {"done": 2, "running": 0, "failed": 0}
    shutil.rmtree("out")
    (host.root / "results" / "report.html").unlink()
    assert subprocess.run(line, check=False).returncode == 0
    (again,) = [one["again"] for one in events.read(host.root)[0] if one["event"] == "host_planned" and one["again"]]
    assert again == {"done": ["done-a", "done-b"], "hungry": ["hungry-a", "hungry-b"]}


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was_and_repeats_nothing(host):
    replace("mem_mb=500", "mem_mb=2000")
    host.sign()
    Path("hold").touch()
    words = ["run", "--cores", "2", "--snakefile", "Snakefile"]
    supervisor = subprocess.Popen([shutil.which("sophron"), *words])
    deadline = time.monotonic() + 120
    while jobs(host).get("done", {}).get("running") != 2 and time.monotonic() < deadline:
        time.sleep(0.2)
    snakemake = psutil.Process(project(host.root)["run"]["pid"])
    supervisor.kill()
    os.killpg(snakemake.pid, signal.SIGKILL)  # it has a group of its own, with its jobs
    supervisor.wait()
    psutil.wait_procs([snakemake], timeout=10)  # until it ends it holds the campaign's lock
    made = {path: path.stat().st_mtime_ns for path in Path("out").glob("*.raw")}
    assert len(made) == 2
    Path("hold").unlink()
    assert cli.main(words) == 0
    assert {path: path.stat().st_mtime_ns for path in made} == made
    done = {"done": 2, "running": 0, "failed": 0}
    assert jobs(host) == {"done": done, "hungry": done}
    begun = [one["step"] for one in host.events("host_job_started")]
    assert sorted(begun) == ["done-a", "done-a", "done-b", "done-b", "hungry-a", "hungry-b"]


@pytest.mark.parametrize(("own", "signed", "given"), [(0, 3, 3), (5, 3, 5)])
def test_signed_retries_are_the_least_that_a_rule_gets(own, signed, given):
    rule = SimpleNamespace(restart_times=own, resources={})
    guard._give(rule, {"retries": signed})
    assert (rule.restart_times, rule.resources) == (given, {})


def test_core_hours_that_are_used_up_stop_the_driver(host, capfd):
    replace("mem_mb=500", "mem_mb=2000")
    host.sign()
    core_hours.charge(host.root, 51 * 3600)
    assert cli.main(["run", "--cores", "1"]) == 5
    assert "51.000 core-hours are used, beyond the signed envelope of 50" in capfd.readouterr().out
    assert not Path("out").exists()
