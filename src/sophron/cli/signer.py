"""`sophron signer`: who may sign for a campaign."""

import argparse
from pathlib import Path

HELP = "list, add, revoke or trust the keys that may sign for a campaign"
EXAMPLES = """\
examples:
  sophron signer list my-melt
  sophron signer add my-melt --key colleague.pub --as maria    a signer trusted until now approves next
  sophron signer revoke my-melt --key lost.pub
  sophron signer trust my-melt         a copy, signed by others: you know whose keys it lists
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("action", choices=["list", "add", "revoke", "trust"], help="what to do")
    parser.add_argument("campaign", nargs="?", type=Path, default=Path(), help="campaign folder (default: here)")
    parser.add_argument("--key", type=Path, help="public key file")
    parser.add_argument("--as", dest="name", help="name of the signer")


def run(args: argparse.Namespace) -> int:
    """Change the list; a change of it has to be approved by somebody who was trusted before."""
    from sophron.campaign.approval import approve, known_signers
    from sophron.campaign.execution import campaign_lock
    from sophron.campaign.spec.spec import SPEC_NAME, load
    from sophron.records.approvals import FOLDER
    from sophron.records.errors import UserError
    from sophron.records.files import read_text, write_text
    from sophron.records.signatures import REVOKED_NAME, SIGNERS_NAME, public_key

    root = args.campaign.absolute()
    path = root / FOLDER / SIGNERS_NAME
    text = read_text(path) if path.is_file() else ""
    if args.action == "list":
        print(text or "nobody yet: the first `sophron approve` trusts its own key", end="" if text else "\n")
        return 0
    if args.action == "trust":
        known_signers.remember_keys(root, load(root / SPEC_NAME).campaign)
        print(f"You trust these keys for this campaign from now on:\n{text}", end="")
        return 0
    if args.key is None or (args.action == "add" and not args.name):
        raise UserError("give the public key with --key (and, to add it, a name with --as)")
    public = public_key(args.key)
    with campaign_lock.signing(root):
        if args.action == "add":
            campaign = load(root / SPEC_NAME).campaign
            known_signers.check_keys(root, campaign)
            write_text(path, text + approve.signer_line(args.name, public, campaign))
            known_signers.remember_keys(root, campaign)
            print("Added. A signer trusted until now approves next: sophron approve")
        else:
            revoked = path.with_name(REVOKED_NAME)
            before = read_text(revoked) if revoked.is_file() else ""
            write_text(revoked, before + public + "\n")
            known_signers.remember_keys(root, load(root / SPEC_NAME).campaign)
            print("Revoked, from now on. If the approval in force was signed with it: sophron approve with another key")
    return 0
