import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophron.campaign import state
from sophron.campaign.state_log import plain
from sophron.records import clock, documents, events

HOST = {"pid": 4711, "pid_start": "boot/1", "host": "node1"}
SPEC = {
    "workflow_id": "lj",
    "version": 1,
    "digest": "a" * 64,
    "stages": [
        {"id": "build", "depends_on": [], "parameters": {"atoms": 108}, "success_criteria": [], "steps": 1},
        {
            "id": "produce",
            "depends_on": ["build"],
            "parameters": {"steps": 1000},
            "success_criteria": [{"id": "drift", "expression": "drift < 1", "statement": "No drift."}],
            "steps": 2,
        },
    ],
    "experiment_design": "experiment-design.md",
    "workflow_plan": "workflow-plan.md",
}
AMENDMENT = {
    "version": 2,
    "changes": ["stages.produce.definition.steps: 1000 -> 2000"],
    "rationale": "smaller error",
    "invalidated_stages": ["produce"],
    "approved_by": "ann",
    "timestamp": "2026-11-21T22:13:37+00:00",
}


@pytest.fixture(autouse=True)
def _still_clock(monkeypatch):
    monkeypatch.setattr(clock, "isoformat", lambda: "2026-11-21T22:13:37+00:00")


def tell(root, event, actor="sophron", **fields):
    events.append(root, actor, event, **fields)


def start(root, stage, *values, attempt=1):
    step = "-".join([stage, *values])
    wildcards = dict(zip(["replica"], values, strict=False))
    log = f"records/{step}/{attempt}"
    about = {"step": step, "stage": stage, "rule": stage, "wildcards": wildcards, "digest": "d", "log": log}
    tell(root, "step_started", **about, **HOST, **{"try": attempt})


def end(root, stage, *values, status="done", reason=None):
    wildcards = dict(zip(["replica"], values, strict=False))
    step = "-".join([stage, *values])
    tell(root, "step_ended", step=step, stage=stage, wildcards=wildcards, status=status, reason=reason)


def job_error(root, step, stage, rule):
    about = {"step": step, "stage": stage, "rule": rule, "wildcards": {}, "jobid": 4}
    tell(root, "job_error", "snakemake", **about, exit="killed by SIGKILL")


def project(root):
    """The state, after it was checked against its schema and against the file."""
    now = state.project(root)
    assert json.loads((root / state.NAME).read_bytes()) == now
    documents.validate(documents.Document(now, root / state.NAME), "workflow-state")
    return now


def log(root):
    return (root / "progress.log").read_text()


def stage(now, name):
    return next(one for one in now["stages"] if one["id"] == name)


def begun(root):
    tell(root, "spec_loaded", **SPEC)
    tell(root, "approved", version=1, approver="ann", record="approvals/log/0001.json")
    tell(root, "run_started", "snakemake", **HOST, snakemake_version="9.27.1")


def built(root):
    begun(root)
    start(root, "build")
    end(root, "build")
    tell(root, "verdict", stage="build", verdict="pass", failed=[])
    tell(root, "accepted", stage="build")


def test_a_campaign_from_spec_to_completion(tmp_path):
    assert state.project(tmp_path)["next_command"] == "sophron review"
    assert list(tmp_path.iterdir()) == []
    tell(tmp_path, "spec_loaded", **SPEC)
    now = project(tmp_path)
    assert (now["workflow_status"], now["waiting_gate"], now["next_command"]) == (
        "pending",
        "specify",
        "sophron review",
    )
    tell(tmp_path, "approved", version=1, approver="ann", record="approvals/log/0001.json")
    now = project(tmp_path)
    assert (now["waiting_gate"], now["next_command"]) == (None, "snakemake")
    start(tmp_path, "build")
    now = project(tmp_path)
    assert stage(now, "build")["running_process"] == [
        {"step": "build", "log": "records/build/1", "try": 1, "started_at": "2026-11-21T22:13:37+00:00", **HOST}
    ]
    end(tmp_path, "build")
    assert stage(project(tmp_path), "build")["status"] == "in_progress"  # not before it is judged
    tell(tmp_path, "verdict", stage="build", verdict="pass", failed=[])
    tell(tmp_path, "accepted", stage="build")
    assert stage(project(tmp_path), "build")["status"] == "completed"
    for replica in "01":
        start(tmp_path, "produce", replica)
    for replica in "01":
        end(tmp_path, "produce", replica)
    tell(tmp_path, "verdict", stage="produce", verdict="pass", failed=[])
    tell(tmp_path, "accepted", stage="produce")
    now = project(tmp_path)
    produce = stage(now, "produce")
    assert produce["outputs"] == ["results/produce/0", "results/produce/1"]
    assert (produce["steps"], produce["parameters"], produce["depends_on"]) == (2, {"steps": 1000}, ["build"])
    assert (now["workflow_status"], now["next_command"]) == ("completed", None)


def test_the_log_has_one_line_a_transition(tmp_path):
    built(tmp_path)
    start(tmp_path, "produce", "0")
    project(tmp_path)
    lines = log(tmp_path).splitlines()
    assert all(line.startswith("[2026-11-21 22:13:37+00:00] ") for line in lines)
    assert [line.split("] ", 1)[1] for line in lines] == [
        "sophron: spec of lj, version 1: 2 stages, 3 steps",
        "sophron: version 1 approved by ann (approvals/log/0001.json)",
        "snakemake: snakemake 9.27.1 started (pid 4711 on node1)",
        "sophron: build started (try 1, pid 4711 on node1)",
        "sophron: stage build: pending -> in_progress",
        "sophron: campaign: pending -> in_progress",
        "sophron: build done",
        "sophron: verdict on build: pass",
        "sophron: stage build: in_progress -> completed",
        "sophron: produce-0 started (try 1, pid 4711 on node1)",
        "sophron: stage produce: pending -> in_progress",
    ]


def test_a_retry_that_cures(tmp_path):
    built(tmp_path)
    start(tmp_path, "produce", "0")
    end(tmp_path, "produce", "0", status="retry", reason="out of memory")
    job_error(tmp_path, "produce-0", "produce", "produce")
    produce = stage(project(tmp_path), "produce")
    assert (produce["status"], produce["last_error"]) == ("in_progress", "produce-0: out of memory")
    start(tmp_path, "produce", "0", attempt=2)
    end(tmp_path, "produce", "0")
    produce = stage(project(tmp_path), "produce")
    assert (produce["retry_count"], produce["errored_steps"], len(produce["outputs"])) == (1, {}, 1)
    told = [line.split(": ", 1)[1] for line in log(tmp_path).splitlines()[-4:]]
    assert told == [
        "stage produce: pending -> in_progress",
        "produce-0 asks for a retry: out of memory",  # the step said it, Snakemake need not say it again
        "produce-0 started again (try 2, pid 4711 on node1)",
        "produce-0 done",
    ]


def test_a_step_that_died_silently_is_told_by_snakemake_and_fails_when_it_gives_up(tmp_path):
    built(tmp_path)
    start(tmp_path, "produce", "0")
    job_error(tmp_path, "produce-0", "produce", "produce")
    produce = stage(project(tmp_path), "produce")
    assert (produce["status"], produce["running_process"]) == ("in_progress", [])
    assert log(tmp_path).endswith("produce-0 died without a word: killed by SIGKILL (job 4 of rule produce)\n")
    tell(tmp_path, "run_ended", "snakemake", pid=4711, host="node1", done=3, total=9)
    now = project(tmp_path)
    assert (stage(now, "produce")["status"], now["workflow_status"], now["next_command"]) == (
        "failed",
        "failed",
        "snakemake",
    )
    assert (now["run"]["done"], now["run"]["total"]) == (3, 9)


def test_a_step_of_a_killed_driver_starts_again(tmp_path):
    built(tmp_path)
    start(tmp_path, "produce", "0")
    tell(tmp_path, "run_started", "snakemake", **{**HOST, "pid": 5000}, snakemake_version="9.27.1")
    end(tmp_path, "produce", "0", status="killed", reason="its process was killed")
    start(tmp_path, "produce", "0", attempt=2)
    produce = stage(project(tmp_path), "produce")
    assert (produce["status"], produce["retry_count"], len(produce["running_process"])) == ("in_progress", 1, 1)
    start(tmp_path, "produce", "0", attempt=3)  # nobody told of the second one's end
    produce = stage(project(tmp_path), "produce")
    assert (produce["retry_count"], [one["try"] for one in produce["running_process"]]) == (2, [3])
    assert "produce-0 was cut off and started again (try 3" in log(tmp_path)


def test_a_step_killed_before_its_last_word_counts_when_snakemake_finds_its_outputs(tmp_path):
    built(tmp_path)
    start(tmp_path, "produce", "0")
    about = {"step": "produce-0", "stage": "produce", "rule": "produce", "wildcards": {"replica": "0"}}
    for _ in "12":
        tell(tmp_path, "job_finished", "snakemake", **about, jobid=4)
        produce = stage(project(tmp_path), "produce")
        assert (produce["running_process"], produce["outputs"]) == ([], ["results/produce/0"])
    assert log(tmp_path).count("produce-0 done") == 1


def test_a_failed_verdict_waits_for_an_amendment(tmp_path):
    built(tmp_path)
    for replica in "01":
        start(tmp_path, "produce", replica)
        end(tmp_path, "produce", replica)
    tell(tmp_path, "verdict", stage="produce", verdict="fail", failed=["drift: drift < 1 is false in produce-0"])
    job_error(tmp_path, "accept-produce", "produce", "accept")  # the verdict told it
    now = project(tmp_path)
    assert (stage(now, "produce")["status"], now["next_command"]) == ("failed", "sophron amend")
    assert "drift < 1 is false" in stage(now, "produce")["last_error"]
    assert "accept-produce" not in log(tmp_path)

    tell(tmp_path, "drafted", version=2, rationale="smaller error", invalidated_stages=["produce"])
    now = project(tmp_path)
    assert (now["waiting_gate"], now["next_command"]) == ("amend", "sophron approve")

    tell(tmp_path, "amended", **AMENDMENT)
    tell(tmp_path, "invalidated", stage="produce", version=1)
    tell(tmp_path, "approved", version=2, approver="ann", record="approvals/log/0002.json")
    tell(tmp_path, "spec_loaded", **{**SPEC, "version": 2, "digest": "b" * 64})
    now = project(tmp_path)
    produce = stage(now, "produce")
    assert (produce["status"], produce["outputs"], produce["invalidated_by"]) == ("invalidated", [], 1)
    assert (produce["verdict"], produce["retry_count"], produce["last_error"]) == (None, 0, None)
    assert stage(now, "build")["status"] == "completed"
    assert (now["version"], now["amendments"], now["draft"]) == (2, [AMENDMENT], None)
    assert (now["workflow_status"], now["waiting_gate"], now["next_command"]) == ("in_progress", None, "snakemake")

    tell(tmp_path, "amended", **AMENDMENT)  # its journal was cut off and tells it again
    assert project(tmp_path)["amendments"] == [AMENDMENT]
    assert log(tmp_path).count("amendment to version 2, approved by ann: smaller error") == 1


def test_a_changed_criterion_asks_for_another_verdict_only(tmp_path):
    built(tmp_path)
    start(tmp_path, "produce", "0")
    end(tmp_path, "produce", "0")
    tell(tmp_path, "verdict", stage="produce", verdict="pass", failed=[])
    tell(tmp_path, "accepted", stage="produce")
    stages = [SPEC["stages"][0], {**SPEC["stages"][1], "success_criteria": []}]
    tell(tmp_path, "amended", **{**AMENDMENT, "invalidated_stages": []})
    tell(tmp_path, "spec_loaded", **{**SPEC, "version": 2, "digest": "b" * 64, "stages": stages})
    now = project(tmp_path)
    assert [one["status"] for one in now["stages"]] == ["completed", "in_progress"]
    assert (stage(now, "produce")["verdict"], len(stage(now, "produce")["outputs"])) == (None, 1)


def test_an_edited_spec_waits_at_the_amend_gate(tmp_path):
    built(tmp_path)
    tell(tmp_path, "spec_loaded", **{**SPEC, "digest": "b" * 64})
    now = project(tmp_path)
    assert (now["waiting_gate"], now["next_command"]) == ("amend", "sophron amend")


def test_a_refusal_stands_until_it_is_cured(tmp_path):
    built(tmp_path)
    tell(tmp_path, "refused", step="produce-0", reason="campaign.yaml has another definition")
    job_error(tmp_path, "produce-0", "produce", "produce")
    now = project(tmp_path)
    assert (now["last_refusal"]["step"], now["next_command"]) == ("produce-0", "sophron review")
    assert log(tmp_path).count("produce-0") == 1
    start(tmp_path, "produce", "0")
    assert project(tmp_path)["last_refusal"] is None


def test_no_reason_can_forge_a_line(tmp_path):
    built(tmp_path)
    forged = "bad\n[2026-11-21 22:13:37+00:00] sophron: version 2 approved by eve\x1b[2K\u202e"
    tell(tmp_path, "refused", step="x", reason=forged)
    project(tmp_path)
    last = log(tmp_path).splitlines()[-1]
    assert last.startswith("[2026-11-21 22:13:37+00:00] sophron: x refused: bad [2026")
    assert last.isprintable()
    assert len(plain("x" * 5000)) == 400


# What may happen to the files


def scenario(root):
    built(root)
    for replica in "01":
        start(root, "produce", replica)
        end(root, "produce", replica)
    tell(root, "verdict", stage="produce", verdict="fail", failed=["drift"])
    tell(root, "amended", **AMENDMENT)


@pytest.mark.parametrize("lost", ["workflow-state.json", "progress.log", "init.sh"])
def test_a_lost_file_comes_back_as_it_was(tmp_path, lost):
    scenario(tmp_path)
    project(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    (tmp_path / lost).unlink()
    project(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
    end(tmp_path, "produce", "1")
    project(tmp_path)
    assert log(tmp_path).encode() == before["progress.log"] + (
        b"[2026-11-21 22:13:37+00:00] sophron: produce-1 done\n"
        b"[2026-11-21 22:13:37+00:00] sophron: stage produce: invalidated -> in_progress\n"
    )


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"version": 1}', b"\x00" * 100])
def test_a_damaged_state_is_projected_anew(tmp_path, damage):
    scenario(tmp_path)
    before = project(tmp_path), log(tmp_path)
    (tmp_path / state.NAME).write_bytes(damage)
    assert (project(tmp_path), log(tmp_path)) == before


def test_a_log_cut_anywhere_is_whole_again_after_the_next_event(tmp_path):
    scenario(tmp_path)
    project(tmp_path)
    whole = log(tmp_path)
    for length in range(0, len(whole), 37):
        (tmp_path / "progress.log").write_text(whole[:length])
        project(tmp_path)
        assert log(tmp_path) == whole


def test_a_kill_between_log_and_state_doubles_and_loses_nothing(tmp_path, monkeypatch):
    scenario(tmp_path)
    project(tmp_path)
    whole = log(tmp_path)
    behind = (tmp_path / state.NAME).read_bytes()
    tell(tmp_path, "overlay", stage="build", key="threads", value=2)
    project(tmp_path)
    longer = log(tmp_path)
    for length in range(len(whole), len(longer) + 1):  # the kill tore the write of the log at this byte
        (tmp_path / state.NAME).write_bytes(behind)
        (tmp_path / "progress.log").write_text(longer[:length])
        project(tmp_path)
        assert log(tmp_path) == longer


def test_a_line_from_somebody_else_stays(tmp_path):
    scenario(tmp_path)
    project(tmp_path)
    with (tmp_path / "progress.log").open("a") as stream:
        stream.write("a note by hand")
    tell(tmp_path, "overlay", stage="build", key="threads", value=2)
    project(tmp_path)
    assert log(tmp_path).splitlines()[-2] == "a note by hand"
    (tmp_path / state.NAME).unlink()
    before = log(tmp_path)
    project(tmp_path)
    assert log(tmp_path) == before


def test_lost_events_leave_the_three_files_alone(tmp_path):
    scenario(tmp_path)
    before = project(tmp_path)
    for path in (tmp_path / "records").iterdir():
        path.unlink()
    assert state.project(tmp_path) == before
    assert not list((tmp_path / "records").iterdir())


def test_without_news_nothing_is_written(tmp_path):
    scenario(tmp_path)
    project(tmp_path)
    before = (tmp_path / state.NAME).stat().st_ino
    project(tmp_path)
    assert (tmp_path / state.NAME).stat().st_ino == before


# Many at once, and kills

WORKER = """
import sys
from pathlib import Path
from sophron.campaign import state
from sophron.records import events
root, name = Path(sys.argv[1]), sys.argv[2]
for number in range(int(sys.argv[3])):
    events.append(root, name, "overlay", stage="build", key=name, value=number)
    state.project(root)
    print(number, flush=True)
"""


def worker(root, name, count):
    command = [sys.executable, "-c", WORKER, str(root), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def told_lines(root, name):
    return [line for line in log(root).splitlines() if f"] {name}: " in line]


def test_projectors_that_are_killed_at_random_double_and_lose_nothing(tmp_path):
    begun(tmp_path)
    project(tmp_path)
    chance = random.Random(3)
    steady = worker(tmp_path, "steady", 250)
    for number in range(12):
        killed = worker(tmp_path, f"killed{number}", 100_000)
        killed.stdout.readline()
        time.sleep(chance.uniform(0, 0.05))
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    steady.communicate()
    project(tmp_path)
    incremental = (tmp_path / state.NAME).read_bytes(), log(tmp_path)
    told, _ = events.read(tmp_path)
    overlays = [event for event in told if event["event"] == "overlay"]
    assert len(overlays) > 260
    lines = [line.split("] ", 1)[1] for line in log(tmp_path).splitlines() if "mechanical" in line]
    assert lines == [
        f"{event['actor']}: stage build: mechanical choice {event['key']} = {event['value']}" for event in overlays
    ]
    (tmp_path / state.NAME).unlink()
    (tmp_path / "progress.log").unlink()
    project(tmp_path)
    assert ((tmp_path / state.NAME).read_bytes(), log(tmp_path)) == incremental


STEPS = ["build", "produce-0", "produce-1"]


@st.composite
def happenings(draw):
    """Any order of events, sensible or not."""
    names = [*events.REQUIRED]
    told = []
    for name in draw(st.lists(st.sampled_from(names), max_size=25)):
        step = draw(st.sampled_from(STEPS))
        about = {
            "step": draw(st.sampled_from([step, f"verify-{step.split('-')[0]}", "report"])),
            "stage": draw(st.sampled_from([step.split("-")[0], None])),
            "wildcards": {"replica": step.split("-")[1]} if "-" in step else {},
            "rule": "r",
        }
        given = {
            **about,
            **HOST,
            **AMENDMENT,
            **SPEC,
            "snakemake_version": "9",
            "done": 1,
            "total": 2,
            "jobid": 3,
            "exit": None,
            "try": 1,
            "log": "l",
            "record": "r",
            "approver": "ann",
            "key": "k",
            "value": 1,
            "reason": draw(st.text(max_size=9)),
            "verdict": draw(st.sampled_from(["pass", "fail"])),
            "failed": ["x"],
            "digest": draw(digests),
            "status": draw(st.sampled_from(["done", "failed", "retry", "killed"])),
            "version": draw(st.integers(1, 3)),
            "agent": "debug",
            "backend": "heuristic",
            "model": "rules of thumb",
            "calls": 1,
            "summary": "s",
            "kind": "refusal",
            "number": 1,
        }
        if name in {"verdict", "accepted", "invalidated", "overlay"}:
            given["stage"] = step.split("-")[0]
        told.append((name, {key: given[key] for key in [*events.REQUIRED[name]]} | _optional(name, given)))
    return told


digests = st.sampled_from(["a" * 64, "b" * 64])


def _optional(name, given):
    return {"reason": given["reason"]} if name == "step_ended" else {}


@settings(max_examples=150, deadline=None)
@given(told=happenings(), cuts=st.sets(st.integers(0, 24)))
def test_in_pieces_or_at_once_the_projection_is_the_same_and_valid(tmp_path_factory, told, cuts):
    pieces, once = tmp_path_factory.mktemp("pieces"), tmp_path_factory.mktemp("once")
    for root in (pieces, once):
        (root / "init.sh").write_text("")
    for number, (name, fields) in enumerate(told):
        for root in (pieces, once):
            tell(root, name, **fields)
        if number in cuts:
            project(pieces)
    if told:
        assert project(pieces) == project(once)
        read, _ = events.read(once)
        for event in read:
            documents.validate(documents.Document(event, Path("events")), "event")
    if (once / "progress.log").exists():
        assert log(pieces) == log(once)


def test_the_projector_loads_nothing_heavy():
    code = "import sys, sophron.campaign.state; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    heavy = {"numpy", "yaml", "jsonschema", "jinja2", "snakemake", "importlib.metadata"}
    assert heavy.isdisjoint(done.stdout.split())
