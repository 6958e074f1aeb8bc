"""`sophron gate`: what `rule gate` runs where nothing is approved yet; it only says what comes next."""

import argparse
from pathlib import Path

HELP = "say how the plan is approved (called by rule gate where the gate file is missing)"
FOR_RULES = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument("gate", type=Path, help="the missing gate file")
    parser.add_argument("--log", type=Path, help="log file of the step")


def run(args: argparse.Namespace) -> int:
    """Fail with the next command."""
    from sophron.records import approvals
    from sophron.records.errors import Refused

    root = approvals.campaign_root(args.gate)
    approvals.valid_approval(root)
    raise Refused(f"{root.name}: the gate file is in force; run again: snakemake")
