"""`sophron retry`: clear the failed outcome of a step, so that the next `snakemake` tries it again."""

import argparse
from pathlib import Path

HELP = "clear failed outcomes, so that their steps are tried again; it costs no amendment"
EXAMPLES = """\
examples:
  sophron retry relax my-melt      every failed step of the stage relax
  sophron retry relax-0 my-melt    one step
What failed is kept in records/STEP/failed-vN-M, and a line of progress.log says that it was cleared.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument("name", metavar="STAGE|STEP", help="name of a stage or of a step, as sophron status shows it")
    parser.add_argument("campaign", nargs="?", type=Path, default=Path(), help="campaign folder (default: here)")


def run(args: argparse.Namespace) -> int:
    """Clear, and say what comes next."""
    from sophron.campaign.approval import approval_journal
    from sophron.campaign.execution import campaign_lock, clear_failed
    from sophron.campaign.spec.spec import SPEC_NAME, load
    from sophron.records.terminal import next_line

    root = args.campaign.absolute()
    spec = load(root / SPEC_NAME)
    with campaign_lock.signing(root):
        approval_journal.finish_locked(root)
        for step in clear_failed.clear(root, spec, args.name):
            print(f"{step}: its failed outcome is cleared, and kept in {root.name}/records/{step}")
    print(next_line(root, "snakemake"))
    return 0
