"""`sophron screen`: a campaign that runs one pipeline over a library of guests."""

import argparse
from pathlib import Path

HELP = "make a campaign that runs a deployed pipeline over a library of guests"
EXAMPLES = """\
examples:
  sophron screen my-host --library guests.yaml --into my-screen
      my-host: a finished campaign of the kind host_guest, whose deployed pipeline is taken
      guests.yaml: system, guests and settings, in the form of its stage tasks
  sophron screen my-host --library guests --into my-screen
      guests: a folder with host.mol2, library.yaml (temperature_k, ph, solvent), and for each guest a sub-folder
      with guest.mol2 and complex.pdb; the same as a file with system: library
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("campaign", type=Path, metavar="DIR", help="finished campaign of the kind host_guest")
    parser.add_argument("--library", type=Path, required=True, metavar="PATH", help="file or folder of guests")
    parser.add_argument("--into", type=Path, required=True, metavar="DIR", help="folder of the new campaign")


def run(args: argparse.Namespace) -> int:
    """Make the folder, and say what comes next."""
    from sophron.debate.screening import screen_campaign

    screen_campaign.make(args.campaign.absolute(), args.library, args.into)
    print(f"{args.into} is a campaign. Next: sophron review {args.into}")
    return 0
