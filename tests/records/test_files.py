"""Files are read where they are regular; what else stands there is one sentence at once, and nothing waits."""

import os

import pytest

from sophron.records.errors import UserError, of_system
from sophron.records.files import read_bytes, read_json, read_text


def test_a_regular_file_also_behind_a_link(tmp_path):
    (tmp_path / "file").write_text('{"a": 1}')
    (tmp_path / "link").symlink_to("file")
    assert read_bytes(tmp_path / "link", 100) == b'{"a": 1}'
    assert read_json(tmp_path / "file") == {"a": 1}


def test_what_is_no_regular_file_is_one_sentence(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "loop").symlink_to("loop")
    for name, words in [
        ("fifo", "not a plain file"),
        ("/dev/zero", "not a plain file"),
        (".", "is a folder"),
        ("none", "no such file"),
        ("binary/below", "a file stands where a folder belongs"),
        ("loop", "leads back to itself"),
        ("binary", "not UTF-8"),
    ]:
        with pytest.raises(UserError, match=words) as caught:
            read_text(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_deep_json_is_no_json(tmp_path):
    (tmp_path / "deep").write_text("[" * 100_000)
    with pytest.raises(ValueError, match="deep"):
        read_json(tmp_path / "deep")


def test_what_the_system_refuses_is_a_sentence_with_file_and_remedy():
    assert of_system(OSError(28, "No space left on device")).startswith("the disk is full")
    assert of_system(PermissionError(13, "Permission denied", "/a/b")).startswith("/a/b: permission denied; see")
    assert of_system(OSError(71, "Protocol error", "x\n")) == "x\\n: Protocol error; see the file system, and try again"
    assert of_system(FileExistsError("/a")) == "/a; see the file system, and try again"
