"""The kind task: stages from campaign.yaml, the rules of their loops, and how the signed attempt is assessed."""

import json
import shutil
from pathlib import Path

import pytest

from sophron.kinds.task import kind, stages
from sophron.records.digests import digest
from sophron.records.documents import Document, faults
from sophron.records.errors import UserError
from sophron.records.typed_json import to_json
from sophron.tasks import harbor_folder, scifi_markdown

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


def test_the_folder_is_that_which_was_signed(tmp_path):
    folder = shutil.copytree(DATA / "column-mean", tmp_path / "column-mean")
    signed = {"folder": "column-mean", "folder_digest": digest(dict(harbor_folder.read(folder).files))}
    assert stages.signed_folder(signed, tmp_path).name == "sophron/column-mean"
    (folder / "tests" / "check.py").write_text("")
    with pytest.raises(UserError, match="is not the task that was signed"):
        stages.signed_folder(signed, tmp_path)
