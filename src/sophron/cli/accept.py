"""`sophron accept`: stop the workflow at a failed verdict."""

import argparse
from pathlib import Path

from sophron.cli import _step_arguments

HELP = "accept a stage, or stop at its failed verdict (called by rule accept)"
FOR_RULES = True
FORKED = ("sophron.campaign.execution.verdict",)
"""What the fork server of a local run imports for this verb."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("stage", help="name of the stage")
    parser.add_argument("--verdict", type=Path, required=True, help="the verdict")
    parser.add_argument("--accepted", type=Path, required=True, help="what was accepted; downstream stages wait for it")
    parser.add_argument("--passed", type=Path, required=True, help="mark that this verdict passed")
    _step_arguments.add_step_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Accept, or raise with what failed and what to do."""
    from sophron.campaign.execution import verdict

    claim = _step_arguments.claim(args, "accept", args.stage, {"stage": args.stage})
    verdict.accept(claim, args.gate, args.verdict, args.accepted, args.passed)
    _step_arguments.finish_log(args, f"accepted {args.stage}")
    return 0
