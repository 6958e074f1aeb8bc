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
from sophron.tasks.scifi_markdown import TOP, MarkdownTask

MARKDOWN_WORKDIR = "/app"
"""Where the work folder of a task in Markdown is inside."""
MOST_PRINTED = 1_000_000
"""Characters of what a command printed in which a text is looked for."""


@dataclass(frozen=True)
class Judgement:
    """What programs found of work at a task in Markdown. left_out: links, devices and sockets, which did not cross."""

    task: str
    sentences: tuple[Finding, ...]
    left_out: tuple[str, ...] = ()

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
) -> list[Finding]:
    """Carry out the checks of sentences on the frozen tree `work`.

    Commands run on a copy of it below `scratch`, so that no check sees another's. before: path -> sha256 as the task
    gave it; command_s: seconds of a command.
    """
    folder = work.joinpath(*PurePosixPath(box.workdir).parts[1:])
    folder.mkdir(parents=True, exist_ok=True)

    def run(line: str) -> tuple[int, str]:
        copy, log = scratch / "command", scratch / "command.log"
        if copy.exists():
            shutil.rmtree(copy)
        folder_tree.freeze(work, copy)
        (copy / environment.HOME).mkdir(exist_ok=True)
        own = replace(box, tree=copy, wall_s=command_s)
        ended = own.run(["/bin/bash", "-c", line], sandbox, log)
        return ended.returncode, environment.tail(log, MOST_PRINTED)

    given = Work(folder, before, run)
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
    found = [Judgement(one.name, _findings(one, tree, scratch, sandbox), tuple(left_out)) for one in _with_below(task)]
    write_json(place / RESULT, {"met": all(one.met for one in found), "tasks": to_json(found)})
    shutil.rmtree(scratch)
    return found


def _findings(task: MarkdownTask, tree: Path, scratch: Path, sandbox: SandboxBackend) -> tuple[Finding, ...]:
    command_s = task.command_s if task.command_s is not None else environment.COMMAND_S
    box, before = markdown_box(tree), given_files(task)
    return tuple(sentence_findings(task.expectations, box, tree, scratch, sandbox, before=before, command_s=command_s))


def given_files(task: MarkdownTask) -> dict[str, str]:
    """Return what a task's folder gives to the worker: path -> sha256, without its Markdown; nothing of a lone file."""
    if task.path.name != TOP:
        return {}
    return {name: value for name, value in folder_tree.digests(task.path.parent).items() if not name.endswith(".md")}


def _with_below(task: MarkdownTask) -> Iterator[MarkdownTask]:
    yield task
    for below in task.subtasks:
        yield from _with_below(below)
