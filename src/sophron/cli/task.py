"""`sophron task`: look at a task that programs are to judge, before anything runs."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sophron.tasks.harbor_folder import HarborTask
    from sophron.tasks.scifi_markdown import MarkdownTask

HELP = "look at a task that programs judge: a Harbor folder, or Markdown with Context, To-do and Expectation"
EXAMPLES = """\
examples:
  sophron task check tasks/column-mean     what its folder asks for, and what cannot be rebuilt here
  sophron task check tasks/gauss-fit       which sentences of its expectation programs check, and which are UNVERIFIED

exit codes: 0 it can run here, 1 something is UNVERIFIED or missing, 2 it is refused
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    actions = parser.add_subparsers(dest="action", required=True)
    check = actions.add_parser("check", help="read a task and say what programs will check; nothing runs")
    check.add_argument("task", type=Path, help="folder of a task, or its Markdown file")


def run(args: argparse.Namespace) -> int:
    """Print what a task comes to; UserError, a sentence, if it is refused."""
    from sophron.tasks import harbor_folder, scifi_markdown

    if args.task.is_file() or (args.task / scifi_markdown.TOP).is_file():
        return _print_markdown(scifi_markdown.read(args.task))
    return _print_folder(harbor_folder.read(args.task))


def _print_folder(task: "HarborTask") -> int:
    from sophron.records.errors import UserError
    from sophron.records.files import read_text
    from sophron.tasks import dockerfile, environment, grading_stubs, harbor_folder

    recipe, refusals = dockerfile.examine(task.folder / harbor_folder.ENVIRONMENT / harbor_folder.DOCKERFILE)
    missing = environment.missing_packages(recipe)
    print("\n".join(_folder_lines(task)))
    wanted = [name for call in recipe.requirements for name in (*call.names, *(f"-r {path}" for path in call.files))]
    script = read_text(task.folder / harbor_folder.TEST_SCRIPT)
    _print_list("Python", [recipe.python] if recipe.python else [])
    _print_list("pip", [*wanted, *(f"{name} (its tests)" for name in grading_stubs.requirements(script))])
    _print_list("packages", [f"{name}{' (missing here)' * (name in missing)}" for name in recipe.packages])
    _print_list("left out", recipe.notes)
    _print_list("warnings", task.warnings)
    if refusals:
        raise UserError(refusals[0] + (f" (and {len(refusals) - 1} more)" if refusals[1:] else ""))
    return int(bool(missing))


def _folder_lines(task: "HarborTask") -> Iterator[str]:
    seconds = "no limit" if task.work.timeout_s is None else f"{task.work.timeout_s:g} s"
    yield f"{task.name}: {len(task.files)} files; an oracle {'is there' if task.has_solution else 'is not there'}"
    yield f"  work       {seconds}; asks for network: {task.work.network}"
    sees = "artifacts alone" if task.separate else "the whole work folder"
    yield f"  tests      {task.tests.timeout_s:g} s; see {sees}; without a network"


def _print_list(title: str, lines: "list[str] | tuple[str, ...]") -> None:
    from sophron.records.sanitize import one_line

    for number, line in enumerate(lines):
        print(f"  {title if not number else '':<10} {one_line(line, 300)}")


def _print_markdown(task: "MarkdownTask", indent: str = "") -> int:
    from sophron.records.sanitize import one_line

    unverified = len(task.unverified)
    print(f"{indent}{task.name}: {len(task.expectations)} sentences, {unverified} UNVERIFIED")
    for sentence in task.expectations:
        how = ", ".join(check.check for check in sentence.checks)
        print(f"{indent}  line {sentence.line:<4} {one_line(sentence.text, 100)}")
        print(f"{indent}            {how or 'UNVERIFIED: ' + one_line(sentence.why, 80)}")
    for warning in task.warnings:
        print(f"{indent}  {one_line(warning, 300)}")
    below = [_print_markdown(one, f"{indent}  ") for one in task.subtasks]
    return max(int(bool(unverified)), *below, 0)
