"""`sophron gate`: what `rule gate` runs if the gate file is missing: it is restored, or a person has to sign."""

import argparse
from pathlib import Path

HELP = "write a lost gate file again, or say how the plan is approved (called by rule gate)"
FOR_RULES = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("gate", type=Path, help="the missing gate file")
    parser.add_argument("--log", type=Path, help="log file of the step")


def run(args: argparse.Namespace) -> int:
    """Bring the gate file back that Snakemake removed; fail with the next command if nothing is in force."""
    from sophron.campaign.approval import approval_journal
    from sophron.records import approvals

    root = approvals.campaign_root(args.gate)
    approval_journal.restore_gate(root)
    approvals.valid_approval(root)
    return 0
