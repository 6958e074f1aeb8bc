"""`sophron approve`: look at the exact statement, type its first digits, sign it."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sophron.campaign.approval.approve import Proposal
    from sophron.records.approvals import ApprovalRecord

HELP = "sign the plan, or a drafted amendment"
EXAMPLES = """\
examples:
  sophron approve my-melt --key ~/.ssh/id_ed25519            shows spec and statement and asks for twelve digits
  sophron approve my-melt --key ~/.ssh/id_ed25519 --digest SHA256   the whole one, as `sophron review` printed it
  sophron approve my-melt --key ~/.ssh/id_ed25519 --renew    after an upgrade: shows that only the harness changed
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument("campaign", nargs="?", type=Path, default=Path(), help="campaign folder (default: here)")
    parser.add_argument(
        "--key", type=Path, required=True, help="SSH private key, or public key of one that an agent holds"
    )
    parser.add_argument("--digest", help="the whole sha256 of the statement that you reviewed")
    parser.add_argument("--as", dest="approver", help="name of the signer (first approval; default: user@host)")
    parser.add_argument(
        "--renew", action="store_true", help="sign the same once more, if nothing but the harness changed"
    )
    parser.add_argument("--snakefile", type=Path, help="Snakefile of the pipeline that this campaign is part of")


def run(args: argparse.Namespace) -> int:
    """Sign what `sophron review` shows."""
    from sophron.campaign.approval import approval_journal, approve
    from sophron.campaign.execution import campaign_lock
    from sophron.campaign.planning import plan, plan_documents
    from sophron.campaign.review import review, review_text
    from sophron.campaign.spec import pitfalls
    from sophron.records.errors import UserError
    from sophron.records.terminal import next_line

    root = args.campaign.absolute()
    snakefile = args.snakefile.absolute() if args.snakefile else None
    with campaign_lock.signing(root):
        if approval_journal.finish_locked(root):
            plan_documents.record_in_force(root)
            print("An approval that was signed before, but not yet in force, is in force now.")
            return 0
        looked = review.collect(root, snakefile, pitfalls.probes_of(root))
        review_text.render(looked)  # what cannot be shown is not signed
        if looked.closed:
            raise UserError(approve.refusal(looked.closed))
        if looked.in_force and (record := _remembered(root)):
            following = next_line(plan.workdir(root, snakefile), "snakemake")
            print(f"Version {record.version} is in force already, signed by {record.approver}. {following}")
            return 0
        summary = approve.renewal_summary(looked.proposal) if args.renew else ""
        _confirm(looked.proposal, args.digest, summary)
        approve.carry_over(plan.workdir(root, snakefile))
        record = approve.sign(looked.proposal, args.key, args.approver)
        plan_documents.record_in_force(root, looked.proposal.plan)
    said = f"Version {record.version} of {record.campaign} is approved by {record.approver}."
    print(said, next_line(plan.workdir(root, snakefile), "snakemake"))
    return 0


def _remembered(root: Path) -> "ApprovalRecord | None":
    """The approval in force, if it is also the last one that this user knows: signing it again would say nothing."""
    from sophron.campaign.approval import known_signers
    from sophron.records import approvals
    from sophron.records.errors import Refused

    approval = approvals.signed_gate(root)
    try:
        known_signers.check(approval)
    except Refused:
        return None
    return approval.record


def _confirm(proposal: "Proposal", digest: str | None, summary: str = "") -> None:
    """Have the person name the statement: by its whole digest, or by 12 digits of what is shown here and now.

    summary: shown in any case, last.
    """
    from sophron.campaign.approval.approve import SHOWN_DIGITS
    from sophron.records.errors import UserError
    from sophron.records.sanitize import lines

    if digest is None and not sys.stdin.isatty():
        raise UserError("a statement is signed by its whole digest; look at it: sophron review, and give --digest")
    wanted = proposal.digest
    if digest is None:
        print("\n".join(lines(proposal.plan.spec.document.path.read_bytes().decode())))
        print(proposal.statement)
    if summary:
        print(summary)
    if digest is None:
        digest = input(
            f"You sign the spec and the statement above, whose sha256 is {wanted}. Type its first 12 digits: "
        )
        wanted = wanted[:SHOWN_DIGITS]
    elif len(digest.strip()) != len(wanted):
        raise UserError(f"--digest: wants all {len(wanted)} digits of the statement's sha256: sophron review --digest")
    if digest.strip().lower() != wanted:
        raise UserError("these are not the digits of the statement as it is now; look again: sophron review")
