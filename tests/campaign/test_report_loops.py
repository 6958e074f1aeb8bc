"""What a report says of a loop, from its events and tries: rounds, units, wall time and cost."""

import json
import time

import pytest
import toy

from sophron.campaign.report import report, report_page
from sophron.campaign.report.report import Loop, Ran
from sophron.campaign.spec import spec
from sophron.records.events import Event


@pytest.fixture
def search(tmp_path, monkeypatch):
    made = toy.campaign(tmp_path, monkeypatch, "search")
    return made.root, spec.load(made.spec)


def at(second):
    return f"2026-11-22T20:{second // 60:02d}:{second % 60:02d}+00:00"


def tried(root, step, number, begun, *, ended, status="done", cores=1):
    """The record of a try, and its event."""
    folder = root / "records" / step / str(number)
    folder.mkdir(parents=True)
    note = {
        "step": step,
        "cores": cores,
        "started": at(begun),
        "ended": at(ended),
        "status": status,
        "core_seconds": cores * (ended - begun),
    }
    (folder / "try.json").write_text(json.dumps(note))
    rule, *values = step.split("-")
    where = dict(zip(("round", "item"), values, strict=False))
    return Event(at(begun), "sophron", "step_started", step=step, rule=rule, wildcards=where)


def answered(step, ended, wall_s):
    return Event(at(ended), "sophron", "agent_answered", step=step, wall_s=wall_s)


def test_wall_time_is_that_in_which_something_ran(search):
    """Two at once, a gap, and a killed try of which nobody saw the end; a second try is no second step."""
    root, loaded = search
    recorded = [
        tried(root, "guess-0-0", 1, 0, ended=10, cores=2),
        tried(root, "guess-0-1", 1, 5, ended=12),
        tried(root, "guess-0-2", 1, 20, ended=900, status="killed"),
        tried(root, "guess-0-2", 2, 100, ended=103),
        tried(root, "weigh-0", 1, 104, ended=105),
        answered("advise-0", 3, 2.5),
        answered("advise-0", 9, 1.0),
        answered("advise-1", 9, None),
        answered("caveats", 200, 1.0),
    ]
    loop = report.collect_loops(root, loaded, recorded)["search"]
    guesses = loop.ran["0"]["guess"]
    assert (guesses.steps, guesses.tries, guesses.wall_s) == (3, 4, 12 + 3)
    assert guesses.core_seconds == 20 + 7 + 880 + 3
    assert (loop.counter, loop.units) == ("round", ["agents of guess", "guess", "weigh"])
    assert (loop.ran["0"]["agents of guess"].steps, loop.ran["0"]["agents of guess"].wall_s) == (1, 3.5)
    assert loop.of_round("0").wall_s == 12 + 3 + 1
    assert loop.of_unit("agents of guess").steps == 2
    table = report_page.loop_table("search", loop)
    assert table.header == ["round", "agents of guess", "guess", "weigh", "wall time", "core-hours"]
    assert table.rows[0][1:5] == ["1 in 0:00:04", "3 (4 tries) in 0:00:15", "1 in 0:00:01", "0:00:16"]
    assert table.rows[1][:4] == ["1", "1", "", ""]
    assert table.foot[:3] == ["together", "2 in 0:00:04", "3 (4 tries) in 0:00:15"]


def test_a_loop_of_which_nothing_ran_is_left_out(search):
    assert report.collect_loops(*search, []) == {}


def test_hundreds_of_rounds_cost_a_report_little():
    """The table of 300 trials, 15 units each, some 40 steps a unit: a third of a million spans to unite."""
    spans = [(float(number), number + 1.5) for number in range(40)]
    ran = {str(number): {f"unit {one}": Ran(40, spans=list(spans)) for one in range(15)} for number in range(300)}
    begun = time.process_time()
    table = report_page.loop_table("trials", Loop("trial", ran, [f"unit {one}" for one in range(15)]))
    assert time.process_time() - begun < 5
    assert len(table.rows) == 300
    assert table.foot[1] == "12,000 in 0:00:40"
