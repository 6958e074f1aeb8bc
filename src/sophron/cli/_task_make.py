"""`sophron task make`: a task in Markdown out of a person's words, in a dialogue of one question a turn."""

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sophron.cli import _dialogue

if TYPE_CHECKING:
    from sophron.agents.supervisor.dialogue import Dialogue
    from sophron.tasks.scifi_markdown import MarkdownTask

ENDED = {
    "unsupported": "This ends the dialogue: no task can be made of it.",
    "closed": "This ends the dialogue.",
}
UNREADABLE = "cannot be read as a task"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this action."""
    parser.add_argument("words", nargs="?", help="what is wanted")
    parser.add_argument(
        "--folder", type=Path, metavar="NAME", help="of the task, new or with the files that are given (from the words)"
    )
    _dialogue.add_arguments(parser)


def run(args: argparse.Namespace, show: "Callable[[MarkdownTask], int]") -> int:
    """Take turns until there is a task, or nobody to answer. show: prints each sentence with its checks."""
    from sophron.records.errors import UserError
    from sophron.records.files import read_text
    from sophron.tasks import task_maker

    words = args.words or (read_text(args.source) if args.source else "")
    if not words and args.folder is None:
        if args.answer is not None:
            raise UserError("--answer: of which dialogue? Give its --folder too")
        words = _dialogue.ask("What is to be done?")
    folder = args.folder or Path(task_maker.folder_of(words))
    dialogue = task_maker.dialogue(folder.absolute())
    if words or not dialogue.begun:
        dialogue.begin(words or _dialogue.ask("What is to be done?"))
    subject = _dialogue.Subject(
        dialogue,
        f"sophron task make --folder {folder}",
        ENDED,
        inputs=partial(task_maker.inputs, folder.absolute(), dialogue),
        faults=partial(_faults, folder.absolute(), dialogue),
        finish=partial(_made, folder, show),
    )
    return _dialogue.lead(subject, args.answer, args.agents)


def _faults(folder: Path, dialogue: "Dialogue", turn: Mapping[str, Any]) -> _dialogue.Faults:
    from sophron.tasks import task_maker

    return task_maker.faults(folder, turn, "\n".join([dialogue.request(), *(one.answered for one in dialogue.turns())]))


def _made(
    folder: Path, show: "Callable[[MarkdownTask], int]", turn: Mapping[str, Any], faults: _dialogue.Faults
) -> int:
    """Write the task and show what programs check of it; if it cannot be read, say why and write nothing."""
    from sophron.records.sanitize import one_line
    from sophron.tasks import task_maker

    if UNREADABLE in faults:
        _dialogue.say_faults("The draft cannot be read as a task, and nothing was written:", faults[UNREADABLE])
        return 1
    path = task_maker.write(folder.absolute(), turn["draft"])
    for one in turn["chosen"]:
        print(f"  chosen     {one_line(one['what'], 300)}: {one_line(one['why'], 400)}")
    show(task_maker.read(folder.absolute(), turn["draft"]))
    for what, why in faults.items():
        if what != task_maker.LOOSE:
            _dialogue.say_faults(f"It {what}:", why)
    print(f"{folder / path.name} is a draft. Read it, edit it, then: sophron task check {folder}")
    return 0
