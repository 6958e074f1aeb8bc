"""The kind task: stages from campaign.yaml, the rules of their loops, and how the signed attempt is assessed."""

import json
import shutil
from pathlib import Path

import pytest

from sophron.interfaces.kind import StepContext, UpstreamStep
from sophron.kinds.task import kind, stages
from sophron.records.digests import digest
from sophron.records.documents import Document, faults
from sophron.records.errors import UserError
from sophron.records.typed_json import to_json
from sophron.sandbox.bubblewrap import Bubblewrap
from sophron.tasks import folder_tree, harbor_folder, scifi_markdown
from sophron.tasks.expectations import bind

DATA = Path(__file__).parents[1] / "data" / "tasks"


def blocks(**needs):
    return {name: {"depends_on": list(below), "definition": {"attempts": 2}} for name, below in needs.items()}


def test_a_parent_stands_behind_its_sub_tasks():
    found = kind.stages(blocks(top=["fit", "plot"], fit=["sample"], plot=["sample"], sample=[]))
    assert [one.name for one in found] == ["sample", "fit", "plot", "top"]
    assert found[-1].depends_on == ("fit", "plot")


def test_rules_of_two_tasks_have_different_names():
    found = kind.stages(blocks(a=[], b=[]))
    names = [part.name for one in found for part in one.parts] + [asked.rule for one in found for asked in one.agents]
    assert len(set(names)) == len(names) == 10
    assert found[0].agents[1].inputs == found[1].agents[1].inputs == "task_work"
    assert found[0].agents[1].agent({"round": "1"}) == "task-worker"


def test_rounds_are_the_attempts_of_who_may_take_most():
    definitions = {"a": {"attempts": 2}, "b": {"attempts": 4, "prescan": False}}
    assert kind.ranges(definitions) == {"round": ["1", "2", "3", "4"]}
    assert kind.left_out(definitions) == ["prescan_b"]


def definition(**changes):
    plain = {
        "instruction": "Do it.",
        "attempts": 1,
        "expectations": [{"text": "a.txt exists", "checks": [{"check": "exists", "file": "a.txt"}]}],
    }
    return {**plain, **changes}


def wrong(about):
    return faults(Document(about, Path("campaign.yaml")), "task/task", "definition")


def test_sentences_of_a_markdown_task_fit_the_schema():
    task = scifi_markdown.read(DATA / "gauss-fit")
    sentences = [
        {"text": one.text, "checks": json.loads(json.dumps(to_json(one.checks)))}
        if one.checks
        else {"text": one.text, "judged_by": "reviewer"}
        for one in task.expectations
    ]
    about = definition(instruction=task.todo, context=task.context, expectations=sentences)
    assert wrong(about) == []
    assert stages.signed_expectations(about)[0].checks == task.expectations[0].checks
    assert stages.signed_expectations(about)[2].checks == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"expectations": []},
        {"expectations": [{"text": "It is right."}]},
        {"expectations": [{"text": "It is right.", "judged_by": "worker"}]},
        {"expectations": [{"text": "x", "judged_by": "reviewer", "checks": [{"check": "exists", "file": "x"}]}]},
        {"folder": "tasks/a"},
        {"attempts": 0},
        {"attempts": 51},
    ],
)
def test_what_nothing_checks_and_nobody_bounds_cannot_be_signed(changes):
    assert wrong(definition(**changes))


def test_a_task_without_tests_and_expectations_cannot_be_signed():
    about = definition()
    del about["expectations"]
    assert wrong(about)
    assert not wrong({**about, "folder": "tasks/a", "folder_digest": "0" * 64})


@pytest.fixture
def assessed(tmp_path, monkeypatch):
    if lack := Bubblewrap().missing():
        pytest.skip(lack)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DATA / "column-mean", tmp_path / "column-mean")

    def result(about, failed=None, **files):
        tree = tmp_path / "tree"
        (tree / "app").mkdir(parents=True)
        for name, text in files.items():
            (tree / "app" / name.replace("_", ".")).write_text(text)
        folder_tree.pack(tree, tmp_path / "tree.tar")
        worked = UpstreamStep("work_fit", {"round": "1"}, {}, {"tree": tmp_path / "tree.tar"}, failed)
        (scratch := tmp_path / "scratch").mkdir()
        given = StepContext("assess_fit", {"round": "1"}, about, {"work_fit": [worked]}, scratch, scratch, 1)
        made = stages.assess(given)
        assert faults(Document(dict(made.result), Path("outcome.json")), "task/assess", "result") == []
        assert all(path.is_file() for path in made.files.values())
        return made.result

    return result


def folder_definition(root):
    digests = harbor_folder.read(root / "column-mean").files
    return {"instruction": "x", "attempts": 1, "folder": "column-mean", "folder_digest": digest(dict(digests))}


def test_an_attempt_at_a_folder_is_judged_by_its_tests(assessed, tmp_path):
    found = assessed(folder_definition(tmp_path), mean_json='{"mean": 3.5}')
    assert (found["passed"], found["reward"], found["unmet"]) == (True, 1.0, [])


def test_an_attempt_that_left_nothing_fails(assessed, tmp_path):
    found = assessed(folder_definition(tmp_path), failed="the model stopped", mean_json='{"mean": 3.5}')
    assert (found["passed"], found["reward"]) == (False, 0.0)


def test_a_task_in_markdown_is_judged_by_its_sentences(assessed):
    sentences = ["a.txt exists", '`cat a.txt && touch b.txt` prints "hello"', "b.txt exists", "It is good"]
    about = [{"text": text, "checks": to_json(bind(text, 1).checks)} for text in sentences]
    found = assessed(definition(expectations=about), a_txt="hello\n")
    assert found["unmet"] == ["b.txt exists"]
    assert not found["passed"]


def test_the_folder_is_that_which_was_signed(tmp_path):
    folder = shutil.copytree(DATA / "column-mean", tmp_path / "column-mean")
    signed = {"folder": "column-mean", "folder_digest": digest(dict(harbor_folder.read(folder).files))}
    assert stages.signed_folder(signed, tmp_path).name == "sophron/column-mean"
    (folder / "tests" / "check.py").write_text("")
    with pytest.raises(UserError, match="is not the task that was signed"):
        stages.signed_folder(signed, tmp_path)
