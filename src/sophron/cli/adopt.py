"""`sophron adopt`: put a gate on a Snakemake workflow that is there."""

import argparse
from pathlib import Path

HELP = "put a gate on a Snakemake workflow of your own: a campaign beside it, five lines at the end of its Snakefile"
EXAMPLES = """\
examples:
  sophron adopt                        writes campaign/campaign.yaml and shows the lines for the end of the Snakefile
  sophron adopt --write                adds the lines too
  sophron adopt --outer                leaves the Snakefile untouched: run snakemake -s campaign/Snakefile
  sophron adopt -- all --configfile config/test.yaml       what Snakemake is called with decides what is planned
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("--snakefile", type=Path, help="the workflow's Snakefile (default: where Snakemake looks)")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--write", action="store_true", help="add the lines to the Snakefile")
    way.add_argument(
        "--outer", action="store_true", help="make a Snakefile of the campaign that includes the workflow's"
    )
    parser.add_argument(
        "arguments", nargs="*", metavar="-- ARGUMENT", help="of Snakemake: targets, --config, --configfile"
    )


def run(args: argparse.Namespace) -> int:
    """Make the campaign, and say what comes next."""
    from sophron.campaign.scaffold import adopt

    made = adopt.adopt(Path.cwd(), args.snakefile, args.arguments, write=args.write, outer=args.outer)
    print("\n".join(made.notes))
    if made.lines:
        print(f"For the end of {made.snakefile.name}, as it stands (sophron adopt --write adds it):\n{made.lines}")
    call = f"snakemake -s {made.folder.name}/Snakefile" if args.outer else "snakemake"
    print(f"""Next:
  edit {made.folder.name}/campaign.yaml      the question, stages, the numbers to read and their criteria
  {call} -n
                              shows what would run, as before
  sophron review              shows every job's rule, code and params, and what would run
  sophron approve --key FILE  signs it""")
    return 0
