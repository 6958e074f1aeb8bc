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
from sophron.tasks import environment, folder_tree, harbor_folder, scifi_markdown
from sophron.tasks.attempts import RebuiltEnvironment
from sophron.tasks.expectations import bind
from sophron.tasks.tool_history import RecordedCall

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
    assert found[0].agents[0].inputs == found[1].agents[0].inputs == "task_work"
    assert found[0].agents[0].agent({"round": "1"}) == "task-worker"


def test_rounds_are_the_attempts_of_who_may_take_most():
    judged = [{"text": "It is right.", "judged_by": "reviewer"}]
    definitions = {"a": {"attempts": 2}, "b": {"attempts": 4, "expectations": judged}}
    assert kind.ranges(definitions) == {"round": ["1", "2", "3", "4"]}
    assert kind.left_out(definitions) == ["review_a"]


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
        {"inputs": {"a.txt": "0" * 64}},
        {"memory": "all"},
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

    def result(about, failed=None, tree=True, calls=(), **files):
        folder = tmp_path / "tree"
        (folder / "app").mkdir(parents=True)
        for name, text in files.items():
            (folder / "app" / name.replace("_", ".")).write_text(text)
        folder_tree.pack(folder, tmp_path / "tree.tar")
        (tmp_path / "calls.jsonl").write_text("".join(f"{json.dumps(to_json(call))}\n" for call in calls))
        left = {"tree": tmp_path / "tree.tar", "calls": tmp_path / "calls.jsonl"} if tree else {}
        worked = UpstreamStep("work_fit", {"round": "1"}, {}, left, failed)
        (scratch := tmp_path / "scratch").mkdir()
        upstream = {"work_fit": [worked], "prescan_fit": [scanned(about, tmp_path)]}
        given = StepContext("assess_fit", {"round": "1"}, about, upstream, scratch, scratch, 1)
        made = stages.assess(given)
        assert faults(Document(dict(made.result), Path("outcome.json")), "task/assess", "result") == []
        assert all(path.is_file() for path in made.files.values())
        return made.result

    return result


def scanned(about, folder):
    """What the pre-scan leaves, with this installation's Python in place of an environment."""
    tree, task = folder / "fresh", stages.signed_folder(about, folder) if "folder" in about else None
    (tree / "app").mkdir(parents=True)
    if task is not None:
        environment.build_tree(stages.box_of(task, tree), task, Bubblewrap(), folder / "build.log")
    folder_tree.pack(tree, folder / "fresh.tar")
    for name, content in {"environment": to_json(RebuiltEnvironment("", "")), "manifest": {}}.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    files = {"tree": folder / "fresh.tar", **{name: folder / f"{name}.json" for name in ("environment", "manifest")}}
    return UpstreamStep("prescan_fit", {}, {}, files)


def folder_definition(root):
    digests = harbor_folder.read(root / "column-mean").files
    return {"instruction": "x", "attempts": 1, "folder": "column-mean", "folder_digest": digest(dict(digests))}


def test_an_attempt_at_a_folder_is_judged_by_its_tests(assessed, tmp_path):
    found = assessed(folder_definition(tmp_path), mean_json='{"mean": 3.5}')
    assert (found["passed"], found["reward"], found["unmet"]) == (True, 1.0, [])


@pytest.mark.parametrize(("tree", "reward"), [(True, 1.0), (False, 0.0)])
def test_an_attempt_that_ended_early_is_judged_by_what_it_left(assessed, tmp_path, tree, reward):
    found = assessed(folder_definition(tmp_path), failed="no call left", tree=tree, mean_json='{"mean": 3.5}')
    assert (found["passed"], found["reward"]) == (reward == 1.0, reward)


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


def test_a_sign_of_a_fabricated_result_is_evidence_and_fails_only_where_that_was_signed(assessed, tmp_path):
    sentence = "fit.json: mean in [2, 3]"
    about = definition(expectations=[{"text": sentence, "checks": to_json(bind(sentence, 1).checks)}])
    text = '{"mean": 2.4987}'
    call = RecordedCall("task_write", {"path": "fit.json", "text": text}, changed={"fit.json": "0" * 64})
    sign = {
        "kind": "constant",
        "basis": "mean = 2.4987 was typed; no program printed it",
        "path": "fit.json",
        "call": 1,
    }
    found = assessed(about, calls=[call], fit_json=text)
    assert (found["fabrications"], found["passed"]) == ([sign], True)
    for name in ("tree", "fresh", "scratch"):
        shutil.rmtree(tmp_path / name)
    found = assessed({**about, "fabrication": "fails"}, calls=[call], fit_json=text)
    assert (found["fabrications"], found["passed"]) == ([sign], False)
    assert wrong({**about, "fabrication": "fails"}) == []
    failed = UpstreamStep("assess_fit", {"round": "1"}, found, {})
    assert [*stages.failed_checks(failed, {**about, "fabrication": "fails"})] == [
        "constant (fit.json, call 1): mean = 2.4987 was typed; no program printed it"
    ]
    assert [*stages.failed_checks(failed, about)] == []
