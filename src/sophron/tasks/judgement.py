"""Judge work that somebody else did: a folder with what stands at the task's working directory.

It is frozen first, as the work of an agent is, and judged by the same programs; who did it, and how, is not known.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from sophron.interfaces.sandbox import SandboxBackend
from sophron.records.errors import UserError
from sophron.records.files import write_json
from sophron.records.typed_json import to_json
from sophron.tasks import environment, folder_tree
from sophron.tasks.attempts import RESULT
from sophron.tasks.dockerfile import Recipe
from sophron.tasks.environment import Box, Python
from sophron.tasks.expectation_checks import Finding, Work, find
from sophron.tasks.expectations import Expectation
from sophron.tasks.fabrication import Attempt, Fabrication
from sophron.tasks.fabrication import find as find_fabrications
from sophron.tasks.scifi_markdown import TESTS, TOP, MarkdownTask
from sophron.tasks.tool_history import RecordedCall

MARKDOWN_WORKDIR = "/app"
"""Where the work folder of a task in Markdown is inside."""
READMES = ("README.md", "readme.md")
MOST_PRINTED = 1_000_000
"""Characters of what a command printed in which a text is looked for."""


@dataclass(frozen=True)
class Judgement:
    """What programs found of work at a task in Markdown. left_out: links, devices and sockets, which did not cross.

    fabrications: signs of fabricated results, as far as files alone show them; evidence and no verdict.
    """

    task: str
    sentences: tuple[Finding, ...]
    left_out: tuple[str, ...] = ()
    fabrications: tuple[Fabrication, ...] = ()

    @property
    def met(self) -> bool:
        """Return whether programs found every sentence met; one that no program checks is not."""
        return all(finding.met for finding in self.sentences)


def markdown_box(tree: Path) -> Box:
    """Return the box of a task in Markdown around a tree: this installation's Python, and no network."""
    recipe = Recipe("", "", (), (), (), {}, MARKDOWN_WORKDIR)
    return Box(tree, Python(Path(sys.prefix)), recipe, MARKDOWN_WORKDIR)


def sentence_findings(
    expectations: Sequence[Expectation],
    box: Box,
    work: Path,
    scratch: Path,
    sandbox: SandboxBackend,
    *,
    before: Mapping[str, str],
    command_s: float,
    tests: Path | None = None,
    calls: Sequence[RecordedCall] | None = None,
) -> list[Finding]:
    """Carry out the checks of sentences on the frozen tree `work`.

    Commands run on a copy of it below `scratch`, so that no check sees another's. before: path -> sha256 as the task
    gave it; command_s: seconds of a command; tests: the task's own test programs, read-only at /tests; calls: what the
    worker called, None if it was not recorded.
    """
    folder = work.joinpath(*PurePosixPath(box.workdir).parts[1:])
    folder.mkdir(parents=True, exist_ok=True)

    def run(line: str) -> tuple[int, str]:
        copy, log = scratch / "command", scratch / "command.log"
        if copy.exists():
            shutil.rmtree(copy)
        folder_tree.freeze(work, copy)
        (copy / environment.HOME).mkdir(exist_ok=True)
        shown_tests = {f"/{TESTS}": tests.resolve()} if tests else {}
        own = replace(box, tree=copy, wall_s=command_s, read_only={**box.read_only, **shown_tests})
        ended = own.run(["/bin/bash", "-c", line], sandbox, log)
        return ended.returncode, environment.tail(log, MOST_PRINTED)

    given = Work(folder, before, run, calls)
    return [find(one, given) for one in expectations]


def judge_markdown(task: MarkdownTask, work: Path, place: Path, sandbox: SandboxBackend) -> list[Judgement]:
    """Judge the folder `work` by the sentences of a task and of those below it; what was found is kept in `place`."""
    if not work.is_dir():
        raise UserError(f"{work}: there is no such folder; name the one that holds the work")
    scratch = place / "scratch"
    if scratch.exists():
        shutil.rmtree(scratch)
    tree = scratch / "work"
    left_out = folder_tree.freeze(work, tree.joinpath(*PurePosixPath(MARKDOWN_WORKDIR).parts[1:]))
    folder = tree.joinpath(*PurePosixPath(MARKDOWN_WORKDIR).parts[1:])
    found = [
        Judgement(one.name, _findings(one, tree, scratch, sandbox), tuple(left_out), _fabrications(one, folder))
        for one in _with_below(task)
    ]
    write_json(place / RESULT, {"met": all(one.met for one in found), "tasks": to_json(found)})
    shutil.rmtree(scratch)
    return found


def _findings(task: MarkdownTask, tree: Path, scratch: Path, sandbox: SandboxBackend) -> tuple[Finding, ...]:
    command_s = task.command_s if task.command_s is not None else environment.COMMAND_S
    box, before = markdown_box(tree), given_files(task)
    return tuple(
        sentence_findings(
            task.expectations, box, tree, scratch, sandbox, before=before, command_s=command_s, tests=task.tests
        )
    )


def _fabrications(task: MarkdownTask, folder: Path) -> tuple[Fabrication, ...]:
    """Signs in the files alone: of work that was handed in, no tool call was recorded."""
    withheld = {f"/{TESTS}": task.tests} if task.tests else {}
    text = f"{task.context}\n{task.todo}"
    return tuple(find_fabrications(Attempt(folder, given_files(task), task.expectations, text, None, withheld)))


def given_files(task: MarkdownTask) -> dict[str, str]:
    """Return what a task's folder gives to the worker: path -> sha256; nothing of a lone file.

    The Markdown of the task and of those below it, and their tests, are left out.
    """
    if task.path.name != TOP:
        return {}
    folder = task.path.parent
    hidden = {*READMES, *(str(one.path.relative_to(folder)) for one in _with_below(task))}
    tests = tuple(f"{one.tests.relative_to(folder)}/" for one in _with_below(task) if one.tests)
    return {
        name: value
        for name, value in folder_tree.digests(folder).items()
        if name not in hidden and not name.startswith(tests)
    }


def _with_below(task: MarkdownTask) -> Iterator[MarkdownTask]:
    yield task
    for below in task.subtasks:
        yield from _with_below(below)
