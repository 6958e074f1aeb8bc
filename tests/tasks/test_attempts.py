"""One attempt at a task, step by step: what each leaves, and that nothing in between can be changed unnoticed."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from sophron.records.errors import UserError
from sophron.sandbox.bubblewrap import Bubblewrap
from sophron.tasks import attempts, folder_tree, python_environment
from sophron.tasks.environment import Python
from sophron.tasks.python_environment import Resolved

FOLDER = Path(__file__).parents[1] / "data" / "tasks" / "column-mean"
pytestmark = pytest.mark.skipif(Bubblewrap().missing() is not None, reason=str(Bubblewrap().missing()))


class Trial:
    """A task folder, and the folder of its job."""

    def __init__(self, top):
        self.folder = shutil.copytree(FOLDER, top / "column-mean", symlinks=True)
        self.place, self.attempt = top / "job", top / "job" / "oracle" / "1"
        self.wanted = []

    def rebuild(self, **options):
        return attempts.rebuild(self.folder, self.place, self.place / "store", Bubblewrap(), **options)

    def work(self, agent="oracle"):
        return attempts.work(self.folder, self.place, self.attempt, agent, Bubblewrap())

    def judge(self):
        return attempts.judge(self.folder, self.place, self.attempt, Bubblewrap())


@pytest.fixture
def trial(tmp_path, monkeypatch):
    made = Trial(tmp_path)

    def same(version, requirements, store, timeout_s):
        made.wanted.append((version, list(requirements)))
        return Python(Path(sys.prefix)), Resolved(version, ("pip==1",))

    monkeypatch.setattr(python_environment, "make", same)
    return made


def test_the_oracle_passes_and_nobody_fails(trial):
    made = trial.rebuild()
    assert (made.refused, made.python, made.packages["work"]) == ("", "3.11", ("pip==1",))
    assert trial.work().exit_code == 0
    result = trial.judge()
    assert (result["passed"], result["reward"], result["stubs"]) == (
        True,
        1.0,
        ["apt-get update", "apt-get install -y curl"],
    )
    assert json.loads((trial.attempt / "result.json").read_text()) == result
    assert not (trial.attempt / "scratch").exists()
    assert trial.work("nop").exit_code is None
    assert (trial.judge()["passed"], trial.judge()["reward"]) == (False, 0.0)


def test_a_solution_without_a_first_line_is_run_by_bash_as_harbor_does(trial):
    script = trial.folder / "solution" / "solve.sh"
    script.write_text("set -euo pipefail\napt-get install -y jq\n" + script.read_text().partition("set -e\n")[2])
    trial.rebuild()
    worked = trial.work()
    assert (worked.exit_code, worked.stubs) == (0, ("apt-get install -y jq",))
    assert trial.judge()["passed"]


def test_each_use_has_what_its_scripts_would_install(trial):
    dockerfile = trial.folder / "environment" / "Dockerfile"
    dockerfile.write_text(dockerfile.read_text() + "RUN pip install numpy==2.1.2 && pip install -r /app/more.txt\n")
    (trial.folder / "environment" / "data" / "more.txt").write_text("scipy\n")
    with (trial.folder / "solution" / "solve.sh").open("a") as script:
        script.write("pip install eigenpy==3\n")
    with (trial.folder / "tests" / "test.sh").open("a") as script:
        script.write("uvx -w pytest==8.4.1 pytest\n")
    trial.rebuild()
    own = ["numpy==2.1.2", "scipy"]
    alone = [("3.11", own), ("3.11", [*own, "eigenpy==3"]), ("3.11", [*own, "pytest==8.4.1"])]
    assert trial.wanted == [*alone, ("3.11", [*own, "eigenpy==3", "pytest==8.4.1"])]  # as in one container
    settings = trial.folder / "task.toml"
    settings.write_text(settings.read_text().replace("[verifier]", '[verifier]\nenvironment_mode = "separate"'))
    trial.wanted.clear()
    trial.rebuild()
    assert trial.wanted == alone


def test_packages_that_a_solution_lacks_are_named_when_it_does_not_pass(trial):
    (trial.folder / "solution" / "solve.sh").write_text(
        "apt-get update && apt-get install -y -q no-such-one=1.2 bash\n"
    )
    trial.rebuild()
    trial.work()
    assert trial.judge()["fault"] == "its solution wants the Debian packages no-such-one, which are not on this machine"
    trial.work("nop")
    assert trial.judge()["fault"] == ""


def test_another_python_is_taken_by_choice_alone_and_recorded(trial):
    made = trial.rebuild(python="3.13")
    assert {version for version, _ in trial.wanted} == {made.python} == {"3.13"}
    assert "Python 3.13 in place of 3.11, by choice" in made.notes


def test_what_cannot_be_rebuilt_is_a_record_and_no_pass(trial):
    (trial.folder / "environment" / "Dockerfile").write_text("FROM python:3.11\nRUN useradd bob\n")
    assert trial.rebuild().refused.endswith("Dockerfile:2: RUN: useradd: there is one user in a sandbox; remove it")
    assert trial.work().files == {}
    assert trial.judge() == {
        "task": "sophron/column-mean",
        "agent": "oracle",
        "refused": trial.rebuild().refused,
        "passed": False,
    }


def test_packages_that_are_missing_are_named(trial):
    (trial.folder / "environment" / "Dockerfile").write_text("FROM python:3.11\nRUN apt-get install -y no-such-one\n")
    assert "wants the Debian packages no-such-one, which are not on this machine" in trial.rebuild().refused


@pytest.mark.parametrize("name", ["tests/check.py", "instruction.md", "solution/solve.sh"])
def test_a_task_that_is_edited_between_steps_is_not_judged(trial, name):
    trial.rebuild()
    trial.work("nop")
    (trial.folder / name).write_text("")
    with pytest.raises(UserError, match="was changed since its environment was rebuilt; run the task again"):
        trial.judge()


def test_work_that_is_edited_after_it_was_frozen_is_not_judged(trial, tmp_path):
    trial.rebuild()
    trial.work("nop")
    (tmp_path / "tree" / "app").mkdir(parents=True)
    (tmp_path / "tree" / "app" / "mean.json").write_text('{"mean": 3.5}')
    folder_tree.pack(tmp_path / "tree", trial.attempt / "work.tar")
    with pytest.raises(UserError, match=r"work.tar: app/data.csv is not what was frozen; let the attempt run again"):
        trial.judge()


def test_what_tests_link_to_is_not_copied_out(trial):
    with (trial.folder / "tests" / "test.sh").open("a") as script:
        script.write("ln -s /etc/passwd /logs/verifier/x; echo y > /logs/verifier/y\n")
    trial.rebuild()
    trial.work("nop")
    trial.judge()
    assert sorted(path.name for path in (trial.attempt / "verifier").iterdir()) == ["reward.txt", "y"]


def test_a_task_without_a_solution_has_no_oracle(trial):
    shutil.rmtree(trial.folder / "solution")
    trial.rebuild()
    with pytest.raises(UserError, match=r"solve.sh: there is no such file, so that no oracle can run; ask a model"):
        trial.work()
