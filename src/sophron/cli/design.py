"""`sophron design`: specify a campaign in a dialogue, four questions, one a turn; ends in a draft of campaign.yaml."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HELP = "specify a campaign in a dialogue that ends in a draft of campaign.yaml"
EXAMPLES = """\
examples:
  sophron design my-liquid                     asks in the terminal what is wanted, then one question a turn
  sophron design my-liquid --from request.md   what is wanted stands in a file
  sophron design my-liquid --answer 'Green-Kubo, NVE'   one turn, for scripts: answers the open question
Rules of thumb lead the dialogue unless another backend is chosen: --agents mailbox, or agents in campaign.yaml.
The draft is no approval: what could not be checked stays UNVERIFIED and keeps the gate closed.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument(
        "campaign", type=Path, metavar="DIR", help="campaign folder, new or with an unfinished dialogue"
    )
    parser.add_argument("--from", type=Path, dest="source", metavar="FILE", help="file that says what is wanted")
    parser.add_argument("--answer", help="answer to the open question; then one turn is taken and the command ends")
    parser.add_argument("--agents", metavar="BACKEND", help="who leads: heuristic, mailbox or replay")


def run(args: argparse.Namespace) -> int:
    """Take turns until there is a draft, a refusal, or nobody to answer."""
    from sophron.agents import dialogue
    from sophron.records.files import read_text

    root = args.campaign.absolute()
    if not (root / dialogue.FOLDER / dialogue.REQUEST_NAME).is_file() or args.source:
        dialogue.begin(root, read_text(args.source) if args.source else _ask("What is to be computed?"))
    reply = args.answer
    while len(dialogue.turns(root)) < dialogue.MOST_TURNS:
        turn = _turn(root, args.agents)
        print(f"\n{turn['text']}\n")
        if turn["status"] == "refused":
            return 1
        if turn["status"] == "draft":
            faults = _tried(root, turn["draft"])
            if faults and dialogue.refused(root, faults):
                _say_faults("The draft cannot be signed; it goes back once:", faults)
                continue
            return _drafted(root, turn, faults, asked=args.answer is None)
        if args.answer is not None and reply is None:
            return 0
        said = reply if reply is not None else _ask("Your answer")
        if not said:
            print(f"The question waits: sophron design {args.campaign} --answer '...'")
            return 0
        dialogue.answered(root, turn["question"], turn["text"], said)
        reply = None
    print("Twenty turns gave no draft; write campaign.yaml by hand: sophron new")
    return 1


def _ask(prompt: str) -> str:
    """One line from the human; nothing where there is nobody."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().strip()
    return input(f"{prompt}: ").strip()


def _turn(root: Path, agents: str | None) -> Mapping[str, Any]:
    from sophron.agents import dialogue, exempt
    from sophron.cli.agent import BACKEND_VARIABLE
    from sophron.records import documents

    number = len(dialogue.turns(root)) + 1
    target = root / dialogue.FOLDER / f"answer-{number}.json"
    override = agents or os.environ.get(BACKEND_VARIABLE)
    inputs, name = dialogue.inputs(root), f"design-{number}"
    exempt.run(root, "design", inputs, step_name=name, answer=target, override=override)
    answer: Mapping[str, Any] = documents.load_json(target)["answer"]
    return answer


def _tried(root: Path, draft: Mapping[str, Any]) -> list[str]:
    """Why a drafted spec could not be signed whatever a person verified."""
    from sophron.campaign import draft_check, new
    from sophron.cli import _probes

    new.furnish(root)
    return draft_check.spec_faults(root, new.draft_text(root, draft), _probes.of(root))


def _say_faults(words: str, faults: Sequence[str]) -> None:
    print("\n  - ".join([words, *faults]))


def _drafted(root: Path, turn: Mapping[str, Any], faults: Sequence[str], *, asked: bool) -> int:
    from sophron.agents import dialogue
    from sophron.campaign import new

    for pitfall in turn["pitfalls"]:
        print(f"  pitfall {pitfall['id']}: {pitfall['safeguard']}")
    path = new.from_draft(root, turn["draft"])
    if faults:
        _say_faults("As it stands it cannot be signed:", faults)
    said = (
        _ask("Does this say what you mean? (it is kept beside the signature, and replaces it nowhere)") if asked else ""
    )
    if said:
        dialogue.spoken(root, said, turn["draft"])
    print(f"{path} is a draft. Read it, resolve what is UNVERIFIED, then: sophron review, sophron approve")
    return 0
