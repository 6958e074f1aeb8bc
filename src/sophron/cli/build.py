"""`sophron build`: package, serve and tune again an agent that was built from a contract."""

import argparse

from sophron.cli import _build_release

HELP = "hand out an agent that was built from a contract: trail, release, serve, token, retune"
EXAMPLES = f"""\
examples:
{_build_release.EXAMPLES}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    _build_release.add_actions(actions)


def run(args: argparse.Namespace) -> int:
    """Run one action."""
    return _build_release.run(args)
