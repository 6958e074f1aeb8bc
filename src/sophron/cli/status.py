"""`sophron status`: what ran, what runs, how long it will take, and what comes next."""

import argparse
from pathlib import Path

HELP = "show stages, running steps, verdicts, waiting gates and the next command"
EXAMPLES = """\
examples:
  sophron status                  the campaign in this folder
  sophron status my-melt --json   another one, for programs
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument(
        "campaign", nargs="?", type=Path, default=Path(), metavar="DIR", help="folder of the campaign (default: here)"
    )
    parser.add_argument("--json", action="store_true", help="the state and what is live of it, as JSON")


def run(args: argparse.Namespace) -> int:
    """Show the campaign in `args.campaign`."""
    from sophron.cli import _campaign_status

    print(_campaign_status.show(Path(args.campaign), as_json=args.json))
    return 0
