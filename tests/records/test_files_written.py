"""Files are whole or absent, whatever is killed when; nothing temporary is left, nothing is overwritten by a move."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sophron.records.files import move, place, write_bytes, write_json, write_text

WRITER = """
import sys
from pathlib import Path
from sophron.records.files import write_bytes
letters = [b"a", b"b"]
print("ready", flush=True)
for turn in range(10**9):
    write_bytes(Path(sys.argv[1]), letters[turn % 2] * 300_000)
"""


def test_a_reader_and_a_kill_see_the_old_content_or_the_new_one_never_a_part(tmp_path):
    path = tmp_path / "file"
    for delay in (0.0, 0.013, 0.05):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        writer.stdout.readline()
        until = time.monotonic() + 0.15 + delay
        while time.monotonic() < until:
            content = path.read_bytes() if path.exists() else b"a" * 300_000
            assert content in (b"a" * 300_000, b"b" * 300_000)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        assert path.read_bytes() in (b"a" * 300_000, b"b" * 300_000)


def test_a_write_that_fails_leaves_the_old_content_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_text(path, "old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_text(path, "new")
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
    assert path.read_text() == "old"


def test_the_content_and_then_the_folder_are_synced(tmp_path, monkeypatch):
    synced, real = [], os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda handle: (synced.append(str(Path(f"/proc/self/fd/{handle}").readlink())), real(handle))
    )
    write_bytes(tmp_path / "new" / "file", b"x")
    assert len(synced) == 2
    assert synced[0].startswith(str(tmp_path / "new" / ".file."))
    assert synced[1] == str(tmp_path / "new")


def test_others_may_read_what_is_written(tmp_path):
    write_text(tmp_path / "file", "x")
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644


def test_equal_values_give_equal_bytes_and_nan_is_no_json(tmp_path):
    write_json(tmp_path / "a", {"b": 1, "a": ["é"]})
    write_json(tmp_path / "b", {"a": ["é"], "b": 1})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert json.loads((tmp_path / "a").read_text()) == {"a": ["é"], "b": 1}
    with pytest.raises(ValueError):
        write_json(tmp_path / "a", float("nan"))
    assert json.loads((tmp_path / "a").read_text()) == {"a": ["é"], "b": 1}


def test_a_result_is_placed_over_an_older_one_is_newer_and_may_be_placed_again(tmp_path):
    source, target = tmp_path / "work" / "result", tmp_path / "results" / "result"
    source.parent.mkdir()
    source.write_text("new")
    os.utime(source, (1, 1))
    target.parent.mkdir()
    target.write_text("old")
    for _ in range(2):  # the second time after a kill that came before the step could say it had ended
        place(source, target)
        assert target.read_text() == source.read_text() == "new"
        assert target.stat().st_mtime > 1_000_000
        assert [one.name for one in target.parent.iterdir()] == ["result"]


def test_a_file_system_that_cannot_link_gets_a_copy(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "source").write_text("x")
    place(tmp_path / "source", tmp_path / "there" / "target")
    assert (tmp_path / "there" / "target").read_text() == "x"
    assert (tmp_path / "there" / "target").stat().st_ino != (tmp_path / "source").stat().st_ino


def test_a_move_overwrites_nothing(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("x")
    move(tmp_path / "folder", tmp_path / "kept" / "v1")
    assert (tmp_path / "kept" / "v1" / "file").read_text() == "x"
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileExistsError):
        move(tmp_path / "folder", tmp_path / "kept" / "v1")
    assert (tmp_path / "folder").is_dir()
    assert (tmp_path / "kept" / "v1" / "file").read_text() == "x"


def test_a_file_gets_the_mode_that_the_umask_allows(tmp_path):
    before = os.umask(0o002)
    try:
        write_text(tmp_path / "shared", "x")
        os.umask(0o077)
        write_text(tmp_path / "private", "x")
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("shared", "private")]
    assert modes == [0o664, 0o600]


def test_an_error_names_the_file_and_not_its_temporary_name(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError) as caught:
        write_text(tmp_path / "folder", "x")
    assert caught.value.filename == str(tmp_path / "folder")
