"""`sophron task check`: what a task comes to is printed, and the exit code says whether it can run."""

import shutil
from pathlib import Path

import pytest

from sophron import cli

DATA = Path(__file__).parents[1] / "data" / "tasks"


@pytest.fixture
def check(capsys):
    def printed(path):
        code = cli.main(["task", "check", str(path)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return printed


def test_a_folder(check):
    code, out, err = check(DATA / "column-mean")
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines == [
        "sophron/column-mean: 8 files; an oracle is there",
        "work 300 s; asks for network: no-network",
        "tests 60 s; see the whole work folder; without a network",
        "Python 3.11",
    ]


def test_packages_that_are_missing_and_what_is_refused(check, tmp_path):
    folder = shutil.copytree(DATA / "column-mean", tmp_path / "task")
    path = folder / "environment" / "Dockerfile"
    path.write_text("FROM python:3.12\nRUN apt-get install -y no-such-package-of-debian && pip install numpy\n")
    code, out, _ = check(folder)
    assert code == 1
    assert "no-such-package-of-debian (missing here)" in out
    path.write_text("FROM python:3.12\nRUN useradd bob\nUSER bob\n")
    code, _, err = check(folder)
    assert code == 2
    assert err == (f"sophron task: {path}:2: RUN: useradd: there is one user in a sandbox; remove it (and 1 more)\n")


def test_sentences_that_no_program_checks(check):
    code, out, _ = check(DATA / "gauss-fit")
    assert code == 1
    assert out.startswith("gauss-fit: 3 sentences, 1 UNVERIFIED\n")
    assert "exists, keys, range, range" in out
    assert "UNVERIFIED: The fit looks convincing" in out


def test_a_file_that_is_not_a_task(check, tmp_path):
    (tmp_path / "a.md").write_text("# Notes\n")
    code, out, err = check(tmp_path / "a.md")
    assert (code, out) == (2, "")
    assert (
        err
        == f"sophron task: {tmp_path}/a.md: has no section To-do; add a heading ## To-do, or move it into a folder if it is not a sub-task\n"
    )
