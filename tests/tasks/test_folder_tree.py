"""A tree of files: frozen without links, packed with equal bytes, unpacked without trust."""

import io
import os
import tarfile

import pytest

from sophron.records.errors import UserError
from sophron.tasks import folder_tree


@pytest.fixture
def tree(tmp_path):
    folder = tmp_path / "tree"
    (folder / "app" / "empty").mkdir(parents=True)
    (folder / "app" / "a.txt").write_text("a")
    (folder / "app" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "app" / "run.sh").chmod(0o755)
    return folder


def test_a_frozen_tree_has_regular_files_alone(tree, tmp_path):
    (tree / "app" / "link").symlink_to("/etc/hostname")
    (tree / "app" / "folder").symlink_to("/etc")
    os.mkfifo(tree / "app" / "pipe")
    assert folder_tree.freeze(tree, tmp_path / "frozen") == ["app/folder", "app/link", "app/pipe"]
    assert sorted(folder_tree.names(tmp_path / "frozen")) == ["app/a.txt", "app/run.sh"]
    assert (tmp_path / "frozen" / "app" / "empty").is_dir()
    assert os.access(tmp_path / "frozen" / "app" / "run.sh", os.X_OK)


def test_equal_trees_give_equal_bytes(tree, tmp_path):
    folder_tree.pack(tree, tmp_path / "one.tar")
    os.utime(tree / "app" / "a.txt", (1, 1))
    folder_tree.pack(tree, tmp_path / "two.tar")
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()


def test_what_was_packed_comes_back(tree, tmp_path):
    (tree / "app" / "a.txt").chmod(0o600)
    folder_tree.pack(tree, tmp_path / "tree.tar")
    folder_tree.unpack(tmp_path / "tree.tar", tmp_path / "again", 1000)
    assert (tmp_path / "again" / "app" / "a.txt").stat().st_mode & 0o777 == 0o600
    assert folder_tree.digests(tmp_path / "again") == folder_tree.digests(tree)
    assert os.access(tmp_path / "again" / "app" / "run.sh", os.X_OK)


def test_an_archive_of_a_stranger_is_refused(tree, tmp_path):
    for name, kind, said in (
        ("a", tarfile.SYMTYPE, "a is not a file"),
        ("../a", tarfile.REGTYPE, "would be extracted to"),
    ):
        with tarfile.open(tmp_path / "bad.tar", "w") as packed:
            about = tarfile.TarInfo(name)
            about.type, about.linkname = kind, "/etc/hostname"
            packed.addfile(about, io.BytesIO())
        with pytest.raises(UserError, match=said):
            folder_tree.unpack(tmp_path / "bad.tar", tmp_path / f"x{len(said)}", 1000)
    (tmp_path / "bad.tar").write_bytes(b"no archive")
    with pytest.raises(UserError, match="cannot be unpacked"):
        folder_tree.unpack(tmp_path / "bad.tar", tmp_path / "y", 1000)
    folder_tree.pack(tree, tmp_path / "tree.tar")
    with pytest.raises(UserError, match="larger than it may be"):
        folder_tree.unpack(tmp_path / "tree.tar", tmp_path / "z", 3)
