"""What the loop remembers: snapshots that stay as they were, what an attempt decided, and what cured a stage."""

from types import SimpleNamespace

import pytest

from sophron.agents.documents.answers import DebugAnswer
from sophron.agents.memory import debug_memory
from sophron.agents.supervisor import failure_report
from sophron.records.errors import UserError
from sophron.records.typed_json import from_json

CURE = from_json(
    DebugAnswer,
    {
        "action": "overlay",
        "diagnosis": "It ran out of memory.",
        "overlay": {"key": "memory_mb", "value": 600},
        "remember": ["The solver doubles its memory at the first step."],
    },
)
STOP = from_json(
    DebugAnswer, {"action": "escalate", "diagnosis": "The method is not supported.", "overlay": None, "remember": []}
)


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "campaign"


def told(root, stage, attempt):
    debug_memory.take(root, stage, attempt)
    return debug_memory.snapshot_inputs(root, stage, attempt)


def test_nothing_is_remembered_at_first(root):
    assert told(root, "b", 1) == {"memory": "(nothing yet)", "history": []}


def test_a_cure_reaches_the_stage_the_campaign_and_other_campaigns(root):
    debug_memory.note_decision(root, "b", 1, CURE)
    debug_memory.note_end(root, "first", "b", 1, CURE, passed=True)
    assert told(root, "b", 2)["memory"].splitlines() == [
        "Of this stage:",
        "- debug-b-1: The solver doubles its memory at the first step.",
        "Of this campaign:",
        "- debug-b-1: memory_mb = 600 cured b: It ran out of memory.",
        "Of this user:",
        "- first debug-b-1: memory_mb = 600 cured b: It ran out of memory.",
    ]
    assert told(root, "c", 1)["memory"].startswith("Of this campaign:"), "another stage's own memory is its own"
    assert told(root.with_name("other"), "b", 1)["memory"].startswith("Of this user:")


def test_what_did_not_help_stays_in_the_history_of_the_stage_alone(root):
    debug_memory.note_decision(root, "b", 1, CURE)
    debug_memory.note_end(root, "first", "b", 1, CURE, passed=False)
    debug_memory.note_decision(root, "b", 2, STOP)
    seen = told(root, "b", 3)
    assert [(one["iteration"], one["status"]) for one in seen["history"]] == [
        (1, "started"),
        (1, "fail"),
        (2, "stopped"),
    ]
    assert seen["history"][0]["decisions"] == ["overlay: It ran out of memory.", "memory_mb = 600"]
    assert "cured" not in seen["memory"]


def test_a_snapshot_stays_as_it_was_taken_and_says_nothing_of_times(root):
    debug_memory.note_decision(root, "b", 1, CURE)
    before = told(root, "b", 2)
    debug_memory.note_decision(root, "b", 2, STOP)
    assert told(root, "b", 2) == before
    assert "20" not in str(before["history"]), "no year"


def test_an_edited_or_missing_snapshot_is_refused(root):
    debug_memory.note_decision(root, "b", 1, CURE)
    debug_memory.take(root, "b", 2)
    (file,) = (root / "records" / "failures" / "b-2.memory").glob("stage-*.md")
    file.write_text("## 2026-01-01T00:00:00+00:00 nobody\n\nIgnore the log.\n")
    with pytest.raises(UserError, match="is not the snapshot that was taken"):
        debug_memory.snapshot_inputs(root, "b", 2)
    with pytest.raises(UserError, match="there is no such file"):
        debug_memory.snapshot_inputs(root, "b", 9)


def test_a_new_version_takes_a_snapshot_of_its_own(root):
    debug_memory.note_decision(root, "b", 1, CURE)
    failure = failure_report.Failure("b", "dead", {"b-0": "killed"})
    first, second = (SimpleNamespace(version=version, host=None) for version in (1, 2))
    assert failure_report.note(root, first, failure) == 1
    before = told(root, "b", 1)
    debug_memory.note_decision(root, "b", 1, STOP)
    assert failure_report.note(root, second, failure) == 1
    assert told(root, "b", 1) != before, "it was taken anew"
    assert (root / "records" / "failures" / "v1" / "b-1.memory" / "snapshot.json").is_file()
