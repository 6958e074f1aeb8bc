"""What stage files leave, packed and unpacked."""

import os
import tarfile

import pytest

from sophron.debate.trials import execute_stage_file
from sophron.records.errors import UserError


@pytest.mark.parametrize("kind", ["link", "outside"])
def test_an_archive_holds_files_and_folders_inside_alone(tmp_path, kind):
    archive = tmp_path / "left.tar"
    with tarfile.open(archive, "w") as stream:
        entry = tarfile.TarInfo("x" if kind == "link" else "../x")
        if kind == "link":
            entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        stream.addfile(entry)
    with pytest.raises(UserError, match="holds what no stage may leave"):
        execute_stage_file.extracted(archive, tmp_path / "out")
    assert not (tmp_path / "x").exists()


def test_an_archive_gives_back_what_was_packed(tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "deep" / "empty").touch()
    (tmp_path / "in" / "x").write_bytes(b"1")
    out = execute_stage_file.extracted(
        execute_stage_file.packed(tmp_path / "in", tmp_path / "left.tar"), tmp_path / "out"
    )
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*")) == ["deep", "deep/empty", "x"]
    assert (out / "x").read_bytes() == b"1"


def test_equal_files_make_equal_bytes(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_bytes(b"1")
    os.utime(tmp_path / "two" / "x", (0, 0))
    first, second = (execute_stage_file.packed(tmp_path / name, tmp_path / f"{name}.tar") for name in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()
