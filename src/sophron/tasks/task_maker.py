"""A task in Markdown out of a dialogue: what its agent is told, what a draft is held against, and the file.

Nothing that an agent says binds a sentence: the drafted file is read by the code that reads any task.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

from sophron.agents.supervisor.dialogue import Dialogue
from sophron.interfaces import JsonObject
from sophron.records import doc_passages, files
from sophron.records.errors import UserError, shown
from sophron.records.files import resource
from sophron.tasks import folder_tree, scifi_markdown
from sophron.tasks.expectation_checks import Work, find
from sophron.tasks.number_provenance import agrees, is_small, numbers
from sophron.tasks.scifi_markdown import TESTS, TOP, MarkdownTask
from sophron.tasks.task_templates import checked_name

AGENT, NAME = "task-maker", "make"
FORMS_PAGE = ("docs/explanation/tasks.md", "Markdown")
DIALOGUES = "{}.dialogue"
"""Beside the folder of a task, for all that lies in it is given to the worker."""
FORMS_BEGIN = "Each sentence of the expectation is bound"
"""What stands before it is of sub-tasks."""
BEGINNING, END, MOST_FILES, LARGEST = 600, 200, 100, 50_000_000
MOST_WORDS = 4
LOOSE = "has sentences that no program checks"
NAMES = re.compile(r"`[^`]*`|\"[^\"]*\"|\S*[A-Za-z_/]\S*")
"""What is not a number of its own: code, texts, words with digits in them."""


def folder_of(request: str) -> str:
    """Return a name for the folder of a task: the first words of the request."""
    words = [word for word in re.findall(r"[a-z0-9]+", request.lower()) if word not in doc_passages.STOPWORDS]
    return "-".join(words[:MOST_WORDS]) or "task"


def dialogue(folder: Path) -> Dialogue:
    """Return the dialogue about the task that `folder` is to hold. UserError if it holds one already."""
    checked_name(folder)
    if (folder / TOP).exists():
        raise UserError(f"{folder / TOP}: is there already and is not written over; give another --folder")
    return Dialogue(folder.with_name(DIALOGUES.format(folder.name)), AGENT, NAME)


def inputs(folder: Path, about: Dialogue) -> JsonObject:
    """Return what the task maker is told at its next turn."""
    return {"forms": _forms(), "machine": _machine(), "files": list(_given(folder)), **about.state()}


def _machine() -> str:
    """Return what a task in Markdown runs with: this installation's Python and its packages."""
    names = sorted({str(one.metadata["Name"]).lower() for one in distributions()})
    return f"Python {sys.version_info.major}.{sys.version_info.minor}, no network. Packages: {', '.join(names)}."


def _forms() -> str:
    """Return the forms of sentences that bind, as the documentation has them."""
    page, heading = FORMS_PAGE
    found = doc_passages.passages(resource("docs"))
    text = next(one.text for one in found if one.page == page and one.heading.endswith(heading))
    return text[text.index(FORMS_BEGIN) :]


def _given(folder: Path) -> Iterator[JsonObject]:
    """Yield the files that lie in the folder: path, bytes, beginning; of tests, that the worker does not see them."""
    if not folder.is_dir():
        return
    for name in sorted(folder_tree.digests(folder))[:MOST_FILES]:
        about = {"path": name, "bytes": (folder / name).stat().st_size, **_shown(folder / name)}
        yield about | ({"hidden": True} if name.startswith(f"{TESTS}/") else {})


def _shown(path: Path) -> JsonObject:
    """What is shown of a file: if it is text, its lines, the first ones, and of a longer one the last."""
    with path.open("rb") as stream:
        data = stream.read(LARGEST)
    if b"\0" in data:
        return {"lines": None, "beginning": None}
    about = {"lines": len(data.splitlines()), "beginning": data[:BEGINNING].decode(errors="replace")}
    return about | ({"end": data[-END:].decode(errors="replace")} if len(data) > BEGINNING else {})


def markdown(draft: JsonObject) -> str:
    """Return a drafted task as the text of its file."""
    listed = "\n".join(f"- {sentence.strip()}" for sentence in draft["expectation"])
    parts = [f"# {draft['title'].strip()}"]
    parts += [f"## Context\n\n{draft['context'].strip()}"] if draft["context"].strip() else []
    return "\n\n".join([*parts, f"## To-do\n\n{draft['todo'].strip()}", f"## Expectation\n\n{listed}"]) + "\n"


def read(folder: Path, draft: JsonObject) -> MarkdownTask:
    """Return a drafted task, read as `sophron task check` reads a file. UserError if it cannot be read."""
    return scifi_markdown.parse(folder / TOP, markdown(draft))


def faults(folder: Path, turn: JsonObject, said: str) -> dict[str, list[str]]:
    """Return what programs hold against a draft: what is the matter -> sentences.

    said: all that the person said; a number of the expectation comes from there, from the files, or from `chosen`.
    """
    draft = turn["draft"]
    try:
        task = read(folder, draft)
    except UserError as refused:
        return {"cannot be read as a task": [str(refused)]}
    if len(task.expectations) != len(draft["expectation"]):
        return {"cannot be read as a task": ["a sentence of the expectation is read as more than one, or as none"]}
    loose = [f'UNVERIFIED: "{shown(one.text, 300)}", for its clause "{shown(one.why, 100)}"' for one in task.unverified]
    return {
        LOOSE: loose,
        "has commands that cannot run": list(_broken(task)),
        "would pass without any work": list(_vacuous(folder, task)),
        "has numbers that come from nowhere": list(_unfounded(folder, turn, said)),
    }


def _broken(task: MarkdownTask) -> Iterator[str]:
    """Yield a sentence for each command that a shell or Python cannot even read; nothing is run."""
    for check in (check for one in task.expectations for check in one.checks if check.command):
        try:
            words = shlex.split(check.command)
            if words[0].startswith("python") and words[1:2] == ["-c"]:
                compile(" ".join(words[2:3]), "the command", "exec")
        except (SyntaxError, ValueError) as error:
            yield f"`{shown(check.command, 200)}`: {error}"


def _vacuous(folder: Path, task: MarkdownTask) -> Iterator[str]:
    """Yield a sentence if all that programs check holds of the files as they are given; commands count as failed."""
    given = folder_tree.digests(folder) if folder.is_dir() else {}
    bound = [one for one in task.expectations if one.checks]
    untouched = Work(folder, given, lambda _: (1, ""), ())
    if bound and all(find(one, untouched).met for one in bound):
        yield "each sentence that programs check holds of the given files already; say what the work adds"


def _unfounded(folder: Path, turn: JsonObject, said: str) -> Iterator[str]:
    """Yield a sentence for each number of the expectation that nobody said and `chosen` does not own."""
    chosen = "\n".join(f"{one['what']} {one['why']}" for one in turn["chosen"])
    shown_files = "\n".join(f"{one['beginning'] or ''} {one.get('end', '')}" for one in _given(folder))
    known = numbers("\n".join([said, chosen, shown_files]))
    for sentence in turn["draft"]["expectation"]:
        for value in numbers(NAMES.sub(" ", sentence)):
            if not is_small(value) and not agrees(value, known):
                where = f'{value:g} in "{shown(sentence, 200)}"'
                yield f"{where}: neither the person nor a file said it; list it under chosen"


def write(folder: Path, draft: JsonObject) -> Path:
    """Write a drafted task to its folder; where it is. UserError if one is there."""
    path = folder / TOP
    if path.exists():
        raise UserError(f"{path}: is there already and is not written over; move it away")
    files.write_text(path, markdown(draft))
    return path
