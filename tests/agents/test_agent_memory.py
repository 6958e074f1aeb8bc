"""Memory, history and snapshots: bounds, eviction, many writers, kills."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophron.agents.memory.agent_memory import LEVELS, Entry, History, Memory, snapshot
from sophron.records.documents import Document, validate
from sophron.records.errors import UserError
from sophron.records.typed_json import to_json

SOURCE = Path(__file__).parents[2] / "src"


def texts(memory):
    return [entry.text for entry in memory.entries()]


def test_it_reads_what_was_added(tmp_path):
    memory = Memory(tmp_path / "group" / "memory.md", "task")
    assert memory.entries() == []
    memory.add("first\n\nwith a list:\n- one", by="review-1")
    memory.add("# no heading of ours\n## nor this\n\\# nor that", by="review-2", pinned=True)
    memory.add("  \n", by="review-3")
    first, second = memory.entries()
    assert (first.by, first.text, first.pinned) == ("review-1", "first\n\nwith a list:\n- one", False)
    assert (second.by, second.text, second.pinned) == (
        "review-2",
        "# no heading of ours\n## nor this\n\\# nor that",
        True,
    )
    assert memory.path.read_text().count("\n## ") == 1


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=60), max_size=6))
@settings(deadline=None, max_examples=25)
def test_any_text_comes_back(tmp_path_factory, said):
    memory = Memory(tmp_path_factory.mktemp("any") / "memory.md", "global")
    for text in said:
        memory.add(text, by="step")
    wanted = list(dict.fromkeys(reversed([text.strip() for text in said if text.strip()])))
    assert texts(memory) == wanted[::-1]


def test_the_oldest_goes_first_and_pinned_ones_last(tmp_path):
    memory = Memory(tmp_path / "memory.md", "task")
    page = "x" * 1500
    memory.add(f"pinned {page}", by="s", pinned=True)
    dropped = [entry.text[:6] for number in range(9) for entry in memory.add(f"plain{number} {page}", by="s")]
    assert dropped == ["plain0", "plain1", "plain2", "plain3", "plain4"]
    assert [text[:6] for text in texts(memory)] == ["pinned", "plain5", "plain6", "plain7", "plain8"]
    for number in range(6):
        memory.add(f"fixed{number} {page}", by="s", pinned=True)
    assert [text[:6] for text in texts(memory)] == [f"fixed{number}" for number in range(1, 6)]
    memory.add(f"newest {page}", by="s")
    assert [text[:6] for text in texts(memory)] == [*[f"fixed{number}" for number in range(2, 6)], "newest"]
    assert memory.path.stat().st_size <= LEVELS["task"]


@pytest.mark.parametrize("level", LEVELS)
def test_it_never_grows_over_its_bound(tmp_path, level):
    memory = Memory(tmp_path / "memory.md", level)
    for number in range(25):
        memory.add(f"{number} " + "# ä\n" * (number * 137 % 900), by=f"step-{number}", pinned=number % 3 == 0)
        assert memory.path.stat().st_size <= LEVELS[level]
        assert texts(memory)[-1].startswith(str(number))


def test_a_long_text_is_cut_and_says_so(tmp_path):
    memory = Memory(tmp_path / "memory.md", "task")
    memory.add("ä" * 5000, by="s")
    (text,) = texts(memory)
    assert text == "ä" * 1000 + "\n[cut: 8000 more bytes]"


def test_what_is_known_becomes_the_newest_and_stays_pinned(tmp_path):
    memory = Memory(tmp_path / "memory.md", "task")
    memory.add("a", by="one", pinned=True)
    memory.add("b", by="one")
    memory.add("a", by="two")
    assert [(entry.text, entry.by, entry.pinned) for entry in memory.entries()] == [
        ("b", "one", False),
        ("a", "two", True),
    ]


def test_a_file_in_another_form_is_refused(tmp_path):
    (tmp_path / "memory.md").write_text("words of a visitor\n")
    with pytest.raises(UserError, match='"words of a visitor" is not under a heading'):
        Memory(tmp_path / "memory.md", "task").add("x", by="s")
    assert (tmp_path / "memory.md").read_text() == "words of a visitor\n"


def write_many(path, writer):
    for number in range(12):
        Memory(path / "memory.md", "global").add(f"{writer}:{number}", by=f"step-{writer}")
        History(path / "history.jsonl").append("pass", by=f"step-{writer}", iteration=number, decisions=[f"{writer}"])


def test_many_writers_lose_nothing(tmp_path):
    spawn = multiprocessing.get_context("fork")
    writers = [spawn.Process(target=write_many, args=(tmp_path, name)) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    wanted = {f"{name}:{number}" for name in "abcd" for number in range(12)}
    assert set(texts(Memory(tmp_path / "memory.md", "global"))) == wanted
    records = History(tmp_path / "history.jsonl").read()
    assert {f"{record.decisions[0]}:{record.iteration}" for record in records} == wanted
    for record in records:
        validate(Document(to_json(record), tmp_path), "history")
    for name in "abcd":
        assert [record.iteration for record in records if record.by == f"step-{name}"] == list(range(12))


ENDLESS = """
import itertools, sys
from pathlib import Path
from sophron.agents.memory.agent_memory import History, Memory, snapshot
folder = Path(sys.argv[1])
memory, history = Memory(folder / "memory.md", "task"), History(folder / "history.jsonl")
for number in itertools.count(int(sys.argv[2])):
    memory.add(f"{number} " + "text " * 300, by="step")
    history.append("fail", by="step", iteration=number, decisions=["d" * 3000])
    snapshot({"memory": memory.path, "history": history.path}, folder / "snapshots")
    print(number, flush=True)
"""


def test_a_kill_at_any_moment_leaves_whole_files(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = 0
    for moment in range(6):
        with subprocess.Popen(
            [sys.executable, "-c", ENDLESS, tmp_path, str(done)], env=environment, stdout=subprocess.PIPE, text=True
        ) as writer:
            said = int(writer.stdout.readline())
            time.sleep(0.013 * moment)
            writer.send_signal(signal.SIGKILL)
            said = max([said, *map(int, writer.stdout.read().split())])
        kept = texts(Memory(tmp_path / "memory.md", "task"))
        assert int(kept[-1].split()[0]) >= said
        assert {record.iteration for record in History(tmp_path / "history.jsonl").read()} >= set(range(said + 1))
        index = json.loads((tmp_path / "snapshots" / "snapshot.json").read_text())
        for entry in index.values():
            assert sha256((tmp_path / "snapshots" / entry["file"]).read_bytes()).hexdigest() == entry["digest"]
        done = said + 1
    History(tmp_path / "history.jsonl").append("stopped", by="end", iteration=done)
    assert History(tmp_path / "history.jsonl").read()[-1].by == "end"


def test_a_torn_line_is_closed_and_skipped(tmp_path):
    history = History(tmp_path / "history.jsonl")
    history.append("started", by="a", iteration=0)
    with history.path.open("a") as stream:
        stream.write('{"time": "2026')
    history.append("pass", by="b", iteration=1)
    assert [record.by for record in history.read()] == ["a", "b"]


def test_history_is_only_appended_to(tmp_path):
    history = History(tmp_path / "history.jsonl")
    before = b""
    for number in range(5):
        history.append("fail", by="s", iteration=number, decisions=["line\nend", "\x1b"])
        assert history.path.read_bytes().startswith(before)
        before = history.path.read_bytes()
    assert before.count(b"\n") == 5


def test_snapshots_are_named_by_their_content(tmp_path):
    memory, history = Memory(tmp_path / "memory.md", "task"), History(tmp_path / "history.jsonl")
    sources = {"memory": memory.path, "history": history.path}
    empty = snapshot(sources, tmp_path / "0")
    assert [path.read_bytes() for path in empty.values()] == [b"", b""]
    memory.add("a", by="s")
    one = snapshot(sources, tmp_path / "1")
    assert one["memory"].read_bytes() == memory.path.read_bytes()
    assert one["memory"].name == f"memory-{sha256(memory.path.read_bytes()).hexdigest()[:16]}.md"
    assert one["history"].name == empty["history"].name
    memory.add("b", by="s")
    assert snapshot(sources, tmp_path / "2")["memory"].name != one["memory"].name
    assert one["memory"].read_bytes() != memory.path.read_bytes()


def test_an_entry_says_who_and_when():
    assert (
        Entry("2026-01-01T00:00:00+00:00", "s", "t", True).markdown
        == "## 2026-01-01T00:00:00+00:00 s (pinned)\n\nt\n\n"
    )
