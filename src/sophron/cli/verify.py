"""`sophron verify`: judge a stage by its criteria and write the verdict."""

import argparse
from pathlib import Path

from sophron.cli import _step_arguments

HELP = "write the verdict of a stage (called by rule verify)"
FOR_RULES = True
FORKED = ("sophron.campaign.execution.verdict",)
"""What the fork server of a local run imports for this verb."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("stage", help="name of the stage")
    parser.add_argument("--verdict", type=Path, required=True, help="where the verdict belongs")
    _step_arguments.add_step_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Write the verdict; a failed one is not an error of this step."""
    from sophron.campaign.execution import verdict

    verdict.verify(_step_arguments.claim(args, "verify", args.stage, {"stage": args.stage}), args.gate, args.verdict)
    _step_arguments.finish_log(args, f"verdict of {args.stage}: {args.verdict}")
    return 0
