"""The history of tool calls: which files a call changed is seen, whatever times the worker sets."""

import os

import pytest

from sophron.records.errors import UserError
from sophron.tasks import tool_history


@pytest.fixture
def recorder(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "given.csv").write_text("1")
    return tool_history.Recorder(tmp_path / "work", tmp_path / "calls.jsonl")


def test_a_call_is_recorded_with_the_files_that_it_changed(recorder, tmp_path):
    work = tmp_path / "work"
    with recorder.call("write_file", {"path": "a.py", "text": "x"}) as shown:
        (work / "a.py").write_text("x")
        shown.append(("wrote 1 byte", False))
    with recorder.call("run_command", {"line": "python3 a.py; rm given.csv"}) as shown:
        (work / "a.py").write_text("x")
        (work / "out").mkdir()
        (work / "out" / "b.json").write_text("{}")
        (work / "given.csv").unlink()
        shown.append(("[exit code 1]", True))
    first, second = tool_history.load(tmp_path / "calls.jsonl")
    assert (first.tool, first.output, first.failed, list(first.changed)) == (
        "write_file",
        "wrote 1 byte",
        False,
        ["a.py"],
    )
    assert second.command == "python3 a.py; rm given.csv"
    assert (sorted(second.changed), second.changed["given.csv"]) == (["given.csv", "out/b.json"], "")
    assert (second.rewritten, second.failed) == (("a.py",), True)
    assert second.written == {"a.py", "out/b.json"}
    assert tool_history.changes_of([first, second], "a.py") == [0]


def test_a_time_that_was_set_is_seen(recorder, tmp_path):
    with recorder.call("run_command", {"argv": ["touch", "-d", "2001-01-01", "given.csv"]}):
        os.utime(tmp_path / "work" / "given.csv", (978307200, 978307200))
    (call,) = tool_history.load(tmp_path / "calls.jsonl")
    assert call.command == "touch -d 2001-01-01 given.csv"
    assert call.rewritten == ("given.csv",)
    assert call.dated == {"given.csv": 978307200.0}
    assert call.failed, "a call that shows nothing ended in the middle"


def test_what_is_not_a_history_is_refused(tmp_path):
    assert tool_history.load(tmp_path / "none.jsonl") == ()
    (tmp_path / "calls.jsonl").write_text('{"tool": 3, "arguments": {}}\n')
    with pytest.raises(UserError, match="is not a history of tool calls"):
        tool_history.load(tmp_path / "calls.jsonl")


def test_a_recorder_made_anew_knows_what_there_was(recorder, tmp_path):
    work, history = tmp_path / "work", tmp_path / "calls.jsonl"
    with recorder.call("task_shell", {"line": "true"}) as shown:
        shown.append(("", False))
    (work / "given.csv").write_text("2")  # between two calls, as a program that a kill left
    with tool_history.Recorder(work, history).call("task_shell", {"line": "echo 2 > given.csv"}) as shown:
        (work / "given.csv").write_text("2")
        shown.append(("", False))
    with tool_history.Recorder(work, history).call("task_shell", {"line": "echo 3 > given.csv"}) as shown:
        (work / "given.csv").write_text("3")
        shown.append(("", False))
    calls = tool_history.load(history)
    assert [(list(one.changed), one.rewritten) for one in calls] == [
        ([], ()),
        ([], ("given.csv",)),
        (["given.csv"], ()),
    ]
