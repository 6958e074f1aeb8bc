"""`sophron new`: make a campaign folder to start from."""

import argparse
from pathlib import Path

HELP = "make a campaign folder to start from"
EXAMPLES = """\
examples:
  sophron new viscosity my-melt        the folder must be new or empty; its name becomes the campaign's id
"""
PROFILE = "local"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    shipped = "agent_build, chain_conformation, conductivity, host_guest, rietveld, sequence_bo, viscosity, workflow"
    kinds = f"{shipped}, or of a package"
    parser.add_argument("kind", help=f"kind of campaign: {kinds}")
    parser.add_argument("folder", type=Path, metavar="DIR", help="the new folder")


def run(args: argparse.Namespace) -> int:
    """Make the folder, and say what comes next."""
    from sophron.campaign.planning import profiles
    from sophron.campaign.scaffold import campaign_folder

    campaign_folder.create(args.kind, args.folder)
    installed = profiles.provide(PROFILE)
    print(f"{args.folder} holds campaign.yaml, Snakefile, profiles/default and .gitignore.")
    if installed:
        print(f"{installed} is new too: Snakemake's profile for this machine.")
    print(f"""Next, in {args.folder}:
  edit campaign.yaml              what is UNVERIFIED in it keeps the gate closed
  snakemake -n                    shows what would run; works at any time
  sophron review                  shows the plan, its criteria and its pitfalls
  sophron approve --key FILE      signs it
  snakemake --profile {PROFILE}       runs it; the same line goes on after a kill""")
    return 0
