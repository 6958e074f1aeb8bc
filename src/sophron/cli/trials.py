"""`sophron trials`: what trial loops came to, and the ladder of methods to compare them by."""

import argparse
from pathlib import Path

HELP = "compare trial loops; make one campaign for each method of the ladder"
EXAMPLES = """\
examples:
  sophron trials show my-host                     its loop in one line: scores, failures, cost
  sophron trials ladder my-host --into ladder     one campaign a method; sign and run each
  sophron trials show ladder/*                    the table of all of them
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    verbs = parser.add_subparsers(dest="action", required=True, metavar="show|ladder")
    show = verbs.add_parser("show", help="scores, failures and cost of finished campaigns")
    show.add_argument("campaigns", nargs="+", type=Path, metavar="DIR", help="campaign folders")
    ladder = verbs.add_parser("ladder", help="make a campaign for each method")
    ladder.add_argument("campaign", type=Path, metavar="DIR", help="campaign to start from")
    ladder.add_argument("--into", type=Path, required=True, metavar="DIR", help="folder for the campaigns")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    from sophron.debate import ladder

    if args.action == "show":
        from tabulate import tabulate

        rows = ladder.table([folder.absolute() for folder in args.campaigns])
        print(tabulate(rows, ladder.HEADER, tablefmt="plain", disable_numparse=True))
        return 0
    for folder in ladder.make(args.campaign.absolute(), args.into):
        print(f"{folder} is a campaign. Next: sophron review {folder}")
    return 0
