import os
import shutil
import signal
import subprocess

import psutil
import pytest
from dispatched_workflow import PATIENCE_S

EACH = """
N = {count}
rule all:
    input: expand("made/{{i}}", i=range(N))
rule make:
    output: "made/{{i}}"
    resources: mem_mb=500, runtime=5
    shell: "echo {{wildcards.i}} >> runs; {work}; echo {{wildcards.i}} > {{output}}"
"""


def each(count, work=":"):
    return EACH.format(count=count, work=work)


def test_a_failure_is_told_with_its_log_and_stops_no_other(workflow):
    workflow.write(each(2, "test {wildcards.i} = 0 || {{ echo what went wrong; exit 3; }}"))
    done = workflow.run("--keep-going", "--show-failed-logs")
    assert done.returncode == 1
    assert "its step ended with exit code 1" in done.stderr
    assert "what went wrong" in done.stderr
    assert [path.name for path in (workflow.folder / "made").iterdir()] == ["0"]
    again = workflow.run("--keep-going")
    assert again.returncode == 1
    assert sorted(workflow.runs()) == ["0", "1", "1"]


def test_what_ended_well_leaves_its_record_and_no_scripts(workflow):
    workflow.write(each(2))
    done = workflow.run()
    assert done.returncode == 0, done.stderr
    assert [path.name for path in workflow.records.iterdir()] == ["settled"]
    assert len(list((workflow.records / "settled").iterdir())) == 1
    assert not (workflow.folder / "dpdispatcher.log").exists()


def test_a_campaign_keeps_the_record_with_its_others(workflow):
    workflow.write(each(1))
    workflow.write("campaign: x\n", "campaign.yaml")
    assert workflow.run().returncode == 0
    assert list((workflow.folder / "records" / "dispatched" / "settled").iterdir())
    assert not workflow.records.exists()


def test_a_retry_asks_for_more(workflow):
    workflow.write("""
rule make:
    output: "made"
    retries: 2
    resources: mem_mb=lambda wildcards, attempt: 300 * attempt
    shell: "echo {resources.mem_mb} >> runs; test {resources.mem_mb} -ge 600 && touch {output}"
""")
    done = workflow.run()
    assert done.returncode == 0, done.stderr
    assert workflow.runs() == ["300", "600"]


def test_a_group_is_one_job(workflow):
    workflow.write("""
rule all:
    input: "b0", "b1"
rule a:
    output: temp("a{i}")
    group: "pair"
    shell: "echo a{wildcards.i} >> runs; touch {output}"
rule b:
    input: "a{i}"
    output: "b{i}"
    group: "pair"
    shell: "echo b{wildcards.i} >> runs; touch {output}"
""")
    done = workflow.run("--group-components", "pair=2")
    assert done.returncode == 0, done.stderr
    assert sorted(workflow.runs()) == ["a0", "a1", "b0", "b1"]
    (record,) = (workflow.records / "settled").iterdir()
    assert record.read_text().count('"settled"') == 1


def test_a_checkpoint_decides_what_runs(workflow):
    workflow.write("""
def parts(wildcards):
    folder = checkpoints.split.get().output[0]
    return expand("done/{i}", i=glob_wildcards(folder + "/{i,[0-9]+}").i)
rule all:
    input: parts
checkpoint split:
    output: directory("parts")
    shell: "mkdir {output}; touch {output}/1 {output}/2"
rule part:
    input: "parts/{i}"
    output: "done/{i}"
    shell: "echo {wildcards.i} >> runs; cp {input} {output}"
""")
    done = workflow.run()
    assert done.returncode == 0, done.stderr
    assert sorted(workflow.runs()) == ["1", "2"]


def test_a_stopped_workflow_leaves_nothing_running(workflow):
    workflow.write(each(2, "echo $$ >> pids; sleep 300"))
    driver = workflow.begin()
    workflow.wait_for(lambda: len(workflow.runs("pids")) == 2)
    driver.send_signal(signal.SIGINT)
    driver.wait(timeout=PATIENCE_S)
    pids = [int(pid) for pid in workflow.runs("pids")]
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert not list(workflow.records.glob("*.jsonl"))


def test_a_driver_that_is_asked_to_end_lets_its_jobs_finish_and_submits_no_other(workflow):
    workflow.write("""
rule second:
    input: "first"
    output: "second"
    shell: "echo second >> runs; touch {output}"
rule first:
    output: "first"
    shell: "echo first >> runs; sleep 4; touch {output}"
""")
    driver = workflow.begin()
    workflow.wait_for(lambda: workflow.runs() == ["first"])
    driver.send_signal(signal.SIGTERM)
    driver.wait(timeout=PATIENCE_S)
    assert (workflow.folder / "first").exists()
    assert workflow.runs() == ["first"]
    done = workflow.run()
    assert done.returncode == 0, done.stderr
    assert workflow.runs() == ["first", "second"]


# A killed driver


def killed(workflow, count, **options):
    """Kill the driver when `count` jobs have begun."""
    driver = workflow.begin(**options)
    workflow.wait_for(lambda: len(workflow.runs()) == count)
    driver.kill()
    driver.wait()


def test_a_new_driver_takes_up_what_runs_and_what_has_ended(workflow):
    workflow.write(each(3, "while [ {wildcards.i} = 2 ] && [ ! -e go ]; do sleep 0.2; done"))
    killed(workflow, 3)
    workflow.wait_for(lambda: len(list((workflow.folder / "made").glob("[01]"))) == 2)
    again = workflow.begin("--rerun-incomplete")
    log = workflow.folder / "driver.log"
    workflow.wait_for(lambda: "taken up" in log.read_text() and "output: made/2" in log.read_text())
    (workflow.folder / "go").touch()
    assert again.wait(timeout=PATIENCE_S) == 0, log.read_text()
    assert sorted(workflow.runs()) == ["0", "1", "2"]


def test_a_job_that_has_made_its_outputs_and_not_yet_left_its_marker_is_settled_too(workflow):
    workflow.write(each(2, "while [ {wildcards.i} = 1 ] && [ ! -e go ]; do sleep 0.2; done"))
    commands = workflow.folder / "commands"
    commands.mkdir()
    hold = workflow.folder / "hold"
    # The marker comes into being by this command, as other files do.
    held = f"case $1 in *.DPDISP_DONE.new) while [ -e {hold} ]; do sleep 0.1; done;; esac"
    (commands / "mv").write_text(f'#!/bin/sh\n{held}\nexec /bin/mv "$@"\n')
    (commands / "mv").chmod(0o755)
    workflow.env["PATH"] = f"{commands}:{workflow.env['PATH']}"
    hold.touch()
    killed(workflow, 2)
    workflow.wait_for(lambda: list(workflow.records.rglob("*.DPDISP_DONE.new")))
    again = workflow.begin("--rerun-incomplete")
    log = workflow.folder / "driver.log"
    workflow.wait_for(lambda: "1 jobs taken up, 0 submitted" in log.read_text())
    hold.unlink()
    (workflow.folder / "go").touch()
    assert again.wait(timeout=PATIENCE_S) == 0, log.read_text()
    assert sorted(workflow.runs()) == ["0", "1"]
    assert not list(workflow.records.glob("*.jsonl"))


def test_a_failure_that_nobody_watched_counts_as_a_try(workflow):
    workflow.write(each(1, "while [ ! -e go ]; do sleep 0.2; done; test $(wc -l < runs) -gt 1"))
    killed(workflow, 1)
    (workflow.folder / "go").touch()
    workflow.wait_for(lambda: list(workflow.records.rglob("*.DPDISP_DONE")))
    assert workflow.run("--rerun-incomplete").returncode == 1
    assert workflow.runs() == ["0"]
    assert workflow.run("--rerun-incomplete").returncode == 0
    assert workflow.runs() == ["0", "0"]


@pytest.mark.parametrize("change", ["code", "input"])
def test_a_job_that_does_something_else_by_now_is_ended(workflow, change):
    text = """
rule make:
    input: "given"
    output: "made"
    shell: "echo $$ >> pids; cat {input} >> runs; sleep 300; cp {input} {output}"
"""
    workflow.write("old\n", "given")
    workflow.write(text)
    killed(workflow, 1)
    if change == "code":
        workflow.write(text.replace("sleep 300", "sleep 0.1"))
    else:
        workflow.write(text.replace("sleep 300", "grep -q new {input} || sleep 300"))
        killed_pid = workflow.runs("pids")[0]
        workflow.write("new\n", "given")
        assert psutil.pid_exists(int(killed_pid))
    done = workflow.run("--rerun-incomplete")
    assert done.returncode == 0, done.stderr
    assert "is ended" in done.stderr
    assert len(workflow.runs()) == 2
    assert not psutil.pid_exists(int(workflow.runs("pids")[0]))


def test_a_job_whose_input_is_made_anew_is_ended_first(workflow):
    workflow.write("""
rule b:
    input: "a"
    output: "b"
    shell: "echo $$ >> pids; echo b >> runs; grep -q new {input} || sleep 300; cp {input} {output}"
rule a:
    output: "a"
    shell: "echo old > {output}"
""")
    killed(workflow, 1)
    text = (workflow.folder / "Snakefile").read_text()
    workflow.write(text.replace("echo old", "echo new"))
    done = workflow.run("--rerun-incomplete", "b")
    assert done.returncode == 0, done.stderr
    assert "its input is made anew" in done.stderr
    assert (workflow.folder / "b").read_text() == "new\n"
    assert not psutil.pid_exists(int(workflow.runs("pids")[0]))


@pytest.mark.parametrize("left", ["folder", "nothing"])
def test_a_driver_that_was_killed_before_it_submitted(workflow, left):
    workflow.write(each(2))
    commands = workflow.folder / "commands"
    commands.mkdir()
    (commands / "flock").write_text("#!/bin/sh\nexec sleep 300\n")  # the submit command never comes to its lock
    (commands / "flock").chmod(0o755)
    path = workflow.env["PATH"]
    workflow.env["PATH"] = f"{commands}:{path}"
    driver = workflow.begin()
    workflow.wait_for(lambda: list(workflow.records.rglob("*.sub.run")))
    driver.kill()
    driver.wait()
    (record,) = workflow.records.glob("*.jsonl")
    if left == "nothing":
        shutil.rmtree(next(path for path in workflow.records.iterdir() if path.is_dir()))
    workflow.env["PATH"] = path
    done = workflow.run("--rerun-incomplete")
    assert done.returncode == 0, done.stderr
    assert "2 jobs taken up, 0 submitted" in done.stderr
    assert sorted(workflow.runs()) == ["0", "1"]
    assert [one.name for one in (workflow.records / "settled").iterdir()] == [record.name]


def test_another_machine_is_refused_while_jobs_are_with_the_first(workflow):
    workflow.write(each(1, "while [ ! -e go ]; do sleep 0.2; done"))
    killed(workflow, 1)
    done = workflow.run("--rerun-incomplete", batch_type="PBS")
    assert done.returncode == 1
    assert "jobs of an earlier run are with Shell (this machine)" in done.stderr
    (workflow.folder / "go").touch()
    assert workflow.run("--rerun-incomplete").returncode == 0
    assert workflow.runs() == ["0"]


# What must not get out


def test_keys_are_in_no_job_script_or_environment(workflow):
    workflow.env |= {"SOME_API_KEY": "value-of-the-key", "HARMLESS": "yes", "LAB": "sk-0123456789abcdef0123"}
    workflow.write(each(1, "env > environment; sleep 2"))
    driver = workflow.begin()
    workflow.wait_for((workflow.folder / "environment").exists)
    spool = workflow.spool()
    assert driver.wait(timeout=PATIENCE_S) == 0
    seen = (workflow.folder / "environment").read_text()
    assert "HARMLESS=yes" in seen
    for text in (seen, spool):
        assert "value-of-the-key" not in text
        assert "sk-0123456789" not in text
    assert "DPDISP_DONE=" in seen


def test_a_declared_key_is_refused_before_anything_is_submitted(workflow):
    workflow.env["SOME_API_KEY"] = "value-of-the-key"
    workflow.write('envvars: "SOME_API_KEY"\n' + each(1))
    done = workflow.run()
    assert done.returncode == 1
    assert "declares SOME_API_KEY" in done.stderr
    assert not list(workflow.records.rglob("*.sub"))


def test_a_declared_variable_reaches_the_job(workflow):
    workflow.env["HARMLESS"] = "two words"
    workflow.write('envvars: "HARMLESS"\n' + each(1, "printenv HARMLESS > said"))
    assert workflow.run().returncode == 0
    assert (workflow.folder / "said").read_text() == "two words\n"


def test_what_cannot_be_asked_for_is_refused_before_anything_is_submitted(workflow):
    workflow.write("""
rule all:
    input: "second"
rule first:
    output: "first"
    shell: "touch {output}"
rule second:
    input: "first"
    output: "second"
    resources: nodes=2
    shell: "touch {output}"
""")
    done = workflow.run()
    assert done.returncode == 1
    assert "rule second: resource nodes=2 cannot be requested from Shell; use a machine that can" in done.stderr
    assert not (workflow.folder / "first").exists()


def test_snakemake_finds_it_and_it_is_light():
    code = "import sys, snakemake_interface_executor_plugins.executors.remote; before = set(sys.modules)\n"
    code += "import snakemake_executor_plugin_dpdispatcher; print(*set(sys.modules) - before)"
    done = subprocess.run(["python", "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    heavy = ("dpdispatcher", "paramiko", "yaml", "rfc8785", "sophron")
    assert [name for name in done.stdout.split() if name.startswith(heavy)] == []
