"""Tasks in Markdown: sections and key-values in both spellings, sub-tasks, and what is refused with its line."""

from pathlib import Path

import pytest

from sophron.records.errors import UserError
from sophron.tasks import scifi_markdown

FOLDER = Path(__file__).parents[1] / "data" / "tasks" / "gauss-fit"
PLAIN = "## Todo\n\nDo it.\n\n## Expect\n\na.txt exists\n"


@pytest.fixture
def read(tmp_path):
    def written(text, name="top.md"):
        (tmp_path / name).write_text(text)
        return scifi_markdown.read(tmp_path / name)

    return written


@pytest.fixture
def refusal(read, tmp_path):
    def said(text):
        with pytest.raises(UserError) as caught:
            read(text)
        assert "\n" not in str(caught.value)
        return str(caught.value).removeprefix(f"{tmp_path}/")

    return said


def test_a_task_is_read_whole():
    task = scifi_markdown.read(FOLDER)
    assert (task.name, task.title) == ("gauss-fit", "Gaussian fit")
    assert "## this line is a comment" in task.context
    assert task.todo.startswith("Sample 10 000 numbers")
    assert (task.timeout_s, task.command_s) == (600, 120)
    assert task.settings["skills"] == "plotting"
    assert [one.line for one in task.expectations] == [23, 24, 25]
    assert [len(one.checks) for one in task.expectations] == [4, 3, 0]
    assert [one.text for one in task.unverified] == ["The fit looks convincing."]
    assert task.warnings == ()


def test_both_spellings_and_any_case_are_read(read):
    for todo, expect in (("Todo", "Expect"), ("TO-DO", "expectations"), ("To do:", "Expectation")):
        task = read(PLAIN.replace("Todo", todo).replace("Expect", expect))
        assert task.todo == "Do it."
        assert task.expectations[0].checks[0].file == "a.txt"


def test_smaller_headings_are_content(read):
    assert read(PLAIN.replace("Do it.", "### First\n\nDo it.")).todo == "### First\n\nDo it."


def test_code_as_an_expectation_is_unverified(read):
    task = read(PLAIN + "\n```sh\ntest -e a.txt\n```\n")
    assert [bool(one.checks) for one in task.expectations] == [True, False]
    assert task.unverified[0].why == "a block of code"


def test_nested_items_are_expectations_of_their_own(read):
    task = read(PLAIN + "\n- b.txt exists\n  - c.txt exists\n")
    assert [one.checks[0].file for one in task.expectations] == ["a.txt", "b.txt", "c.txt"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("## Expect\na.txt exists\n", "top.md: has no section To-do"),
        ("## Todo\nDo it.\n", "top.md: has no section Expectation"),
        (PLAIN.replace("a.txt exists", ""), "top.md:5: the expectation is empty, so that nothing would be checked"),
        (PLAIN.replace("a.txt exists", "<!-- nothing -->"), "the expectation is empty"),
        (PLAIN.replace("Do it.", ""), "top.md:1: the to-do is empty"),
        (PLAIN + "\n## Todo\nMore.\n", "top.md:9: the section Todo stands here twice"),
        (PLAIN + "\n## Expectation\nMore.\n", "top.md:9: the section Expectation stands here twice"),
        (PLAIN + "\n## Notes\n", "top.md:9: a task has no section Notes"),
        ("---\nRank: 1\n" + PLAIN, "top.md:1: the key-values do not end"),
        ("---\nRank 1\n---\n" + PLAIN, "top.md:2: is not a key with its value"),
        ("---\nRank: 1\nrank: 2\n---\n" + PLAIN, "top.md:3: rank stands here twice"),
        ("---\nGPU: 1\n---\n" + PLAIN, "top.md:2: GPU: the task wants a GPU"),
        ("---\nSlurm: on\n---\n" + PLAIN, "top.md:2: Slurm: a task does not submit jobs itself"),
        ("---\nTimeout: soon\n---\n" + PLAIN, "timeout: soon is not a number of seconds"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(refusal, text, said):
    assert refusal(text).startswith(said) or said in refusal(text)


def test_keys_that_are_off_or_unknown(read):
    task = read("---\nGPU: 0\nSlurm: off\nBashTime: -1\nTimout: 5\n_Hidden: x\n---\n" + PLAIN)
    assert task.command_s is None
    assert [one.partition("top.md:")[2] for one in task.warnings] == [
        '5: Timout: unknown key, not read; did you mean "timeout"?',
        "6: _Hidden: unknown key, not read; known are " + task.warnings[1].partition("known are ")[2],
    ]


def test_sub_tasks_are_grouped_by_their_names(tmp_path):
    for name in ("top", "fit", "fit.sample", "fit.plot", "fit.plot.axes", "report", "README"):
        (tmp_path / f"{name}.md").write_text(PLAIN)
    task = scifi_markdown.read(tmp_path)
    assert [one.name for one in task.subtasks] == ["fit", "report"]
    assert [one.name for one in task.subtasks[0].subtasks] == ["fit.plot", "fit.sample"]
    assert [one.name for one in task.subtasks[0].subtasks[0].subtasks] == ["fit.plot.axes"]


def test_a_sub_task_without_its_group_is_not_lost(tmp_path):
    for name in ("top", "a.b"):
        (tmp_path / f"{name}.md").write_text(PLAIN)
    assert [one.name for one in scifi_markdown.read(tmp_path).subtasks] == ["a.b"]


def nested(folder, **depends):
    for name, needs in depends.items():
        place = folder / name.replace("_", "/")
        place.mkdir(exist_ok=True, parents=True)
        (place / "top.md").write_text(f"---\nDependsOn: {needs}\n---\n{PLAIN}" if needs else PLAIN)
    (folder / "top.md").write_text(PLAIN)


def test_folders_with_a_top_file_are_sub_tasks_in_the_order_of_their_dependencies(tmp_path):
    nested(tmp_path, evaluate="train, setup", setup="", train="setup", train_fit="")
    task = scifi_markdown.read(tmp_path)
    assert [one.name for one in task.subtasks] == ["setup", "train", "evaluate"]
    assert task.subtasks[2].depends_on == ("train", "setup")
    assert [one.name for one in task.subtasks[1].subtasks] == ["fit"]


@pytest.mark.parametrize(
    ("depends", "said"),
    [
        ({"a": "b"}, "a/top.md: DependsOn: b is not a sub-task beside it"),
        ({"a": "b", "b": "a"}, "DependsOn goes in a ring"),
        ({"_".join("abcdefghi"): ""}, "is a task more than 8 folders below the first"),
    ],
)
def test_dependencies_that_cannot_be_kept_are_refused(tmp_path, depends, said):
    if len(depends) == 1 and "_" in next(iter(depends)):
        for number in range(1, 9):
            depends["_".join("abcdefghi"[:number])] = ""
    nested(tmp_path, **depends)
    with pytest.raises(UserError) as caught:
        scifi_markdown.read(tmp_path)
    assert said in str(caught.value)


def test_a_key_outside_the_fences_is_warned_of(read):
    task = read("# Fit\nTimeout: 5\n\n" + PLAIN)
    assert task.timeout_s is None
    assert "top.md:2: Timeout does not stand between two lines ---" in task.warnings[0]
