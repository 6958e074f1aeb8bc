"""`sophron mailbox`: see the requests that wait for a person or a program, and answer them."""

import argparse
import sys
from pathlib import Path

HELP = "list, show and answer the requests of agents whose backend is the mailbox"
EXAMPLES = """\
examples:
  sophron mailbox list my-melt                     which requests wait
  sophron mailbox show debug-produce-2 my-melt     what is asked; the beginning of an id is enough
  sophron mailbox answer debug-produce-2 out.json  check an answer and give it; - reads it from standard input
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listed = actions.add_parser("list", help="show what waits and what is answered")
    show = actions.add_parser("show", help="print a request")
    show.add_argument("id", help="id of the request, or its beginning")
    answer = actions.add_parser("answer", help="give an answer, if it fits what was asked for")
    answer.add_argument("id", help="id of the request, or its beginning")
    answer.add_argument("file", metavar="FILE", help="file that holds the answer as JSON, or -")
    for action in (listed, show, answer):
        action.add_argument("campaign", nargs="?", type=Path, default=Path(), help="campaign folder (default: here)")


def run(args: argparse.Namespace) -> int:
    """List, show or answer."""
    from sophron.agents.gateway import mailbox_folder

    root = args.campaign.absolute()
    if args.action == "list":
        return _list(root)
    entry = mailbox_folder.find(root, args.id)
    if args.action == "show":
        return _show(entry.folder / mailbox_folder.READABLE)
    mailbox_folder.answer(entry, _read(args.file))
    print(
        f"{entry.folder / mailbox_folder.ANSWER}. "
        "The step that waits goes on; one that gave up takes it when it runs again."
    )
    return 0


def _list(root: Path) -> int:
    from sophron.agents.gateway import mailbox_folder

    entries = mailbox_folder.entries(root)
    for entry in entries:
        print(f"{'answered' if entry.answered else 'waits':<9} {entry.id}")
    if not entries:
        print("The mailbox is empty.")
    elif not all(entry.answered for entry in entries):
        print("Next: sophron mailbox show ID DIR, sophron mailbox answer ID FILE DIR (DIR: the campaign, if not here)")
    return 0


def _show(path: Path) -> int:
    """What data and models wrote is shown without signs that paint a terminal."""
    from sophron.records.files import read_bytes
    from sophron.records.sanitize import lines

    print("\n".join(lines(read_bytes(path).decode(errors="replace"))))
    return 0


def _read(name: str) -> str:
    from sophron.records.errors import UserError
    from sophron.records.files import read_text

    try:
        return sys.stdin.read() if name == "-" else read_text(Path(name))
    except UnicodeDecodeError:
        raise UserError("standard input is not UTF-8 text; save the answer as plain UTF-8") from None
