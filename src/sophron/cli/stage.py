"""`sophron stage`: run one compute step, from approval to outcome."""

import argparse
from pathlib import Path

from sophron.cli import _step_arguments

HELP = "run one step of a stage (called by its rule)"
FOR_RULES = True
FORKED = ("sophron.campaign.execution.run_step",)
"""What the fork server of a local run imports for this verb."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("stage", help="name of the stage")
    parser.add_argument("--wildcard", action="append", default=[], metavar="NAME=VALUE", help="wildcard of the step")
    parser.add_argument(
        "--outcome", type=Path, required=True, help="where the outcome belongs; other outputs beside it"
    )
    parser.add_argument("--cores", type=int, default=1, help="reserved cores")
    parser.add_argument("--memory-mb", type=int, default=0, help="reserved memory in MB")
    parser.add_argument("--runtime-min", type=int, default=0, help="reserved wall time in minutes")
    _step_arguments.add_step_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Run the step."""
    from sophron.records import approvals

    wildcards = _step_arguments.wildcards(args.wildcard)
    claim = _step_arguments.claim(args, args.stage, args.stage, wildcards)
    root = approvals.campaign_root(args.gate)
    from sophron.campaign.execution import run_step

    code = run_step.execute(run_step.Order(claim, args.gate, args.outcome), _step_arguments.function)
    _step_arguments.finish_log(
        args, f"{args.stage} {' '.join(args.wildcard)}: exit {code}; engine logs in {root / 'records'}"
    )
    return code
