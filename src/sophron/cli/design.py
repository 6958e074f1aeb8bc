"""`sophron design`: specify a campaign in a dialogue, four questions, one a turn; ends in a draft of campaign.yaml."""

import argparse
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sophron.cli import _dialogue

HELP = "specify a campaign in a dialogue that ends in a draft of campaign.yaml"
EXAMPLES = """\
examples:
  sophron design my-liquid                     asks in the terminal what is wanted, then one question a turn
  sophron design my-liquid --from request.md   what is wanted stands in a file
  sophron design my-liquid --answer 'Green-Kubo, NVE'   one turn, for scripts: answers the open question
Rules of thumb lead the dialogue unless another backend is chosen: --agents anthropic, mailbox, ...; the next turns
stay with it. Nothing is signed yet: budget.yaml in your configuration bounds what a day may cost.
The draft is no approval: what could not be checked stays UNVERIFIED and keeps the gate closed.
The answer `close` ends the dialogue. Exit code: 0 there is a draft, or a question waits; 1 it ended without a draft
(out of scope, no installed kind answers it, closed); 2 an error.
"""
ENDED = {
    "refused": "This ends the dialogue: it is out of scope.",
    "unsupported": "This ends the dialogue: no installed kind of campaign answers it, and how to write one stands in "
    "docs/how-to/write-a-kind.md.",
    "closed": "This ends the dialogue.",
}
UNSIGNABLE, LACKING = "cannot be signed", "cannot run on this machine"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument(
        "campaign", type=Path, metavar="DIR", help="campaign folder, new or with an unfinished dialogue"
    )
    parser.set_defaults(folder_as_given=True)
    _dialogue.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Take turns until there is a draft, a refusal, or nobody to answer."""
    from sophron.agents.supervisor import design_dialogue
    from sophron.records.files import read_text

    root = args.campaign.absolute()
    dialogue = design_dialogue.dialogue(root)
    if not dialogue.begun or args.source:
        dialogue.begin(read_text(args.source) if args.source else _dialogue.ask("What is to be computed?"))
    subject = _dialogue.Subject(
        dialogue,
        f"sophron design {args.campaign}",
        ENDED,
        inputs=partial(design_dialogue.inputs, root),
        faults=partial(_faults, root, args.agents),
        finish=partial(_drafted, root, args),
    )
    return _dialogue.lead(subject, args.answer, args.agents)


def _leaders(root: Path, agents: str | None) -> Mapping[str, Any] | None:
    """Who answers for the agents of the draft, unless it says so itself: whoever leads, if that is a language model."""
    from sophron.agents.step import step_wiring
    from sophron.agents.supervisor import design_dialogue

    leader = _dialogue.backend(root, agents, design_dialogue.dialogue(root))
    return step_wiring.unapproved_models(root, leader)[0].get("agents")


def _faults(root: Path, agents: str | None, turn: Mapping[str, Any]) -> _dialogue.Faults:
    """Why a drafted spec could not be signed whatever a person verified, and what it wants that is not here."""
    from sophron.agents.supervisor import design_dialogue
    from sophron.campaign.approval import approve
    from sophron.campaign.scaffold import campaign_folder
    from sophron.campaign.spec import pitfalls

    campaign_folder.furnish(root)
    text = campaign_folder.draft_text(root, turn["draft"], _leaders(root, agents))
    unsignable = approve.spec_faults(root, text, pitfalls.probes_of(root))
    return {UNSIGNABLE: unsignable, LACKING: design_dialogue.engine_faults(turn["draft"])}


def _drafted(root: Path, args: argparse.Namespace, turn: Mapping[str, Any], faults: _dialogue.Faults) -> int:
    from sophron.agents.supervisor import design_dialogue
    from sophron.campaign.scaffold import campaign_folder
    from sophron.campaign.spec.spec import SPEC_NAME

    for pitfall in turn["pitfalls"]:
        print(f"  pitfall {pitfall['id']}: {pitfall['safeguard']}")
    path = campaign_folder.from_draft(root, turn["draft"], _leaders(root, args.agents))
    if UNSIGNABLE in faults:
        _dialogue.say_faults("As it stands it cannot be signed:", faults[UNSIGNABLE])
    if LACKING in faults:
        _dialogue.say_faults("It can be signed, but not run on this machine:", faults[LACKING])
    said = ""
    if args.answer is None:
        said = _dialogue.ask("Does this say what you mean? (it is kept beside the signature, and replaces it nowhere)")
    if said:
        design_dialogue.keep_spoken_approval(root, said, turn["draft"])
    first = "" if path.name == SPEC_NAME else f" beside {SPEC_NAME}, which was there; put it in its place"
    print(f"{path} is a draft{first}. Read it, resolve what is UNVERIFIED, then: sophron review, sophron approve")
    return 0
