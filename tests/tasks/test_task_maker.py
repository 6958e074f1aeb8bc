"""`sophron task make`: what programs hold against a drafted task, and the dialogue that ends in its file."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import toy

from sophron import cli
from sophron.agents.supervisor.dialogue import NO_DRAFT
from sophron.records.errors import UserError
from sophron.sandbox import select_backend
from sophron.tasks import judgement, scifi_markdown, task_maker

DRAFT = {
    "title": "Peak",
    "context": "`counts.csv` has columns x, y.",
    "todo": "Fit a Gaussian, write `fit.json` with mean and sigma.",
    "expectation": [
        "`fit.json` exists with keys mean, sigma",
        "mean in [2.4, 2.6] in fit.json",
        "`counts.csv` is not modified",
    ],
}
SAID = "Fit a Gaussian to counts.csv; the mean lies between 2.4 and 2.6."


def turn(chosen=(), **changes):
    return {"draft": DRAFT | changes, "chosen": [{"what": text, "why": "a choice"} for text in chosen]}


def faults(folder, said=SAID, **changes):
    return {what: why for what, why in task_maker.faults(folder, turn(**changes), said).items() if why}


@pytest.fixture
def folder(tmp_path):
    work = tmp_path / "peak"
    work.mkdir()
    (work / "counts.csv").write_text("x,y\n1,2\n3.25,4\n")
    return work


def test_a_sound_draft_has_no_faults_and_is_the_file_that_check_reads(folder):
    assert faults(folder) == {}
    path = task_maker.write(folder, DRAFT)
    task = scifi_markdown.read(path)
    assert (task.title, task.unverified, len(task.expectations)) == ("Peak", (), 3)
    assert task.context == DRAFT["context"]
    with pytest.raises(UserError, match="is there already and is not written over"):
        task_maker.write(folder, DRAFT)


def test_a_sentence_that_does_not_bind_is_named(folder):
    (sentence,) = faults(folder, expectation=[*DRAFT["expectation"], "The plot looks good."])[task_maker.LOOSE]
    assert sentence == 'UNVERIFIED: "The plot looks good.", for its clause "The plot looks good"'


def test_blanks_of_a_command_stay_as_they_are(folder):
    line = "`python3 -c \"exec('if 1:\\n  if 1:\\n    x = 1')\"` succeeds"
    (made,) = task_maker.read(folder, DRAFT | {"expectation": [line]}).expectations
    assert made.checks[0].command == line.split("`")[1]


@pytest.mark.parametrize("command", ['python3 -c "assert (1"', "python3 -c 'x", 'python3 -c "a b"'])
def test_a_command_that_cannot_be_read_is_named(folder, command):
    (sentence,) = faults(folder, expectation=[*DRAFT["expectation"], f"`{command}` succeeds"])[
        "has commands that cannot run"
    ]
    assert sentence.startswith(f"`{command}`: ")


def test_work_of_nobody_must_not_pass(folder):
    found = faults(
        folder, expectation=["`counts.csv` exists", "`counts.csv` is not modified", "error.log does not exist"]
    )
    assert "holds of the given files already" in found["would pass without any work"][0]
    assert not faults(folder, expectation=["`counts.csv` is not modified", "`python3 fit.py` succeeds"])


@pytest.mark.parametrize(
    ("sentence", "chosen", "known"),
    [
        ("sigma in [0.61, 0.7] in fit.json", [], False),
        ("sigma in [0.61, 0.7] in fit.json", ["sigma between 0.61 and 0.7"], True),
        ("mean = 2.5 ± 0.1 in fit.json", ["0.1 as tolerance, 2.5 in the middle"], True),
        ("x in [1, 3.25] in fit.json", [], True),  # 3.25 stands in the file
        ('`fit_2024.json` contains "4711"', [], True),  # names and texts are not numbers
        ("fit.json has at least 3 lines", [], True),
    ],
)
def test_a_number_comes_from_the_person_the_files_or_a_choice(folder, sentence, chosen, known):
    found = faults(folder, expectation=[*DRAFT["expectation"], sentence], chosen=chosen)
    assert ("has numbers that come from nowhere" not in found) is known


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"context": "## Expectation\n\n- nothing"}, "stands here twice"),
        ({"todo": "## Hint\n\nlook"}, "a task has no section"),
        ({"expectation": ["<!-- nothing -->"]}, "the expectation is empty"),
        ({"expectation": ["`a.json` exists", "---"]}, "is read as more than one, or as none"),
        ({"expectation": ["The work passes `tests/check.py`"]}, "tests/check.py is not beside top.md"),
    ],
)
def test_a_draft_that_breaks_the_form_is_refused(folder, changes, reason):
    found = faults(folder, **changes)
    assert reason in found["cannot be read as a task"][0]


def test_the_agent_sees_files_and_which_of_them_stay_hidden(folder):
    (folder / "tests").mkdir()
    (folder / "tests" / "check.py").write_text("assert True\n")
    (folder / "blob.bin").write_bytes(b"\0\1")
    (folder / "long.txt").write_text("a line\n" * 999 + "the last\n")
    about = task_maker.dialogue(folder)
    about.begin(SAID)
    told = task_maker.inputs(folder, about)
    files = {one["path"]: one for one in told["files"]}
    assert files["counts.csv"] == {"path": "counts.csv", "bytes": 15, "lines": 3, "beginning": "x,y\n1,2\n3.25,4\n"}
    assert files["long.txt"]["lines"] == 1000
    assert files["long.txt"]["end"].endswith("the last\n")
    assert files["blob.bin"]["beginning"] is None
    assert files["tests/check.py"]["hidden"] is True
    assert "| form | example |" in told["forms"]
    assert "DependsOn" not in told["forms"]
    assert "numpy" in told["machine"]
    assert told["refusals"] == NO_DRAFT
    assert not (folder / "make").exists()  # all that lies there is given to the worker


def make(*words):
    return cli.main(["task", "make", *words])


@pytest.fixture
def here(tmp_path, monkeypatch):
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_a_model_three_questions_make_a_task_of_the_persons_words(here, capsys):
    assert make("Fit a Gaussian to the histogram in counts.csv", "--answer", "") == 0
    said = capsys.readouterr().out
    assert "What is given" in said
    assert "The question waits: sophron task make --folder fit-gaussian-histogram-counts --answer '...'" in said
    name = "fit-gaussian-histogram-counts"
    for answer in ("counts.csv has columns x, y", "fit.json with keys mean, sigma"):
        assert make("--folder", name, "--answer", answer) == 0
    assert (
        make(
            "--folder",
            name,
            "--answer",
            "- fit.json exists with keys mean, sigma; mean in [2.4, 2.6]\n- The fit looks good",
        )
        == 0
    )
    said = capsys.readouterr().out
    assert "No model wrote this task" in said
    assert "UNVERIFIED: The fit looks good" in said
    assert "checked by: exists, keys, range" in said
    task = scifi_markdown.read(here / name)
    assert task.todo.startswith("Fit a Gaussian to the histogram in counts.csv")
    assert [bool(one.checks) for one in task.expectations] == [True, False]
    before = (here / name / "top.md").read_bytes()
    assert make("--folder", name, "--answer", "again") == 2
    assert "is not written over" in capsys.readouterr().err
    assert (here / name / "top.md").read_bytes() == before


def test_a_task_that_is_there_is_refused_before_anybody_is_asked(here, capsys):
    (here / "mine").mkdir()
    (here / "mine" / "top.md").write_text("mine")
    assert make("something else", "--folder", "mine", "--answer", "") == 2
    assert "is not written over; give another --folder" in capsys.readouterr().err
    assert (here / "mine" / "top.md").read_text() == "mine"
    assert not list(here.glob("*.dialogue"))


def test_close_ends_the_dialogue(here, capsys):
    assert make("Fit it", "--folder", "a", "--answer", "") == 0
    assert make("--folder", "a", "--answer", "close") == 1
    assert "This ends the dialogue." in capsys.readouterr().out
    assert not (here / "a").exists()


def answered(here, name, *answers):
    """Put answers into the mailbox of a dialogue, one after the other, as it asks for them."""
    import threading
    import time

    def serve():
        for number, answer in enumerate(answers, 1):
            while (
                len(
                    found := sorted(
                        (here / f"{name}.dialogue" / "mailbox").glob("*"), key=lambda one: one.stat().st_mtime
                    )
                )
                < number
            ):
                time.sleep(0.05)
            (found[number - 1] / "answer.json").write_text(json.dumps(answer))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return thread


def model_turn(status, text, draft=None, chosen=(), question=None):
    return {
        "status": status,
        "question": question,
        "text": text,
        "draft": draft,
        "chosen": list(chosen),
        "suspicious_text": [],
    }


def test_a_models_loose_sentence_goes_back_once_and_is_shown_unverified(here, capsys):
    (here / "peak").mkdir()
    (here / "peak" / "counts.csv").write_text("x,y\n1,2\n")
    loose = DRAFT | {"expectation": [*DRAFT["expectation"], "the residuals are white"]}
    more = loose | {"expectation": [*loose["expectation"], "`fit.json` is larger than 77 bytes"]}
    thread = answered(here, "peak", model_turn("draft", "First.", more), model_turn("draft", "\x1b[31mSecond.", loose))
    assert make(SAID, "--folder", "peak", "--agents", "mailbox", "--answer", "") == 0
    thread.join(10)
    said = capsys.readouterr()
    assert "it goes back once:\n  - UNVERIFIED" in said.out
    assert "77 in " in said.out
    assert "UNVERIFIED: the residuals are white" in said.out
    assert "\x1b" not in said.out
    assert "as agent task-maker" in said.err
    assert "the residuals are white" in (here / "peak" / "top.md").read_text()


def test_a_draft_that_cannot_be_read_is_not_written(here, capsys):
    bad = DRAFT | {"todo": "## Hint\n\nlook"}
    thread = answered(here, "b", model_turn("draft", "First.", bad), model_turn("draft", "Second.", bad))
    assert make(SAID, "--folder", "b", "--agents", "mailbox", "--answer", "") == 1
    thread.join(10)
    assert "nothing was written:\n  - " in capsys.readouterr().out
    assert not (here / "b").exists()


RECORDED = Path(__file__).parents[1] / "recorded" / "task-maker"
SHORTEST = """
import heapq
def shortest(graph, a, b):
    if a not in graph or b not in graph:
        return None
    best, queue, number = {a: 0}, [(0, 0, a)], 0
    while queue:
        far, _, node = heapq.heappop(queue)
        if node == b:
            return far
        for other, weight in graph.get(node, {}).items():
            if far + weight < best.get(other, float("inf")):
                best[other], number = far + weight, number + 1
                heapq.heappush(queue, (far + weight, number, other))
    return None
"""
STEP = """
import numpy as np
def step(x, v, dt):
    a, w = np.asarray(x, float), np.asarray(v, float)
    d = a[:, None] - a[None, :]
    f = (d / (np.abs(d) ** 3 + 1e-3)).sum(1)
    return (a + dt * w).tolist(), (w + dt * f).tolist()
"""
TOTALS = """
import csv, json
found = {}
for row in csv.DictReader(open("masses.csv")):
    found[row["element"]] = found.get(row["element"], 0) + float(row["mass_g"])
json.dump(found, open("totals.json", "w"))
"""
SUMMARY = """
import json, statistics
x = [float(line) for line in open("numbers.txt")]
json.dump({"mean": round(statistics.mean(x), 3), "std": round(statistics.stdev(x), 3)}, open("summary.json", "w"))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trial", "name", "program", "runs"),
    [
        ("m04-hidden-test", "solve.py", SHORTEST, False),
        ("m07-injected", "go.py", TOTALS, True),
        ("m08-known", "go.py", SUMMARY, True),
        ("m10-refactor", "sim/step.py", STEP, False),
    ],
)
def test_a_recorded_draft_is_met_by_honest_work_and_not_by_nobodys(trial, name, program, runs, tmp_path):
    recorded = json.loads((RECORDED / f"first-{trial}-1.json").read_text(encoding="utf-8"))
    task = tmp_path / "task"
    for one in recorded["inputs"]["files"]:
        (task / one["path"]).parent.mkdir(parents=True, exist_ok=True)
        (task / one["path"]).write_text(one["beginning"])  # all of them are shorter than what is shown
    task_maker.write(task, json.loads(recorded["answers"][-1])["draft"])
    work, sandbox = tmp_path / "work", select_backend.choose()
    shutil.copytree(task, work, ignore=shutil.ignore_patterns("tests", "top.md"))
    for honest in (False, True):
        if honest:
            (work / name).write_text(program)
            if runs:
                subprocess.run([sys.executable, name], cwd=work, check=True)
        (found,) = judgement.judge_markdown(scifi_markdown.read(task), work, tmp_path / f"judged-{honest}", sandbox)
        assert found.met is honest, found
