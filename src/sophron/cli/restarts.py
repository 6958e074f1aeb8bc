"""`sophron restarts`: the restart files of a campaign's steps, and moving away those that nobody needs."""

import argparse
from pathlib import Path

HELP = "list restart files; move aside those the checkpoint agent marked for removal"
EXAMPLES = """\
examples:
  sophron restarts my-melt                                     which there are, whole or torn
  snakemake results/restart-files-1.json                       asks the agent which to keep
  sophron restarts my-melt --apply results/restart-files-1.json   moves the pruned ones to scratch/pruned/
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("campaign", nargs="?", type=Path, default=Path(), help="campaign folder (default: here)")
    parser.add_argument("--apply", type=Path, metavar="ANSWER", help="answer file of checkpoint-management")


def run(args: argparse.Namespace) -> int:
    """Show them, or move what an answer prunes. Nothing is deleted."""
    from sophron.agents.memory import restart_files
    from sophron.agents.step import conversation
    from sophron.campaign.execution import campaign_lock
    from sophron.records import documents
    from sophron.records.errors import UserError

    root = args.campaign.absolute()
    if args.apply is None:
        for one in restart_files.list_restarts(root):
            whole = "whole" if one["valid"] else "torn"
            print(f"{one['step']}/{one['file']}  step {one['timestep']}  {one['bytes']} bytes  {whole}")
        return 0
    document = documents.load_json(args.apply)
    documents.validate(documents.Document(document, args.apply), "agent-answer")
    # A running step may have written others since: the answer must still fit what is there.
    with campaign_lock.signing(root):
        inputs = {"restarts": restart_files.list_restarts(root)}
        faults = conversation.guardrail_faults("checkpoint-management", inputs, document["answer"])
        if document["agent"] != "checkpoint-management" or faults:
            reason = faults[0] if faults else f"it is an answer of {document['agent']}"
            raise UserError(f"{args.apply}: does not fit the restart files that are there ({reason}); ask again")
        for path in restart_files.prune(root, document["answer"]["pruned"]):
            print(f"moved to {path}")
    return 0
