import os
import pkgutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from snakemake_interface_logger_plugins.tests import TestLogHandlerBase
from stub_pipeline import command, make_pipeline, outcome, snakemake

from snakemake_logger_plugin_sophron import LogHandler, LogHandlerSettings
from snakemake_logger_plugin_sophron.recorder import step_of
from sophron.campaign.state import projector
from sophron.records import events


class TestConformance(TestLogHandlerBase):
    __test__ = True

    @pytest.fixture(autouse=True)
    def _campaign(self, tmp_path):
        (tmp_path / "campaign.yaml").write_text("campaign: x\n")
        self.campaign = tmp_path
        yield
        # Whatever the interface's own tests emit, none of it is a step of ours, and a host's job begins at most.
        known = {"run_error", "run_started", "host_job_started"}
        assert {event["event"] for event in events.read(tmp_path)[0]} <= known

    def get_log_handler_cls(self):
        return LogHandler

    def get_log_handler_settings(self):
        return LogHandlerSettings(campaign=str(self.campaign))


@pytest.fixture(name="make")
def _make(tmp_path):
    """function(wanted outputs...) -> the folder of a pipeline that is a campaign as well."""
    return partial(make_pipeline, tmp_path)


def told(root):
    return [event for event in events.read(root)[0] if event["actor"] == "snakemake"]


def sentences(root):
    return [line.split("] ", 1)[1] for line in (root / "progress.log").read_text().splitlines()]


def test_a_run_with_a_retry_a_kill_and_a_foreign_rule(make):
    root = make(outcome("retries"), outcome("dies"), outcome("works"), "foreign")
    (root / "records").mkdir()
    done = snakemake(root, "--quiet")  # Snakemake itself would not count then
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    names = [event["event"] for event in told(root)]
    assert (names[0], names[-1]) == ("run_started", "run_ended")
    counted = {name: names.count(name) for name in names if name != "run_progress"}
    ours = {"run_started": 1, "step_queued": 5, "job_error": 2, "job_finished": 3, "run_ended": 1}
    assert counted == ours | {"host_job_started": 1, "host_job_finished": 1}
    died = next(event for event in told(root) if event["event"] == "job_error" and "dies" in event["step"])
    assert (died["step"], died["rule"], died["exit"]) == ("produce-dies-0", "x_produce", "killed by SIGKILL")
    assert (told(root)[-1]["done"], told(root)[-1]["total"]) == (5, 5)
    # Each transition stands in the log once, whoever saw it.
    mine = [line for line in sentences(root) if "retries-0" in line or "dies-0" in line]
    assert sorted(line.split(" (")[0] for line in mine) == [
        "snakemake: produce-dies-0 died without a word: killed by SIGKILL",
        "sophron: produce-dies-0 done",
        "sophron: produce-dies-0 started",
        "sophron: produce-dies-0 started again",
        "sophron: produce-retries-0 asks for a retry: out of memory",
        "sophron: produce-retries-0 done",
        "sophron: produce-retries-0 started",
        "sophron: produce-retries-0 started again",
    ]


def test_a_failing_run_fails_its_step_and_ends(make):
    root = make("passed")
    assert snakemake(root).returncode == 1
    assert sentences(root)[1:] == [
        "snakemake: accept-produce failed: exit code 1 (job 1 of rule x_accept)",
        sentences(root)[-1],
    ]
    assert sentences(root)[-1].endswith("0 of 2 jobs done")
    now = projector.project(root)
    assert list(now["failed_steps"]) == ["accept-produce"]


def test_a_dry_run_leaves_no_trace(make):
    root = make(outcome("works"))
    before = {path for path in root.rglob("*") if ".snakemake" not in path.parts}
    assert snakemake(root, "--dry-run").returncode == 0
    assert {path for path in root.rglob("*") if ".snakemake" not in path.parts} == before


def test_a_killed_driver_leaves_what_it_started(make):
    root = make(outcome("sleeps"))
    driver = subprocess.Popen(**command(root), cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not (running := projector.project(root)["running_process"]) and time.monotonic() < deadline:
        time.sleep(0.1)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    os.kill(running[0]["pid"], signal.SIGKILL)
    now = projector.project(root)
    assert now["run"]["ended_at"] is None
    assert now["run"]["pid"] == driver.pid
    again = snakemake(root, "--rerun-incomplete", "--nolock")
    assert again.returncode == 0, again.stderr
    now = projector.project(root)
    assert (now["run"]["done"], now["running_process"]) == (2, [])
    assert "sophron: produce-sleeps-0 was cut off and started again" in "\n".join(sentences(root))


def test_outside_a_campaign_it_is_silent_and_a_setting_names_one(make, tmp_path_factory):
    root = make(outcome("works"))
    host = tmp_path_factory.mktemp("host")
    (host / "Snakefile").write_text((root / "Snakefile").read_text())
    assert snakemake(root, cwd=host).returncode == 0
    assert told(root) == []
    (host / outcome("works")).unlink()
    assert snakemake(root, "--logger-sophron-campaign", str(root), cwd=host).returncode == 0
    assert told(root)[0]["event"] == "run_started"
    assert {path.name for path in host.iterdir()} == {"Snakefile", "results", ".snakemake"}


def test_a_disk_that_refuses_stops_nothing(make):
    root = make(outcome("works"), "foreign")
    (root / "records").write_text("in the way")
    done = snakemake(root, "foreign")
    assert done.returncode == 0, done.stderr
    assert snakemake(root, "passed").returncode == 1


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("sophron stage build --gate g --outcome o", ("build", "build", {})),
        (
            "sophron stage shear --wildcard rate=1e-05 --wildcard replica=3 --digest d",
            ("shear-1e-05-3", "shear", {"rate": "1e-05", "replica": "3"}),
        ),
        ("source env/bin/activate; sophron verify green_kubo --gate g", ("verify-green_kubo", "green_kubo", None)),
        ("sophron report --gate g", ("report", None, {})),
        ("sophron agent run caveats --gate g", ("caveats", None, {})),
        ("sophron agent run debug --gate g --wildcard stage=a --wildcard attempt=2", ("debug-a-2", None, None)),
        ("sophron gate approvals/gate.json", ("gate", None, {})),
        ("mysophron stage build --gate g", None),
        ("sophron status ", None),
        ("", None),
    ],
)
def test_a_step_is_known_by_its_shell_line(line, step):
    found = step_of(line)
    assert (found and found[:2]) == (step and step[:2])
    if step and step[2] is not None:
        assert found[2] == step[2]


def test_it_is_found_by_its_name_and_light():
    assert "snakemake_logger_plugin_sophron" in {module.name for module in pkgutil.iter_modules() if module.ispkg}
    code = "import snakemake_interface_logger_plugins.base, sys; before = set(sys.modules)\n"
    code += "import snakemake_logger_plugin_sophron; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path("/"))
    heavy = {name for name in done.stdout.split() if name.startswith(("sophron.", "yaml", "numpy", "jinja2", "rich"))}
    assert heavy == {"sophron.records", "sophron.records.import_path"}
