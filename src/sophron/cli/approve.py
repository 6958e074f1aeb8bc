"""`sophron approve`: look at the exact statement, type its digits, sign it."""

import argparse
import sys
from pathlib import Path

HELP = "sign the plan, or a drafted amendment"
EXAMPLES = """\
examples:
  sophron approve my-melt --key ~/.ssh/id_ed25519            shows the statement and asks for its digits
  sophron approve my-melt --key ~/.ssh/id_ed25519 --digest "$(sophron review my-melt --digest)"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument("campaign", nargs="?", type=Path, default=Path(), help="campaign folder (default: here)")
    parser.add_argument(
        "--key", type=Path, required=True, help="SSH private key, or public key of one that an agent holds"
    )
    parser.add_argument("--digest", help="first 12 hex digits of the statement's sha256, instead of typing them")
    parser.add_argument("--as", dest="approver", help="name of the signer (first approval; default: user@host)")
    parser.add_argument("--snakefile", type=Path, help="Snakefile of the pipeline that this campaign is part of")


def run(args: argparse.Namespace) -> int:
    """Sign what `sophron review` shows."""
    from sophron.campaign import amendment_journal, approve, driver, locks
    from sophron.cli._probes import hits
    from sophron.records.errors import UserError

    root = args.campaign.absolute()
    with locks.signing(root):
        if amendment_journal.finish_locked(root):
            driver.tell(root)
            print("An approval that was signed before, but not yet in force, is in force now.")
            return 0
        proposal = approve.propose(root, args.snakefile)
        reasons = approve.closed(proposal) + hits(root, proposal.plan.spec)
        if reasons:
            raise UserError("; ".join(reasons))
        _confirm(proposal, args.digest)
        record = approve.sign(proposal, args.key, args.approver)
        driver.tell(root, proposal.plan)
    print(f"Version {record['version']} of {record['campaign']} is approved by {record['approver']}. Next: snakemake")
    return 0


def _confirm(proposal: "object", digest: str | None) -> None:
    from sophron.campaign.approve import SHOWN_DIGITS, Proposal
    from sophron.records.errors import UserError

    if not isinstance(proposal, Proposal):
        raise TypeError
    wanted = proposal.digest[:SHOWN_DIGITS]
    if digest is None:
        print(proposal.statement)
        if not sys.stdin.isatty():
            raise UserError(f"the statement above has the digits {wanted}; give them: --digest {wanted}")
        digest = input(
            "You sign the bytes above. Type the first 12 hex digits of their sha256 (sophron review shows them): "
        )
    if digest.strip().lower() != wanted:
        raise UserError("these are not the digits of the statement as it is now; look again: sophron review")
