"""`sophron watch`: what the terminal of a run shows, in any other terminal, from the records alone."""

import argparse
import sys
import time
from pathlib import Path

HELP = "show campaigns as they run: what is done, what runs, the time left, who is waited for"
EXAMPLES = """\
examples:
  sophron watch                     the campaign in this folder, until Ctrl-C
  sophron watch melt-1 melt-2       several at a time
  sophron watch melt-1 --once       look once, for a script; so does watch whose output is no terminal
"""
POLL_S = 1.0
SHARE = 20  # of its time, watching takes one part in so many at most


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("campaigns", nargs="*", metavar="DIR", help="folders of campaigns (default: here)")
    parser.add_argument("--once", action="store_true", help="look once and end")


def run(args: argparse.Namespace) -> int:
    """Watch until Ctrl-C; files are read again when they change."""
    from sophron.cli import _campaign_status
    from sophron.cli._event_lines import EventLines
    from sophron.cli._live_display import Display
    from sophron.records.nearest_campaign import nearest_campaign

    roots = [nearest_campaign(Path(name)) for name in args.campaigns or ["."]]
    if args.once or not sys.stdout.isatty():
        print("\n\n".join(_campaign_status.show(root, as_json=False) for root in roots))
        return 0
    display = Display(roots, sys.stdout)
    logs = [EventLines(root) for root in roots]
    display.start()
    try:
        while True:
            begun = time.monotonic()
            display.refresh()  # UserError, one sentence, for a folder that holds no campaign
            time.sleep(max(POLL_S, SHARE * (time.monotonic() - begun)))
            for log in logs:
                for line in log.read():
                    display.print(line)
    finally:
        display.stop()
