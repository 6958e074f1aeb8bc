"""A job: its tasks, its table, and a whole one through the rules."""

import json
import shutil
from pathlib import Path

import pytest

from sophron import cli
from sophron.records.errors import UserError
from sophron.records.files import FileLock
from sophron.sandbox.bubblewrap import Bubblewrap
from sophron.tasks import bench, python_environment

FOLDER = Path(__file__).parents[1] / "data" / "tasks" / "column-mean"


@pytest.fixture
def collection(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "tasks" / "easy" / "mean")
    broken = shutil.copytree(FOLDER, tmp_path / "tasks" / "broken")
    (broken / "task.toml").write_text("[environment]\ngpus = 1\n")
    return tmp_path / "tasks"


def test_tasks_of_a_collection_have_names_of_their_own(collection):
    job = bench.job_of(collection, ["oracle", "nop", "oracle"], 2)
    assert [*job.tasks] == ["broken", "easy__mean"]
    assert job.tasks["broken"].refused.endswith("wants a GPU, which is not offered to tasks; run it elsewhere")
    assert (job.readable, job.agents, job.rounds) == (["easy__mean"], ("oracle", "nop"), ["1", "2"])
    assert [*bench.folders_of(collection / "broken")] == ["broken"]


def test_a_folder_without_tasks_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"holds no task; name a folder with task.toml, or one above such folders"):
        bench.job_of(tmp_path, ["nop"])


def test_a_task_in_markdown_has_nothing_to_run_without_a_model(tmp_path):
    (tmp_path / "top.md").write_text("")
    for named in (tmp_path, tmp_path / "top.md"):
        with pytest.raises(
            UserError, match=r"has no solution to run; let a model work at it with --agent, or judge work"
        ):
            bench.job_of(named, ["nop"])


def test_a_list_says_what_can_run_and_why_the_rest_cannot(collection, monkeypatch, capsys):
    monkeypatch.setattr(
        python_environment, "interpreter", lambda version: Path("python") if version == "3.11" else None
    )
    for name, text in (
        ("newer", "FROM python:3.99\n"),
        ("more", "FROM python:3.11\nRUN apt-get install no-such-one\n"),
    ):
        other = shutil.copytree(FOLDER, collection / name)
        (other / "environment" / "Dockerfile").write_text(text)
    assert cli.main(["task", "list", str(collection)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("the task wants a GPU, which is not offered to tasks; run it elsewhere")
    assert lines[1:] == [
        "easy/mean: can run here",
        "more: wants the Debian packages no-such-one",
        "newer: wants Python 3.99, which is not on this machine",
        "1 of 4 can run here",
    ]


def row(**changes):
    plain = {"task": "a", "agent": "oracle", "refused": "", "attempts": 2, "passed": 2, "rewards": [1.0, 1.0]}
    return {**plain, "wall_time_s": 1.0, "stubs": [], "faults": [], **changes}


def test_a_table_says_what_was_refused_and_what_stood_in():
    text = bench.table(
        [
            row(stubs=["curl"]),
            row(task="b", refused="a | b", attempts=0, passed=0, rewards=[]),
            row(rewards=[None, 0.5]),
        ]
    )
    lines = text.splitlines()
    assert lines[2] == "| a | oracle | 2/2 | 1, 1 | 1.0 | stand-ins: curl |"
    assert lines[3] == "| b | oracle | refused |  | 1.0 | a / b |"
    assert lines[4].startswith("| a | oracle | 2/2 | none, 0.5 |")
    assert lines[-1] == "oracle: 4 of 4 attempts at 2 tasks passed (95 % interval 0.51 to 1.00)"


@pytest.mark.parametrize(
    ("passed", "attempts", "interval"), [(0, 0, None), (0, 10, [0.0, 0.2775]), (5, 10, [0.2366, 0.7634])]
)
def test_intervals_are_those_of_wilson(passed, attempts, interval):
    assert bench.wilson(passed, attempts) == (interval and pytest.approx(interval, abs=1e-4))


def test_a_task_is_unsound_whose_solution_fails_or_that_nobody_passes():
    assert bench.unsound([row(), row(agent="nop", passed=0), row(refused="x", attempts=0, passed=0)]) == []
    assert bench.unsound([row(passed=1), row(task="b", agent="nop", passed=1)]) == [
        "a: its own solution passed 1 of 2 attempts",
        "b: passes although nobody worked",
    ]


def test_a_job_that_runs_already_is_left_alone(collection, tmp_path):
    with FileLock(tmp_path / "jobs" / ".job.json.lock"), pytest.raises(UserError, match="this job runs already"):
        bench.run(bench.job_of(collection, ["nop"]), tmp_path / "jobs", 1)


@pytest.mark.skipif(Bubblewrap().missing() is not None, reason=str(Bubblewrap().missing()))
def test_a_whole_job_and_again_where_it_was_left(collection, tmp_path, capfd):
    line = [
        "task",
        "bench",
        str(collection),
        "--agent",
        "oracle",
        "--agent",
        "nop",
        "--jobs-dir",
        str(tmp_path / "jobs"),
    ]
    assert cli.main(line) == 0
    out = capfd.readouterr().out
    assert "| easy__mean | oracle | 1/1 | 1 |" in out
    assert "| easy__mean | nop | 0/1 | 0 |" in out
    assert "| broken | nop | refused |" in out
    done = tmp_path / "jobs" / "easy__mean" / "oracle" / "1"
    before = (done / "work.json").stat().st_mtime_ns
    (done / "result.json").unlink()
    assert cli.main(line) == 0
    assert json.loads((done / "result.json").read_text())["passed"]
    assert (done / "work.json").stat().st_mtime_ns == before
