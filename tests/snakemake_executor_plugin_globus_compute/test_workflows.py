"""The Globus Compute executor over a real local engine; the cloud is left out, see `cloud_stand_in`."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import step_workflows
from snakemake.common.tests import TestWorkflowsLocalStorageBase
from snakemake_interface_common.exceptions import WorkflowError

from snakemake_executor_plugin_globus_compute import ExecutorSettings, class_of, endpoint_ids

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("globus_compute_endpoint") is None, reason="globus_compute_endpoint is not installed"
)

HERE = Path(__file__).parent
CPU, GPU = "6b7e1b0e-0000-4000-8000-000000000001", "6b7e1b0e-0000-4000-8000-000000000002"
GLOBUS = ("--executor", "globus-compute", "--jobs", "100", "--globus-compute-endpoints", f"cpu={CPU},gpu={GPU}")


def start(folder: Path, *words: str, **more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(HERE / "cloud_stand_in.py"), str(folder.parent / "engines" / str(time.time_ns()))]
    command += step_workflows.command(*GLOBUS, *words)[3:]
    with (folder / "said").open("ab") as said:
        # Whoever runs the tests in the background ignores SIGINT, and so would all that they start.
        line = ["env", "--default-signal=INT", *command]
        surroundings = step_workflows.environment(**more)
        return subprocess.Popen(line, cwd=folder, env=surroundings, stdout=said, stderr=said, start_new_session=True)


def run(folder: Path, *words: str) -> tuple[int, str]:
    code = start(folder, *words).wait(timeout=step_workflows.PATIENCE_S)
    return code, (folder / "said").read_text()


class TestConformance(TestWorkflowsLocalStorageBase):
    """Snakemake's own cases."""

    __test__ = True

    @pytest.fixture(autouse=True)
    def cloud(self, monkeypatch, tmp_path):
        import cloud_stand_in
        import globus_compute_sdk

        monkeypatch.setattr(cloud_stand_in, "FOLDER", tmp_path / "engines", raising=False)
        monkeypatch.setattr(globus_compute_sdk, "Executor", cloud_stand_in.CloudStandIn)
        yield
        cloud_stand_in.end_engines()

    def get_executor(self):
        return "globus-compute"

    def get_executor_settings(self):
        return ExecutorSettings(endpoints=f"cpu={CPU}")


def test_the_class_of_a_step_comes_from_its_resources():
    def named(**resources):
        return class_of(SimpleNamespace(resources=resources))

    assert [named(), named(gpu=1), named(gpu=1, endpoint="large")] == ["cpu", "gpu", "large"]


@pytest.mark.parametrize("word", ["cpu", "cpu=", f"={CPU}"])
def test_an_endpoint_without_class_or_id_is_refused_in_a_sentence(word):
    with pytest.raises(WorkflowError, match="is no CLASS=ID"):
        endpoint_ids(word)


def test_a_workflow_of_every_sort_gives_the_same_as_on_this_machine(tmp_path):
    local = step_workflows.write(tmp_path / "local", step_workflows.EVERY_SORT)
    code, said = step_workflows.run(local, "--cores", "2")
    assert code == 0, said
    folder = step_workflows.write(tmp_path / "globus", step_workflows.EVERY_SORT)
    code, said = run(folder)
    assert code == 0, said
    expected = step_workflows.results(local)
    assert step_workflows.ways(folder)["plain"]
    found = step_workflows.results(folder)
    # The stand-in's endpoint is a child of the driver and has its environment; a real one has its own.
    assert found == expected


def test_a_failed_step_is_told_and_an_unknown_class_is_refused(tmp_path):
    text = "rule all:\n    input: 'a'\nrule a:\n    output: 'a'\n    shell: 'echo complaint; exit 3'\n"
    code, said = run(step_workflows.write(tmp_path / "w", text))
    assert code == 1
    assert "returned non-zero exit status 3" in said
    text = text.replace("    shell", "    resources: endpoint='large'\n    shell")
    code, said = run(step_workflows.write(tmp_path / "v", text))
    assert code == 1
    assert "asks for an endpoint of class large" in said


def test_a_cancelled_run_ends_its_steps_on_endpoints_that_go_on(tmp_path):
    folder = step_workflows.write(tmp_path / "w", step_workflows.SLEEP.format(seconds=100))
    driver = start(folder, ENDPOINT_STAYS_S="600")
    step_workflows.wait_for(folder / "pids")
    step = int((folder / "pids").read_text())
    driver.send_signal(signal.SIGINT)
    assert step_workflows.gone(step)
    assert driver.poll() is None  # the endpoint is still there: the step ended by its lease
    assert not (folder / "done").exists()
    os.killpg(driver.pid, signal.SIGKILL)


def test_a_step_of_a_killed_driver_ends_before_the_next_run_repeats_it(tmp_path):
    folder = step_workflows.write(
        tmp_path / "w", step_workflows.SLEEP.format(seconds="$(test -e again && echo 0 || echo 100)")
    )
    driver = start(folder)
    step_workflows.wait_for(folder / "pids")
    driver.kill()
    driver.wait()
    step = int((folder / "pids").read_text())
    os.kill(step, 0)  # the endpoint goes on
    (folder / "again").touch()
    code, said = run(folder, "--rerun-incomplete", "--nolock")
    assert code == 0, said
    with pytest.raises(ProcessLookupError):
        os.kill(step, 0)
    os.killpg(driver.pid, signal.SIGKILL)
