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
Rules of thumb lead the dialogue unless another backend is chosen: --agents anthropic, mailbox, ...; the next turns
stay with it. Nothing is signed yet: budget.yaml in your configuration bounds what a day may cost.
The draft is no approval: what could not be checked stays UNVERIFIED and keeps the gate closed.
The answer `close` ends the dialogue. Exit code: 0 there is a draft, or a question waits; 1 it ended without a draft
(out of scope, no installed kind answers it, closed); 2 an error.
"""


LONGEST_QUOTE = 300
ENDED = {
    "refused": "This ends the dialogue: it is out of scope.",
    "unsupported": "This ends the dialogue: no installed kind of campaign answers it, and how to write one stands in "
    "docs/how-to/write-a-kind.md.",
    "closed": "This ends the dialogue.",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument(
        "campaign", type=Path, metavar="DIR", help="campaign folder, new or with an unfinished dialogue"
    )
    parser.set_defaults(folder_as_given=True)
    parser.add_argument("--from", type=Path, dest="source", metavar="FILE", help="file that says what is wanted")
    parser.add_argument("--answer", help="answer to the open question; then one turn is taken and the command ends")
    parser.add_argument("--agents", metavar="BACKEND", help="who leads: heuristic, anthropic, openai, mailbox, replay")


def run(args: argparse.Namespace) -> int:
    """Take turns until there is a draft, a refusal, or nobody to answer."""
    from sophron.agents.supervisor import design_dialogue
    from sophron.records.files import read_text

    root = args.campaign.absolute()
    if not (root / design_dialogue.FOLDER / design_dialogue.REQUEST_NAME).is_file() or args.source:
        design_dialogue.begin(root, read_text(args.source) if args.source else _ask("What is to be computed?"))
    reply, back = args.answer, False
    if reply is not None and design_dialogue.has_draft(root):
        print("The dialogue has its draft and no open question: this answer is not used.", file=sys.stderr)
    while len(design_dialogue.turns(root)) < design_dialogue.MOST_TURNS:
        turn = None if reply is None else _open_question(root)
        if turn is None:
            _announce(root, _backend(root, args.agents), back=back)
            turn = _turn(root, args.agents)
            _show(turn)
        if turn["status"] in ENDED:
            print(f"{ENDED[turn['status']]} To begin anew, move {root / design_dialogue.FOLDER} away.")
            return 1
        if turn["status"] == "draft":
            faults, lacking = _tried(root, turn["draft"], args.agents), design_dialogue.engine_faults(turn["draft"])
            if (faults or lacking) and design_dialogue.note_refusals(root, [*faults, *lacking], turn["draft"]):
                why = "cannot be signed" if faults else "cannot run on this machine"
                _say_faults(f"The draft {why}; it goes back once:", [*faults, *lacking])
                back = True
                continue
            return _drafted(root, turn, faults, lacking, args)
        if args.answer is not None and reply is None:
            return 0
        said = reply if reply is not None else _ask("Your answer")
        if not said:
            print(f"The question waits: sophron design {args.campaign} --answer '...'")
            return 0
        design_dialogue.add_answer(root, turn["question"], turn["text"], said)
        reply = None
    print("Twenty turns gave no draft; write campaign.yaml by hand: sophron new")
    return 1


def _ask(prompt: str) -> str:
    """One line from the human; nothing if there is nobody."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().strip()
    return input(f"{prompt}: ").strip()


def _show(turn: Mapping[str, Any]) -> None:
    from sophron.records.sanitize import escape_lines

    for found in turn.get("suspicious_text", ()):  # none in an answer of an earlier version
        said = " ".join(f"{found['where']}: {found['text']}".split())
        print(f"Text that tried to instruct the agent, in the input {escape_lines(said, LONGEST_QUOTE)}")
    print(f"\n{turn['text']}\n")
    if turn.get("nearest"):
        print(f"Nearest: {turn['nearest']}")


def _turn(root: Path, agents: str | None) -> Mapping[str, Any]:
    from sophron.agents.step import step_wiring
    from sophron.agents.supervisor import design_dialogue
    from sophron.records import documents

    number = len(design_dialogue.turns(root)) + 1
    target = design_dialogue.answer_path(root, number)
    override = _backend(root, agents)
    inputs, name = design_dialogue.inputs(root), f"design-{number}"
    step_wiring.run_unapproved(root, "design", inputs, step_name=name, answer=target, override=override)
    answer: Mapping[str, Any] = documents.load_json(target)["answer"]
    return answer


def _open_question(root: Path) -> Mapping[str, Any] | None:
    """The question that was put and shown by an earlier command, if there is one."""
    from sophron.agents.supervisor import design_dialogue
    from sophron.records import documents

    path = design_dialogue.answer_path(root, len(design_dialogue.turns(root)) + 1)
    kept = documents.load_json(path)["answer"] if path.is_file() else None
    return kept if kept and kept["status"] == "ask" else None


def _backend(root: Path, agents: str | None) -> str | None:
    """Who leads: the one named now, the one that campaign.yaml names, or who led so far."""
    from sophron.agents.step import step_wiring
    from sophron.agents.supervisor import design_dialogue
    from sophron.cli.agent import BACKEND_VARIABLE

    named = agents or os.environ.get(BACKEND_VARIABLE)
    return named or (None if "agents" in step_wiring.unapproved_models(root, None)[0] else design_dialogue.leader(root))


def _leaders(root: Path, agents: str | None) -> Mapping[str, Any] | None:
    """Who answers for the agents of the draft, unless it says so itself: whoever leads, if that is a language model."""
    from sophron.agents.step import step_wiring

    return step_wiring.unapproved_models(root, _backend(root, agents))[0].get("agents")


def _announce(root: Path, override: str | None, *, back: bool) -> None:
    """Say on standard error that a model is asked, for it may take minutes and costs money.

    back: whether its draft goes back to it; else an answer that is there is used again.
    """
    from sophron.agents.gateway import gateway, ledger
    from sophron.agents.step import step_wiring
    from sophron.agents.supervisor import design_dialogue
    from sophron.campaign.planning import campaign_agents

    if design_dialogue.answer_path(root, len(design_dialogue.turns(root)) + 1).is_file() and not back:
        return
    data, instead = step_wiring.unapproved_models(root, override)
    agent, who = campaign_agents.find_agent(root, "design"), campaign_agents.chosen(data, "design")
    who = {"backend": instead} if instead else who
    if who["backend"] in ("heuristic", "replay"):
        return
    models = step_wiring.candidates(gateway.load_catalogue(root), agent, who)
    named = models[0].handle if models else who["backend"]
    limits, usual = agent.front["limits"], agent.front.get("usual", agent.front["limits"])
    minutes, most, day = limits["seconds"] / 60, limits["dollars"], ledger.day_cap().dollars
    print(
        f"Asking {named} ({who['backend']}) as agent design: a minute or more, at most {minutes:g}; about "
        f"{usual['dollars']:g} dollars, at most {most:g} a turn and {day:g} a day for all campaigns.",
        file=sys.stderr,
        flush=True,
    )


def _tried(root: Path, draft: Mapping[str, Any], agents: str | None) -> list[str]:
    """Why a drafted spec could not be signed whatever a person verified."""
    from sophron.campaign.approval import approve
    from sophron.campaign.scaffold import campaign_folder
    from sophron.campaign.spec import pitfalls

    campaign_folder.furnish(root)
    return approve.spec_faults(
        root, campaign_folder.draft_text(root, draft, _leaders(root, agents)), pitfalls.probes_of(root)
    )


def _say_faults(words: str, faults: Sequence[str]) -> None:
    print("\n  - ".join([words, *faults]))


def _drafted(
    root: Path, turn: Mapping[str, Any], faults: Sequence[str], lacking: Sequence[str], args: argparse.Namespace
) -> int:
    from sophron.agents.supervisor import design_dialogue
    from sophron.campaign.scaffold import campaign_folder
    from sophron.campaign.spec.spec import SPEC_NAME

    for pitfall in turn["pitfalls"]:
        print(f"  pitfall {pitfall['id']}: {pitfall['safeguard']}")
    path = campaign_folder.from_draft(root, turn["draft"], _leaders(root, args.agents))
    if faults:
        _say_faults("As it stands it cannot be signed:", faults)
    if lacking:
        _say_faults("It can be signed, but not run on this machine:", lacking)
    said = ""
    if args.answer is None:
        said = _ask("Does this say what you mean? (it is kept beside the signature, and replaces it nowhere)")
    if said:
        design_dialogue.keep_spoken_approval(root, said, turn["draft"])
    first = "" if path.name == SPEC_NAME else f" beside {SPEC_NAME}, which was there; put it in its place"
    print(f"{path} is a draft{first}. Read it, resolve what is UNVERIFIED, then: sophron review, sophron approve")
    return 0
