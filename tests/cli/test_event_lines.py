import os

import pytest
from state_events import SPEC, end, job_error, start, tell

from sophron.campaign.state import projector
from sophron.cli._event_lines import EventLines, decisive_line

JOB = {"step": "produce-0", "stage": "produce", "rule": "produce", "wildcards": {"replica": "0"}, "jobid": 4}


def test_a_failure_has_cause_decisive_line_log_and_next_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tell(tmp_path, "spec_loaded", **SPEC)
    tell(tmp_path, "approved", version=1, approver="ann", record="r")
    lines = EventLines(tmp_path)
    tell(tmp_path, "step_queued", "snakemake", **JOB, log="logs/produce/0.log")
    start(tmp_path, "produce", "0")
    log = tmp_path / "records/produce-0/1/log.lammps"
    log.parent.mkdir(parents=True)
    log.write_text("Step 1\nERROR: Lost atoms: original 4000 current 3999\nLast command: run 5\n")
    job_error(tmp_path, "produce-0", "produce", "produce")
    projector.project(tmp_path)
    (line,) = lines.read()
    assert line.plain().split("\n") == [
        f"failed            produce      {'produce-0':<41}  ERROR: Lost atoms: original 4000 current 3999",
        "        log: records/produce-0/1",
        "        next: snakemake",
    ]
    start(tmp_path, "produce", "0", attempt=2)
    end(tmp_path, "produce", "0", status="retry", reason="out of memory\x1b[2J")
    job_error(tmp_path, "produce-0", "produce", "produce")
    (again,) = lines.read()
    assert again.text == "out of memory; it is tried again with more"
    assert lines.read() == []


def test_an_engine_that_failed_is_no_finished_step(tmp_path):
    lines = EventLines(tmp_path)
    start(tmp_path, "produce", "0")
    end(tmp_path, "produce", "0", status="failed", reason="lost atoms")
    tell(tmp_path, "job_finished", "snakemake", **JOB, done=3, total=9)
    (line,) = lines.read()
    assert (line.kind, line.text, line.count) == ("failed", "lost atoms", (3, 9))


def test_gates_are_told(tmp_path):
    lines = EventLines(tmp_path)
    tell(tmp_path, "drafted", version=2, rationale="r", invalidated_stages=[])
    tell(tmp_path, "approved", version=2, approver="ann\x1b[2J", record="r")
    assert [line.plain() for line in lines.read()] == [
        "gate    version 2 is drafted and waits for a signature: sophron review, sophron approve",
        "gate    version 2 is signed by ann",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nKeyError: 'x'\nb\n", "KeyError: 'x'"),
        ("error one\nerror two\n", "error two"),
        ("no word of it\nthe end\n\n", "the end"),
        ("", None),
        ("x" * 100_000 + "\nsophron stage: no\n", "sophron stage: no"),
    ],
)
def test_the_decisive_line_of_a_log(tmp_path, text, line):
    path = tmp_path / "a.log"
    path.write_text(text)
    assert decisive_line(path) == line
    assert decisive_line(tmp_path) == line
    assert decisive_line(tmp_path / "none") is None


def test_a_log_that_is_no_file_says_nothing(tmp_path):
    os.mkfifo(tmp_path / "a.log")
    (tmp_path / "try.json").write_text("{}")
    assert decisive_line(tmp_path) is None
