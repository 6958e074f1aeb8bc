"""Work that is handed in: judged by the programs of its task, whoever did it."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from sophron import cli
from sophron.sandbox.bubblewrap import Bubblewrap
from sophron.tasks import judgement, python_environment, scifi_markdown
from sophron.tasks.environment import Python
from sophron.tasks.python_environment import Resolved

DATA = Path(__file__).parents[1] / "data" / "tasks"
pytestmark = pytest.mark.skipif(Bubblewrap().missing() is not None, reason=str(Bubblewrap().missing()))
TASK = """\
## To-do

Copy the table, sorted.

## Expect

- sorted.csv exists and has at least 3 rows
- `sort -c sorted.csv` succeeds
- table.csv is not modified
"""


@pytest.fixture
def work(tmp_path):
    (folder := tmp_path / "work").mkdir()
    return folder


@pytest.fixture
def judge(tmp_path, work, monkeypatch, capsys):
    monkeypatch.setattr(
        python_environment, "make", lambda *_: (Python(Path(sys.prefix)), Resolved("3.11", ("pip==1",)))
    )

    def judged(task, given=work):
        code = cli.main(["task", "judge", str(task), str(given), "--jobs-dir", str(tmp_path / "jobs")])
        said = capsys.readouterr()
        return code, [" ".join(line.split()) for line in (said.out + said.err).splitlines()]

    return judged


def test_work_at_a_folder_is_judged_by_its_tests(judge, work, tmp_path):
    (work / "mean.json").write_text('{"mean": 3.5}')
    code, said = judge(DATA / "column-mean")
    assert code == 0
    assert said == [f"sophron/column-mean: passed (reward 1); {tmp_path}/jobs/column-mean/given"]
    (work / "mean.json").unlink()
    (work / "mean.json").symlink_to("/etc/hostname")
    code, said = judge(DATA / "column-mean")
    assert (code, said[0].split(";")[0]) == (1, "sophron/column-mean: not passed (reward 0)")
    assert json.loads((tmp_path / "jobs/column-mean/given/work.json").read_text())["left_out"] == ["mean.json"]


def test_a_folder_that_cannot_be_rebuilt_is_refused(judge, tmp_path):
    folder = shutil.copytree(DATA / "column-mean", tmp_path / "task")
    (folder / "environment" / "Dockerfile").write_text("FROM scratch\n")
    code, said = judge(folder)
    assert code == 2
    assert "scratch is a base that is not known here" in said[0]


def test_work_at_a_task_in_markdown_is_judged_by_its_sentences(judge, work, tmp_path):
    (folder := tmp_path / "sort").mkdir()
    (folder / "top.md").write_text(TASK)
    (folder / "table.csv").write_text("n\nc\nb\na\n")
    shutil.copy(folder / "table.csv", work)
    (work / "sorted.csv").write_text("a\nb\nc\nn\n")
    code, said = judge(folder)
    assert (code, said[0]) == (0, "sort: met"), said
    assert [line.split()[0] for line in said[1:]] == ["met", "met", "met"]
    (work / "sorted.csv").write_text("b\na\n")
    (work / "table.csv").write_text("n\na\nb\nc\n")
    code, said = judge(folder)
    assert (code, said[0]) == (1, "sort: not met")
    assert sum(line.startswith("not met") for line in said) == 3
    assert json.loads((tmp_path / "jobs" / "sort" / "result.json").read_text())["met"] is False


def test_a_sentence_that_no_program_checks_is_not_met(judge, work, tmp_path):
    (tmp_path / "lone.md").write_text("## Todo\n\nWrite.\n\n## Expect\n\n- a.txt exists\n- It is beautiful.\n")
    (work / "a.txt").write_text("x")
    code, said = judge(tmp_path / "lone.md")
    assert code == 1
    assert said == ["lone: not met", "met a.txt exists", "UNVERIFIED It is beautiful."]


@pytest.mark.parametrize("task", ["column-mean", "gauss-fit"])
def test_work_that_is_not_there_is_named(judge, tmp_path, task):
    code, said = judge(DATA / task, tmp_path / "none")
    assert code == 2
    assert said == [f"sophron task: {tmp_path}/none: there is no such folder; name the one that holds the work"]


def test_test_programs_of_the_task_see_the_work_and_are_not_among_its_files(judge, work, tmp_path):
    (folder := tmp_path / "sum").mkdir()
    (folder / "tests").mkdir()
    (folder / "tests" / "right.py").write_text(
        "import sys\nassert open(sys.argv[1]).read() == open('/tests/key').read(), 'no'\n"
    )
    (folder / "tests" / "key").write_text("42")
    (folder / "top.md").write_text("## Todo\n\nAdd.\n\n## Expect\n\n- sum.txt passes `tests/right.py`\n")
    (work / "sum.txt").write_text("42")
    assert judge(folder)[0] == 0
    assert judgement.given_files(scifi_markdown.read(folder)) == {}
    (work / "sum.txt").write_text("41")
    (work / "tests").mkdir()
    (work / "tests" / "key").write_text("41")
    code, said = judge(folder)
    assert (code, said[2]) == (1, "python3 /tests/right.py sum.txt 2>&1 ended with 1 (AssertionError: no)")
    (folder / "tests" / "right.py").unlink()
    assert judge(folder) == (
        2,
        [f"sophron task: {folder}/top.md:7: tests/right.py is not beside top.md; add it, or name another test"],
    )
