"""What a run prints: with a terminal and without, after failures and kills, and where the display itself fails."""

import io
import logging
import os
import re
import shutil
import signal
import sys

import pytest
import warm_snakemake
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.tests import MockOutputSettings
from stub_pipeline import command, make_pipeline, outcome, snakemake
from stub_terminal import Terminal
from toy import BASICS
from toy import campaign as toy_campaign

import sophron
from snakemake_logger_plugin_sophron import LogHandler, LogHandlerSettings
from sophron.campaign.planning import plan_documents
from sophron.cli import _campaign_status, _live_display
from sophron.records import documents
from sophron.records.files import resource


@pytest.fixture(name="campaign")
def _campaign(tmp_path, monkeypatch):
    """The arithmetic campaign with the profile that every campaign has."""
    made = toy_campaign(tmp_path, monkeypatch)
    shutil.copytree(resource("profiles", "default"), made.root / "profiles" / "default")
    return made


def test_a_campaign_whole_one_line_a_step_and_the_next_command(campaign):
    unsigned = campaign.snakemake()
    assert unsigned.returncode == 1
    gate = [line for line in unsigned.stdout.splitlines() if "not approved yet" in line]
    assert gate == [
        "gate    sophron gate: arithmetic: the plan is not approved yet; look at it and sign: sophron review, sophron approve"
    ]
    assert "next: sophron review" in unsigned.stdout
    campaign.sign()
    plan_documents.record_in_force(campaign.root)
    lines = campaign.complete().stdout.splitlines()
    assert len(lines) == 24
    assert [line.split()[0] for line in lines[2:-1]] == ["done"] * 21
    (step,) = (line for line in lines if " b-0 " in line)
    assert re.fullmatch(r"done +\[\d+/22\] b +b-0 +[\d.]+ s +\d+ MB", step)
    (judged,) = (line for line in lines if " verify-b " in line)
    assert judged.endswith(" pass")
    assert lines[-1] == "ended   22 of 22 jobs done; next: sophron answer"
    assert "Nothing to be done" in campaign.complete().stdout
    seen = _campaign_status.view(campaign.root)
    documents.validate(documents.Document(seen, campaign.root), "workflow-state")
    assert seen["live"]["eta"] == {"seconds": 0.0, "basis": "measured"}


def test_from_another_folder_it_is_the_campaign_that_the_workflow_opens(campaign, tmp_path):
    host = tmp_path / "above"
    shutil.copytree(campaign.root / "profiles", host / "profiles")
    (host / "config").mkdir()
    (host / "config" / "config.yaml").write_text(f"campaign: {campaign.root}\n")
    told = warm_snakemake.run(["-s", str(sophron.SNAKEFILE), *BASICS], host).stdout
    assert f"{campaign.root.name}: 23 jobs to do" in told
    assert "the plan is not approved yet" in told
    assert "Job stats" not in told


def test_a_failed_verdict_names_cause_log_and_next_command(campaign):
    campaign.edit("total == 10", "total == 11")
    campaign.sign()
    lines = campaign.snakemake().stdout.splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("failed"))
    assert "accept-a" in lines[place]
    assert lines[place].endswith("total: total == 11 is not so in a (total = 10)")
    assert [line.strip() for line in lines[place + 1 : place + 3]] == ["log: logs/a/accept.log", "next: sophron amend"]
    assert lines[-1].endswith("2 of 22 jobs done; next: sophron amend")


def test_on_a_terminal_steps_scroll_above_a_bar(campaign, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    campaign.sign()
    plan_documents.record_in_force(campaign.root)
    exported_before = {"NO_COLOR": "1", "COLUMNS": "80"}
    for columns, environment in ((100, {}), (40, exported_before)):
        command_line = [sys.executable, "-m", "snakemake", "-c1", "results/a/passed"]
        run = Terminal(command_line, os.environ | environment, campaign.root, columns=columns)
        assert run.end() == 0
        assert b" left" in run.raw
        text = run.text()
        assert text.count(" verify-a ") == 1
        assert "━" not in text  # the bar is gone
        assert max(map(len, run.screen())) <= columns
        assert (b"\x1b[3" in run.raw) is not bool(environment)
        assert run.raw.rfind(b"\x1b[?25h") >= run.raw.rfind(b"\x1b[?25l")  # the cursor is there
        shutil.rmtree(campaign.root / "results")
        shutil.rmtree(campaign.root / "scratch")


def test_a_kill_of_the_driver_leaves_a_terminal_and_watch_tells(tmp_path):
    root = make_pipeline(tmp_path, outcome("sleeps"))
    told = command(root)
    run = Terminal(told["args"], told["env"], root)
    assert run.read(until="running,")
    assert run.raw.rfind(b"\x1b[?25h") > run.raw.rfind(b"\x1b[?25l")
    os.kill(run.pid, signal.SIGKILL)
    (step,) = _campaign_status.view(root)["live"]["steps"]
    assert step["step"] == "produce-sleeps-0"
    os.kill(_campaign_status.view(root)["running_process"][0]["pid"], signal.SIGKILL)
    os.waitpid(run.pid, 0)
    watch = Terminal([sys.executable, "-m", "sophron", "watch", str(root)], told["env"], columns=60)
    assert watch.read(until="snakemake is lost; next: ")
    assert "lost; run snakemake again" in watch.text()
    os.kill(watch.pid, signal.SIGINT)
    assert watch.end() == 130


def test_failures_of_jobs_are_told_once_and_quiet_hides_steps_alone(tmp_path):
    root = make_pipeline(tmp_path, outcome("works"), outcome("dies"), "foreign", "passed")
    done = snakemake(root, "--keep-going", "--quiet", "rules")
    assert done.returncode == 1
    kinds = [line.split()[0] for line in done.stderr.splitlines()]
    assert "done" not in kinds
    told = [line.split()[:2] for line in done.stderr.splitlines() if line.startswith("failed")]
    assert sorted(name for _, name in told) == ["produce", "produce"]  # the killed step once, the failed accept once
    assert snakemake(root, "--keep-going", "--quiet", "all").stderr == ""


def test_a_dry_run_and_plain_are_snakemakes_own_text(tmp_path):
    root = make_pipeline(tmp_path, outcome("works"))
    (shown,) = {re.sub(r"\d\d:\d\d:\d\d|Workflow ID: \S+", "", snakemake(root, "-n").stdout)}
    assert "Job stats:" in shown
    assert "reason: Missing output files" in shown
    plain = snakemake(root, "--logger-sophron-plain").stderr
    assert "Select jobs to execute..." in plain
    assert "2 of 2 steps (100%) done" in plain


class Settings(MockOutputSettings):
    """As a person's run has them."""

    def __init__(self, **others):
        super().__init__()
        self.printshellcmds = self.show_failed_logs = False
        self.log_handler_settings = {}
        vars(self).update(others)


class FakeTerminal(io.StringIO):
    def isatty(self):
        return True


def record(message, level=logging.INFO, **fields):
    made = logging.LogRecord("snakemake", level, "x.py", 1, message, (), None)
    vars(made).update(fields)
    return made


def handler(root, **settings):
    return LogHandler(common_settings=Settings(**settings), settings=LogHandlerSettings(campaign=str(root)))


def test_another_logger_or_more_of_snakemakes_text_leave_the_stream_alone(tmp_path):
    assert handler(tmp_path).writes_to_stream
    assert not handler(tmp_path, log_handler_settings={"sophron": None, "rich": None}).writes_to_stream
    for option in ("dryrun", "verbose", "printshellcmds", "show_failed_logs", "debug_dag"):
        assert not handler(tmp_path, **{option: True}).writes_to_stream


@pytest.mark.parametrize("broken", ["the display", "the display and the lines"])
def test_a_display_that_fails_gives_way_to_a_plainer_one(tmp_path, monkeypatch, broken):
    (tmp_path / "campaign.yaml").write_text("campaign: x\n")
    terminal = FakeTerminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")

    def fail(*_):
        raise ZeroDivisionError("not today")

    monkeypatch.setattr(_live_display.Display, "print", fail)
    if broken != "the display":
        monkeypatch.setattr("snakemake_logger_plugin_sophron.screen.Lines._print", fail)
    told = handler(tmp_path)
    told.emit(record("Building DAG of jobs..."))
    told.emit(record("Job stats", event=LogEvent.RUN_INFO, stats={"total": 3}))
    told.emit(record("The disk is nearly full.", logging.WARNING))
    told.close()
    text = terminal.getvalue()
    assert "the display failed (ZeroDivisionError: not today)" in text
    assert "The disk is nearly full." in text
    assert ("Job stats" in text) is (broken != "the display")  # Snakemake's own handler prints the table


def test_without_jobs_to_run_all_is_snakemakes(tmp_path, monkeypatch):
    (tmp_path / "campaign.yaml").write_text("campaign: x\n")
    monkeypatch.setattr(sys, "stderr", terminal := io.StringIO())
    told = handler(tmp_path)
    told.emit(record("Congratulations, your workflow is in a good condition!"))
    told.close()
    assert terminal.getvalue() == "Congratulations, your workflow is in a good condition!\n"
    assert [path.name for path in tmp_path.iterdir()] == ["campaign.yaml"]


def test_an_error_of_snakemakes_is_shown_whole_and_once(tmp_path, monkeypatch):
    (tmp_path / "campaign.yaml").write_text("campaign: x\n")
    monkeypatch.setattr(sys, "stderr", terminal := io.StringIO())
    told = handler(tmp_path)
    for _ in range(2):
        told.emit(record("SyntaxError in Snakefile, line 13:\nrule x", logging.ERROR, event=LogEvent.ERROR))
    told.emit(record("WorkflowError:\nAt least one job did not complete successfully.", event=LogEvent.ERROR))
    told.close()
    assert terminal.getvalue() == "error   SyntaxError in Snakefile, line 13:\nrule x\n"


def test_outside_a_campaign_all_is_snakemakes(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := FakeTerminal())
    told = handler(tmp_path)
    told.emit(record("Building DAG of jobs..."))
    assert terminal.getvalue() == ""
    told.emit(record("Job stats", event=LogEvent.RUN_INFO, stats={"total": 3}))
    told.close()
    assert "Building DAG of jobs..." in terminal.getvalue()
    assert "Job stats" in terminal.getvalue()
