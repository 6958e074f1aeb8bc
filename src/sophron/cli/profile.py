"""`sophron profile`: put a profile that Sophron ships where Snakemake finds it by name."""

import argparse
from pathlib import Path

HELP = "list the profiles that Sophron ships, or install one for snakemake --profile"
EXAMPLES = """\
examples:
  sophron profile list
  sophron profile install local        then: snakemake --profile local
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="show the profiles and where they would go")
    install = actions.add_parser("install", help="copy one there; an edited one of that name is moved aside")
    install.add_argument("name", help="name of the profile")
    install.add_argument("--dir", type=Path, help="folder to put it into (default: Snakemake's for this user)")


def run(args: argparse.Namespace) -> int:
    """List or install."""
    from sophron.campaign.planning import profiles

    if args.action == "list":
        folder = profiles.user_folder()
        for name in profiles.names():
            print(f"{name:<14} {'installed in' if (folder / name).exists() else 'not yet in'} {folder}")
        return 0
    target, aside = profiles.install(args.name, args.dir or profiles.user_folder())
    if aside:
        print(f"The profile that was there is kept as {aside}.")
    print(f"{target}. Next: snakemake --profile {args.name if args.dir is None else target}")
    return 0
