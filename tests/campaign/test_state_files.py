"""The three durable files: lost, damaged, cut, written by many at once, and killed."""

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
from state_events import AMENDMENT, HOST, SPEC, begun, built, end, log, project, start, still_clock, tell

from sophron.campaign.state import projector
from sophron.records import documents, events

# What may happen to the files


@pytest.fixture(autouse=True)
def _clock(monkeypatch):
    still_clock(monkeypatch)


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
    (tmp_path / projector.NAME).write_bytes(damage)
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
    behind = (tmp_path / projector.NAME).read_bytes()
    tell(tmp_path, "overlay", stage="build", key="threads", value=2)
    project(tmp_path)
    longer = log(tmp_path)
    for length in range(len(whole), len(longer) + 1):  # the kill tore the write of the log at this byte
        (tmp_path / projector.NAME).write_bytes(behind)
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
    (tmp_path / projector.NAME).unlink()
    before = log(tmp_path)
    project(tmp_path)
    assert log(tmp_path) == before


def test_lost_events_leave_the_three_files_alone(tmp_path):
    scenario(tmp_path)
    before = project(tmp_path)
    for path in (tmp_path / "records").iterdir():
        path.unlink()
    assert projector.project(tmp_path) == before
    assert not list((tmp_path / "records").iterdir())


def test_without_news_nothing_is_written(tmp_path):
    scenario(tmp_path)
    project(tmp_path)
    before = (tmp_path / projector.NAME).stat().st_ino
    project(tmp_path)
    assert (tmp_path / projector.NAME).stat().st_ino == before


# Many at once, and kills

WORKER = """
import sys
from pathlib import Path
from sophron.campaign.state import projector
from sophron.records import events
root, name = Path(sys.argv[1]), sys.argv[2]
for number in range(int(sys.argv[3])):
    events.append(root, name, "overlay", stage="build", key=name, value=number)
    projector.project(root)
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
    incremental = (tmp_path / projector.NAME).read_bytes(), log(tmp_path)
    told, _ = events.read(tmp_path)
    overlays = [event for event in told if event["event"] == "overlay"]
    assert len(overlays) > 260
    lines = [line.split("] ", 1)[1] for line in log(tmp_path).splitlines() if "mechanical" in line]
    assert lines == [
        f"{event['actor']}: stage build: mechanical choice {event['key']} = {event['value']}" for event in overlays
    ]
    (tmp_path / projector.NAME).unlink()
    (tmp_path / "progress.log").unlink()
    project(tmp_path)
    assert ((tmp_path / projector.NAME).read_bytes(), log(tmp_path)) == incremental


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
            "wall_s": 0.5,
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
            "status": draw(st.sampled_from(["done", "failed", "retry", "short", "environment", "killed"])),
            "kept": "records/a/failed-v1-1",
            "version": draw(st.integers(1, 3)),
            "agent": "debug",
            "where": "a log",
            "backend": "heuristic",
            "model": "rules of thumb",
            "calls": 1,
            "summary": "s",
            "kind": "refusal",
            "number": 1,
            "finished": {"r": [step]},
            "again": {"r": ["a"]},
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
    code = "import sys, sophron.campaign.state.projector; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    heavy = {"numpy", "yaml", "jsonschema", "jinja2", "snakemake", "importlib.metadata"}
    assert heavy.isdisjoint(done.stdout.split())
