"""`sophron build`: make an agent from a contract, package and serve one that was made."""

import argparse

from sophron.cli import _build_contract, _build_release

HELP = "build an agent from a contract, then package and serve it"
EXAMPLES = f"""\
examples:
{_build_contract.EXAMPLES}{_build_release.EXAMPLES}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    _build_contract.add_actions(actions)
    _build_release.add_actions(actions)


def run(args: argparse.Namespace) -> int:
    """Run one action."""
    if args.action in _build_contract.NAMES:
        return _build_contract.run(args)
    return _build_release.run(args)
