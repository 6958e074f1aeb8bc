"""The Parsl executor with blocks on this machine: the same results in all ways, failures, cancels, kills, secrets."""

import importlib.util
import os
import signal
from pathlib import Path

import pytest
import step_workflows
from snakemake.common.tests import TestWorkflowsLocalStorageBase

from snakemake_executor_plugin_parsl import ExecutorSettings

pytestmark = pytest.mark.skipif(importlib.util.find_spec("parsl") is None, reason="parsl is not installed")

PARSL = ("--executor", "parsl", "--jobs", "100", "--parsl-cores", "2")


class TestConformance(TestWorkflowsLocalStorageBase):
    """Snakemake's own cases."""

    __test__ = True

    def get_executor(self):
        return "parsl"

    def get_executor_settings(self):
        return ExecutorSettings(cores=2)


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def pids(folder: Path) -> list[int]:
    return [int(word) for word in (folder / "pids").read_text().split()]


def test_a_workflow_of_every_sort_gives_the_same_in_all_ways(tmp_path):
    found = {}
    for name, words in {
        "local": ("--cores", "2"),
        "direct": PARSL,
        "step": (*PARSL, "--parsl-job-step"),
    }.items():
        folder = step_workflows.write(tmp_path / name, step_workflows.EVERY_SORT)
        code, said = step_workflows.run(folder, *words)
        assert code == 0, said
        found[name] = step_workflows.results(folder)
        ways = step_workflows.ways(folder)
        if name == "direct":
            assert {rule for rule in ways if ways[rule]} == step_workflows.DIRECT
            assert {rule for rule in ways if not ways[rule]} == step_workflows.STEPS
        else:
            assert not any(ways.values())
        assert (folder / "bench.tsv").read_text().startswith("s\th:m:s")
        assert not (folder / "prot").stat().st_mode & 0o222
    assert "said hush-hush" in found["local"]["sum/0"]
    assert "said none" in found["direct"]["sum/0"]
    without = {name: text.replace("hush-hush", "none") for name, text in found["local"].items()}
    assert found["direct"] == found["step"] == without


FAILING = """
rule all:
    input: "exits", "killed", "missing", "old", "good"
rule exits:
    output: "exits"
    shell: "echo half > {output}; echo complaint >&2; exit 3"
rule killed:
    output: "killed"
    shell: "echo half > {output}; kill -KILL $$"
rule missing:
    output: "missing"
    shell: "true"
rule old:
    input: "Snakefile"
    output: "old"
    shell: "touch -d 2001-01-01 {output}"
rule good:
    output: "good"
    shell: "touch {output}"
"""


def test_failed_steps_are_told_their_outputs_go_and_others_go_on(tmp_path):
    folder = step_workflows.write(tmp_path / "w", FAILING)
    code, said = step_workflows.run(folder, *PARSL, "--keep-going")
    assert code == 1
    assert "returned non-zero exit status 3" in said
    assert "died with <Signals.SIGKILL: 9>" in said
    assert "the step was killed by SIGKILL" in said
    assert "Missing output" in said or "missing" in said.lower()
    logs = [path.read_text() for path in (folder / ".snakemake" / "parsl" / "logs").rglob("exits.*.log")]
    assert logs == ["complaint\n"]
    assert (folder / "good").exists()
    assert not [name for name in ("exits", "killed", "missing") if (folder / name).exists()]


def test_a_killed_worker_costs_its_step_one_more_run_and_no_retry(tmp_path):
    folder = step_workflows.write(tmp_path / "w", step_workflows.SLEEP.format(seconds=3))
    driver = step_workflows.start(folder, *PARSL)
    step_workflows.wait_for(folder / "pids")
    (step,) = pids(folder)
    os.kill(parent(parent(step)), signal.SIGKILL)  # step, server, worker
    assert step_workflows.gone(step)
    assert driver.wait(timeout=step_workflows.PATIENCE_S) == 0
    assert "lost its worker and is run again" in (folder / "said").read_text()
    assert len(pids(folder)) == 2


def test_after_the_driver_was_killed_the_same_line_ends_what_ran_and_repeats_only_that(tmp_path):
    lines = "rule all:\n    input: 'first', 'done'\nrule first:\n    output: 'first'\n    shell: 'echo 1 >> firsts; touch {output}'\n"
    slow = step_workflows.SLEEP.format(seconds="$(test -e again && echo 0 || echo 100)").replace(
        "rule one:", "rule one:\n    input: 'first'"
    )
    folder = step_workflows.write(tmp_path / "w", lines + slow)
    driver = step_workflows.start(folder, *PARSL)
    step_workflows.wait_for(folder / "pids")
    driver.kill()
    driver.wait()
    (step,) = pids(folder)
    assert step_workflows.is_alive(step)  # nobody told the block yet
    (folder / "again").touch()
    code, said = step_workflows.run(folder, *PARSL, "--rerun-incomplete", "--nolock")
    assert code == 0, said
    assert "Gave back the blocks of a driver that died" in said
    assert not step_workflows.is_alive(step)
    assert (folder / "firsts").read_text() == "1\n"
    assert len(pids(folder)) == 2


def test_a_cancelled_run_ends_its_steps_and_blocks(tmp_path):
    folder = step_workflows.write(tmp_path / "w", step_workflows.SLEEP.format(seconds=100))
    driver = step_workflows.start(folder, *PARSL)
    step_workflows.wait_for(folder / "pids")
    (step,) = pids(folder)
    driver.send_signal(signal.SIGINT)
    assert driver.wait(timeout=step_workflows.PATIENCE_S) != 0
    assert step_workflows.gone(step)
    assert not (folder / "done").exists()
    assert not list((folder / ".snakemake" / "parsl").glob("*.blocks"))


def test_a_driver_that_is_asked_to_end_lets_its_steps_finish_and_begins_no_other(tmp_path):
    following = "rule next:\n    input: 'done'\n    output: 'next'\n    shell: 'touch {output}'\n"
    folder = step_workflows.write(tmp_path / "w", following + step_workflows.SLEEP.format(seconds=4))
    driver = step_workflows.start(folder, *PARSL)
    step_workflows.wait_for(folder / "pids")
    driver.send_signal(signal.SIGTERM)
    driver.wait(timeout=step_workflows.PATIENCE_S)
    assert (folder / "done").exists()
    assert not (folder / "next").exists()
    assert not list((folder / ".snakemake" / "parsl").glob("*.blocks"))


def test_a_job_that_no_block_holds_is_refused_in_a_sentence(tmp_path):
    folder = step_workflows.write(
        tmp_path / "w", "rule one:\n    output: 'x'\n    threads: 3\n    shell: 'touch {output}'\n"
    )
    code, said = step_workflows.run(folder, *PARSL)
    assert code == 1
    assert "one: asks for threads=3, but a block has 2; raise --parsl-cores or lower it" in said


def test_no_secret_is_in_the_environment_of_a_worker_or_in_a_file_of_the_run(tmp_path):
    line = "for p in $PPID $(ps -o ppid= -p $PPID); do cat /proc/$p/environ >> {output}; done; env -0 >> {output}"
    folder = step_workflows.write(tmp_path / "w", f"rule one:\n    output: 'seen'\n    shell: '{line}'\n")
    code, said = step_workflows.run(folder, *PARSL)
    assert code == 0, said
    seen = (folder / "seen").read_bytes()
    assert b"PATH=" in seen
    assert b"hush-hush" not in seen
    kept = [path for path in (folder / ".snakemake").rglob("*") if path.is_file() and b"hush-hush" in path.read_bytes()]
    assert kept == []
