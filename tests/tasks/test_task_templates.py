"""A new task checks clean at once, can be done, and is not done by nobody; what check says of each sentence."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sophron import cli
from sophron.sandbox.bubblewrap import Bubblewrap
from sophron.tasks import python_environment
from sophron.tasks.environment import Python
from sophron.tasks.python_environment import Resolved

SUMMARY = json.dumps({"mean": 5.0, "deviation": 2.0})
in_sandbox = pytest.mark.skipif(Bubblewrap().missing() is not None, reason=str(Bubblewrap().missing()))


@pytest.fixture
def task(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        python_environment, "make", lambda *_: (Python(Path(sys.prefix)), Resolved("3.11", ("pip==1",)))
    )

    def called(*words):
        code = cli.main(["task", *words])
        said = capsys.readouterr()
        return code, said.out + said.err

    return called


@pytest.mark.parametrize(("options", "file"), [([], "top.md"), (["--harbor"], "instruction.md")])
def test_a_new_task_checks_clean(task, options, file):
    assert task("new", "peak-fit", *options) == (0, f"peak-fit/{file}: edit it, then: sophron task check peak-fit\n")
    code, said = task("check", "peak-fit")
    assert code == 0, said
    assert "UNVERIFIED" not in said.replace("0 UNVERIFIED", "")


@in_sandbox
@pytest.mark.parametrize("options", [[], ["--harbor"]])
def test_a_new_task_can_be_done_and_nobody_does_it(task, tmp_path, options):
    task("new", "peak-fit", *options)
    (work := tmp_path / "work").mkdir()
    (work / "numbers.txt").write_bytes(next((tmp_path / "peak-fit").rglob("numbers.txt")).read_bytes())
    assert task("judge", "peak-fit", "work")[0] == 1
    (work / "summary.json").write_text(SUMMARY)
    (work / "summarise.py").write_text("import statistics\n")
    code, said = task("judge", "peak-fit", "work")
    assert code == 0, said


def test_the_solution_of_a_new_folder_is_right(task, tmp_path):
    task("new", "peak-fit", "--harbor")
    program = (tmp_path / "peak-fit/solution/solve.sh").read_text().replace("/app", str(tmp_path))
    (tmp_path / "numbers.txt").write_bytes((tmp_path / "peak-fit/environment/numbers.txt").read_bytes())
    subprocess.run(["/bin/bash", "-c", program], check=True, timeout=60)
    assert json.loads((tmp_path / "summary.json").read_text()) == json.loads(SUMMARY)


@pytest.mark.parametrize(
    ("name", "said"), [("peak fit", "is not a name for a task"), ("there", "is not an empty folder")]
)
def test_a_place_that_will_not_do_is_refused(task, tmp_path, name, said):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a.txt").write_text("x")
    code, message = task("new", name)
    assert code == 2
    assert said in message
    assert [path.name for path in tmp_path.rglob("*")] == ["there", "a.txt"]


def test_check_says_which_program_or_which_clause_and_what_would_bind(task, tmp_path):
    (tmp_path / "odd.md").write_text("## Todo\nx\n## Expect\n- a.csv has 3 rows; it is a nice table\n- a.txt exists\n")
    code, said = task("check", "odd.md")
    assert code == 1
    assert [line.strip() for line in said.splitlines()] == [
        "odd: 2 sentences, 1 UNVERIFIED",
        "line 4    a.csv has 3 rows; it is a nice table",
        "UNVERIFIED: it is a nice table",
        "a form that binds: FILE.csv has columns A, B and at least 10 rows",
        "line 5    a.txt exists",
        "checked by: exists",
    ]


@in_sandbox
def test_judge_shows_signs_of_fabricated_results(task, tmp_path):
    task("new", "peak-fit")
    (work := tmp_path / "work").mkdir()
    (work / "numbers.txt").write_bytes((tmp_path / "peak-fit/numbers.txt").read_bytes())
    (work / "summary.json").write_text('{"mean": 4.9873, "deviation": 2.0119}')
    program = "import json\njson.dump({'mean': 4.9873, 'deviation': 2.0119}, open('summary.json', 'w'))\n"
    (work / "summarise.py").write_text(program)
    code, said = task("judge", "peak-fit", "work")
    assert code == 0, "a sign is evidence and not a verdict"
    assert "fabricated? constant (summarise.py:2): mean = 4.9873 stands in the code; it is not computed" in said
