"""The Parsl executor with pilot blocks in a real private Slurm."""

import importlib.util
import subprocess
import time

import private_slurm
import pytest
import step_workflows
from snakemake.common.tests import TestWorkflowsLocalStorageBase

from snakemake_executor_plugin_parsl import ExecutorSettings

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("parsl") is None, reason="parsl is not installed"),
    pytest.mark.queues,
    pytest.mark.skipif(not private_slurm.AVAILABLE, reason=private_slurm.REASON),
]

PARSL = ("--executor", "parsl", "--jobs", "100", "--parsl-provider", "slurm", "--parsl-cores", "2")
PARSL += ("--parsl-memory-mb", "4000", "--parsl-walltime-min", "10", "--parsl-address", "127.0.0.1")


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slurm") / "private"
    with private_slurm.running(folder) as settings:
        yield settings | {"FOLDER": str(folder)}


def jobs(slurm: dict[str, str]) -> list[str]:
    command = ["squeue", "-h", "-t", "PD,R,CG", "-o", "%i"]
    return subprocess.run(command, env={**slurm}, capture_output=True, text=True, check=True).stdout.split()


class TestConformance(TestWorkflowsLocalStorageBase):
    """Snakemake's own cases."""

    __test__ = True

    @pytest.fixture(autouse=True)
    def _queue(self, slurm, monkeypatch):
        for name, value in slurm.items():
            monkeypatch.setenv(name, value)

    def get_executor(self):
        return "parsl"

    def get_executor_settings(self):
        return ExecutorSettings(provider="slurm", cores=2, memory_mb=4000, walltime_min=10, address="127.0.0.1")


@pytest.mark.slow
def test_a_workflow_of_every_sort_gives_the_same_as_on_this_machine(tmp_path, slurm):
    found = {}
    for name, words in {"local": ("--cores", "2"), "slurm": PARSL}.items():
        folder = step_workflows.write(tmp_path / name, step_workflows.EVERY_SORT)
        code, said = step_workflows.run(folder, *words, **slurm)
        assert code == 0, said
        found[name] = step_workflows.results(folder)
    # A block gets nothing of the driver's environment but what finds programs.
    assert found["slurm"] == {name: text.replace("hush-hush", "none") for name, text in found["local"].items()}


def test_many_steps_take_one_job_and_slurm_holds_no_secret(tmp_path, slurm):
    text = "rule all:\n    input: expand('out/{i}', i=range(20))\n"
    text += "rule one:\n    output: 'out/{i}'\n    resources: mem_mb=500, runtime=5\n"
    # The block's job script and environment lie in slurmd's spool while it runs; slurmctld has a copy.
    text += "    shell: 'env -0 > {output}; echo $SLURM_JOB_ID >> {output}; cat /proc/$PPID/environ >> {output};'\n"
    text += "        ' grep -ral hush-hush $FOUND/spool $FOUND/state >> found || true'\n"
    folder = step_workflows.write(tmp_path / "w", text.replace("$FOUND", slurm["FOLDER"]))
    code, said = step_workflows.run(folder, *PARSL, **slurm)
    assert code == 0, said
    seen = [path.read_bytes() for path in (folder / "out").iterdir()]
    assert len(seen) == 20
    assert not [one for one in seen if b"hush-hush" in one]
    assert (folder / "found").read_text() == ""
    assert len({one.partition(b"SLURM_JOB_ID=")[2].partition(b"\0")[0] for one in seen}) == 1
    assert jobs(slurm) == []


def test_a_block_that_slurm_ends_costs_nothing_that_is_finished(tmp_path, slurm):
    text = "rule all:\n    input: 'first', 'done'\nrule first:\n    output: 'first'\n    shell: 'echo 1 >> firsts; touch {output}'\n"
    slow = step_workflows.SLEEP.format(seconds="$(test -e again && echo 0 || echo 100)")
    folder = step_workflows.write(tmp_path / "w", text + slow.replace("rule one:", "rule one:\n    input: 'first'"))
    driver = step_workflows.start(folder, *PARSL, **slurm)
    step_workflows.wait_for(folder / "pids")
    (folder / "again").touch()
    subprocess.run(["scancel", *jobs(slurm)], env={**slurm}, check=True)
    assert driver.wait(timeout=step_workflows.PATIENCE_S) == 0, (folder / "said").read_text()
    assert (folder / "firsts").read_text() == "1\n"
    assert len((folder / "pids").read_text().split()) == 2


def test_the_block_of_a_killed_driver_is_given_back_before_the_next_run_submits(tmp_path, slurm):
    folder = step_workflows.write(
        tmp_path / "w", step_workflows.SLEEP.format(seconds="$(test -e again && echo 0 || echo 100)")
    )
    driver = step_workflows.start(folder, *PARSL, **slurm)
    step_workflows.wait_for(folder / "pids")
    driver.kill()
    driver.wait()
    (old,) = jobs(slurm)
    (folder / "again").touch()
    code, said = step_workflows.run(folder, *PARSL, "--rerun-incomplete", "--nolock", **slurm)
    assert code == 0, said
    assert f"Gave back the blocks of a driver that died: {old}" in said
    time.sleep(1)
    assert jobs(slurm) == []
