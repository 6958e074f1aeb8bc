import json
import os
import signal
import subprocess
import sys
import time
from datetime import datetime

import pytest
from jsonschema import Draft202012Validator

from sophron.records import documents, events, process_identity

PROCESS = {"pid": 7, "pid_start": "boot/1", "host": "node1"}
STEP = {"step": "produce-3", "stage": "produce"}
EXAMPLES = {
    "spec_loaded": {
        "workflow_id": "lj",
        "version": 1,
        "digest": "a" * 64,
        "stages": [{"id": "produce", "depends_on": [], "parameters": {}, "success_criteria": [], "steps": 4}],
        "experiment_design": "experiment-design.md",
        "workflow_plan": "workflow-plan.md",
    },
    "approved": {"version": 1, "approver": "ann", "record": "r"},
    "drafted": {"version": 2, "rationale": "longer", "invalidated_stages": ["produce"]},
    "draft_dropped": {"version": 2},
    "amended": {
        "version": 2,
        "changes": ["stages.produce.definition.steps: 1 -> 2"],
        "rationale": "longer",
        "invalidated_stages": ["produce"],
        "approved_by": "ann",
        "timestamp": "2026-11-21T22:13:37+00:00",
    },
    "invalidated": {"stage": "produce", "version": 1},
    "overlay": {"stage": "produce", "key": "threads", "value": 2},
    "refused": {"step": "produce-3", "reason": "another spec"},
    "run_started": {**PROCESS, "snakemake_version": "9.27.1"},
    "run_ended": {"pid": 7, "host": "node1", "done": 3, "total": 4},
    "run_progress": {"done": 3, "total": 4},
    "run_error": {"reason": "no space"},
    "step_queued": {**STEP, "rule": "produce", "wildcards": {"replica": "3"}, "jobid": 5},
    "step_started": {
        **STEP,
        **PROCESS,
        "rule": "produce",
        "wildcards": {"replica": "3"},
        "try": 1,
        "log": "records/produce-3/1",
        "digest": "d",
    },
    "step_ended": {**STEP, "wildcards": {"replica": "3"}, "status": "done", "reason": None},
    "job_finished": {**STEP, "rule": "produce", "wildcards": {"replica": "3"}, "jobid": 5},
    "job_error": {**STEP, "rule": "produce", "wildcards": {"replica": "3"}, "jobid": 5, "exit": "killed by SIGKILL"},
    "host_planned": {"finished": {"align": ["align-a"]}, "again": {}},
    "host_job_started": {"step": "align-b", "rule": "align"},
    "host_job_finished": {"step": "align-b", "rule": "align", "done": 1, "total": 4},
    "host_job_failed": {"step": "align-b", "rule": "align", "exit": "exit code 1", "log": None},
    "verdict": {"stage": "produce", "verdict": "fail", "failed": ["drift"]},
    "accepted": {"stage": "produce"},
    "agent_answered": {
        "step": "caveats",
        "agent": "report",
        "backend": "heuristic",
        "model": "m",
        "calls": 1,
        "summary": "s",
    },
    "cleared": {"step": "a", "stage": "a", "wildcards": {}, "kept": "records/a/failed-1"},
    "agent_asked": {"step": "caveats", "agent": "report"},
    "agent_failed": {"step": "caveats", "agent": "report", "kind": "refusal", "reason": "r"},
    "reasked": {"step": "caveats", "number": 1},
    "suspicious_text": {"step": "caveats", "agent": "caveats", "where": "assumptions", "reason": "be silent"},
}


def fields(event):
    return {key: value for key, value in event.items() if key not in {"time", "actor", "event"}}


@pytest.mark.parametrize("name", events.REQUIRED)
def test_every_event_comes_back_and_is_valid(tmp_path, name):
    events.append(tmp_path, "sophron", name, **EXAMPLES[name])
    (event,), offset = events.read(tmp_path)
    assert fields(event) == EXAMPLES[name]
    assert offset == (tmp_path / events.FILE).stat().st_size
    documents.validate(documents.Document(event, tmp_path / events.FILE), "event")


def test_code_and_schema_require_the_same_fields():
    schema = documents.schema("event")
    assert {name: set(schema["$defs"][name]["required"]) for name in events.REQUIRED} == events.REQUIRED
    assert set(schema["properties"]["event"]["enum"]) == set(events.REQUIRED)
    assert len(schema["allOf"]) == len(events.REQUIRED)


@pytest.mark.parametrize("name", events.REQUIRED)
def test_the_schema_knows_no_further_field(name):
    event = {"time": "2026-11-21T22:13:37+00:00", "actor": "sophron", "event": name, **EXAMPLES[name], "colour": 1}
    faults = [error.message for error in Draft202012Validator(documents.schema("event")).iter_errors(event)]
    assert len(faults) == 1
    assert "colour" in faults[0]


def test_time_is_iso_with_offset_and_from_the_clock(tmp_path):
    events.append(tmp_path, "sophron", "accepted", stage="build")
    (event,), _ = events.read(tmp_path)
    told = datetime.fromisoformat(event["time"])
    assert told.utcoffset() is not None
    assert abs(told.timestamp() - time.time()) < 5


def test_unknown_events_and_missing_fields_are_refused(tmp_path):
    with pytest.raises(ValueError, match="lacks a known name"):
        events.append(tmp_path, "sophron", "celebrated", stage="build")
    with pytest.raises(ValueError, match='"verdict" lacks failed, verdict'):
        events.append(tmp_path, "sophron", "verdict", stage="build")
    with pytest.raises(ValueError, match="JSON"):
        events.append(tmp_path, "sophron", "overlay", stage="build", key="k", value=float("nan"))
    assert events.read(tmp_path) == ([], 0)


def test_reading_goes_on_where_it_stopped(tmp_path):
    events.append(tmp_path, "sophron", "accepted", stage="a")
    first, offset = events.read(tmp_path)
    events.append(tmp_path, "sophron", "accepted", stage="b")
    second, end = events.read(tmp_path, offset)
    assert [event["stage"] for event in first + second] == ["a", "b"]
    assert events.read(tmp_path, end) == ([], end)


def test_a_line_torn_at_any_byte_is_skipped_and_loses_no_other(tmp_path):
    events.append(tmp_path, "sophron", "accepted", stage="a")
    events.append(tmp_path, "sophron", "accepted", stage="b")
    path = tmp_path / events.FILE
    whole = path.read_bytes()
    start = whole.index(b"\n") + 1
    for length in range(start, len(whole)):
        path.write_bytes(whole[:length])
        before, offset = events.read(tmp_path)
        assert ([event["stage"] for event in before], offset) == (["a"], start)
        events.append(tmp_path, "sophron", "accepted", stage="c")
        after, _ = events.read(tmp_path, offset)
        # The last byte of a line is its newline: a line that lacks only this one was said in full.
        assert [event["stage"] for event in after] == (["b", "c"] if length == len(whole) - 1 else ["c"])


def test_a_foreign_line_is_skipped(tmp_path):
    (tmp_path / "records").mkdir()
    lines = ["not json", "[1]", '{"event":"accepted"}', '{"event":["a"]}', '{"event":"new","time":"t","actor":"a"}', ""]
    (tmp_path / events.FILE).write_text("\n".join(lines) + "\n")
    events.append(tmp_path, "sophron", "accepted", stage="a")
    assert [event["stage"] for event in events.read(tmp_path)[0]] == ["a"]


WRITER = """
import sys
from pathlib import Path
from sophron.records import events
for number in range(int(sys.argv[3])):
    events.append(Path(sys.argv[1]), sys.argv[2], "refused", step=f"s-{number}", reason="x" * 300)
    print(number, flush=True)
"""


def test_many_writers_some_of_them_killed_lose_and_tear_nothing(tmp_path):
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [
        subprocess.Popen([*command, f"w{number}", "100000" if number < 3 else "150"], stdout=subprocess.PIPE, text=True)
        for number in range(6)
    ]
    told = {}
    for number, writer in enumerate(writers[:3]):  # these never end by themselves
        told[number] = [int(writer.stdout.readline()) for _ in range(40)]
        writer.send_signal(signal.SIGKILL)
    for number, writer in enumerate(writers):
        told[number] = told.get(number, []) + [int(line) for line in writer.stdout.read().split()]
        writer.wait()
    read, _ = events.read(tmp_path)
    for number in range(6):
        mine = [int(event["step"].split("-")[1]) for event in read if event["actor"] == f"w{number}"]
        assert mine == list(range(len(mine)))
        # What a killed writer said last may be there without its having told us, never the other way round.
        assert len(told[number]) <= len(mine) <= len(told[number]) + 1
    assert all(json.loads(line) for line in (tmp_path / events.FILE).read_text().splitlines())


def test_a_process_is_known_by_its_start(tmp_path):
    me = {"pid": os.getpid(), "pid_start": process_identity.start_of(os.getpid()), "host": process_identity.host()}
    assert process_identity.alive(me) is True
    assert process_identity.alive(me | {"pid_start": "boot/1"}) is False
    assert process_identity.alive(me | {"host": "elsewhere"}) is None
    child = subprocess.Popen(["sleep", "60"])
    entry = {"pid": child.pid, "pid_start": process_identity.start_of(child.pid), "host": process_identity.host()}
    assert process_identity.alive(entry) is True
    child.kill()
    deadline = time.monotonic() + 5
    while process_identity.alive(entry) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process_identity.alive(entry) is False  # dead, though its parent has not collected it yet
    child.wait()
    assert process_identity.start_of(child.pid) is None


def test_the_parents_of_a_process_and_what_it_was_called_with():
    script = "import time; print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        assert next(process_identity.ancestors(child.pid)) == os.getpid()
        assert process_identity.command_line(child.pid)[:3] == [sys.executable, "-c", script]
        assert process_identity.identity(child.pid) | {"pid": 0} != process_identity.identity() | {"pid": 0}
        child.kill()
    assert process_identity.identity(child.pid)["pid_start"] is None
    assert [*process_identity.ancestors(child.pid), *process_identity.command_line(child.pid)] == []
