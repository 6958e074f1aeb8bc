"""Agents that are asked before anything is signed: in a dialogue of one question a turn, or once.

Nobody's plan lists these steps; the cap of a day in budget.yaml bounds what they cost.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sophron.agents.supervisor.dialogue import Dialogue

LONGEST_QUOTE = 300
Faults = Mapping[str, Sequence[str]]
"""What is the matter with a draft ("cannot be signed") -> a sentence for each reason."""


@dataclass(frozen=True)
class Subject:
    """What a dialogue is about. command: how to go on with it; ended: status that ends it -> a sentence.

    inputs: what its agent is told; faults: what programs hold against a turn with a draft; finish: put it in
    place, and return the exit code.
    """

    dialogue: "Dialogue"
    command: str
    ended: Mapping[str, str]
    inputs: Callable[[], Mapping[str, Any]]
    faults: Callable[[Mapping[str, Any]], Faults]
    finish: Callable[[Mapping[str, Any], Faults], int]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that every dialogue has."""
    parser.add_argument("--from", type=Path, dest="source", metavar="FILE", help="file that says what is wanted")
    parser.add_argument("--answer", help="answer to the open question; then one turn is taken and the command ends")
    add_backend(parser)


def add_backend(parser: argparse.ArgumentParser) -> None:
    """Add the argument that says who answers."""
    parser.add_argument("--agents", metavar="BACKEND", help="who answers: heuristic, anthropic, openai, mailbox, ...")


def lead(subject: Subject, reply: str | None, agents: str | None) -> int:
    """Take turns until there is a draft, an end, or nobody to answer; the exit code.

    reply: to the open question, for scripts: the command ends with the next one.
    """
    from sophron.agents.supervisor.dialogue import MOST_TURNS

    dialogue, back, once = subject.dialogue, False, reply is not None
    newest = dialogue.newest()
    if once and newest and newest["status"] == "draft":
        print("The dialogue has its draft and no open question: this answer is not used.", file=sys.stderr)
    while dialogue.number <= MOST_TURNS:
        turn = newest if newest and reply is not None and newest["status"] == "ask" else None
        if turn is None:
            turn = _turn(subject, agents, back=back)
            _show(turn)
        if turn["status"] in subject.ended:
            print(f"{subject.ended[turn['status']]} To begin anew, move {dialogue.folder} away.")
            return 1
        if turn["status"] == "draft":
            faults = {what: why for what, why in subject.faults(turn).items() if why}
            if faults and dialogue.note_refusals([*chain(*faults.values())], turn):
                say_faults(f"The draft {next(iter(faults))}; it goes back once:", [*chain(*faults.values())])
                back = True
                continue
            return subject.finish(turn, faults)
        if once and reply is None:
            return 0
        said = reply if reply is not None else ask("Your answer")
        if not said:
            print(f"The question waits: {subject.command} --answer '...'")
            return 0
        dialogue.add_answer(turn["question"], turn["text"], said)
        reply = None
    print(f"{MOST_TURNS} turns gave no draft; write it by hand.")
    return 1


def ask(prompt: str) -> str:
    """One line from the human; nothing if there is nobody."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().strip()
    return input(f"{prompt}: ").strip()


def say_faults(words: str, faults: Sequence[str]) -> None:
    """Print a sentence, and a list below it."""
    print("\n  - ".join([words, *faults]))


def say_suspicious(answer: Mapping[str, Any]) -> None:
    """Print what an agent found in its inputs that tried to instruct it."""
    from sophron.records.sanitize import escape_lines

    for found in answer.get("suspicious_text", ()):  # none in an answer of an earlier version
        said = " ".join(f"{found['where']}: {found['text']}".split())
        print(f"Text that tried to instruct the agent, in the input {escape_lines(said, LONGEST_QUOTE)}")


def _show(turn: Mapping[str, Any]) -> None:
    from sophron.records.sanitize import lines

    say_suspicious(turn)
    print("\n".join(["", *lines(turn["text"]), ""]))
    if turn.get("nearest"):
        print(f"Nearest: {turn['nearest']}")


def _turn(subject: Subject, agents: str | None, *, back: bool) -> Mapping[str, Any]:
    """Take one turn. back: whether a draft goes back; else an answer that is there is used again."""
    dialogue = subject.dialogue
    override, target = backend(dialogue.root, agents, dialogue), dialogue.answer_path()
    return ask_agent(
        dialogue.root,
        dialogue.agent,
        subject.inputs(),
        step=dialogue.step,
        target=target,
        override=override,
        silent=target.is_file() and not back,
    )


def backend(root: Path, agents: str | None, dialogue: "Dialogue | None" = None) -> str | None:
    """Who answers: the one named now, the one that campaign.yaml names, or who led the dialogue so far."""
    from sophron.agents.step import step_wiring
    from sophron.cli.agent import BACKEND_VARIABLE

    if named := agents or os.environ.get(BACKEND_VARIABLE):
        return named
    return dialogue.leader() if dialogue and "agents" not in step_wiring.unapproved_models(root, None)[0] else None


def ask_agent(
    root: Path,
    agent: str,
    inputs: Mapping[str, Any],
    *,
    step: str,
    target: Path,
    override: str | None,
    silent: bool = False,
) -> Mapping[str, Any]:
    """Ask an agent without an approval, once; its answer, which is kept in `target` too.

    silent: say nothing of who is asked. UserError if it gives no answer.
    """
    from sophron.agents.step import step_wiring
    from sophron.campaign.planning import campaign_agents
    from sophron.records import documents

    if not silent:
        _announce(root, agent, override)
    declared = campaign_agents.find_agent(root, agent).front["inputs"]  # a copy keeps the inputs of its day
    told = {role: value for role, value in inputs.items() if role in declared}
    step_wiring.run_unapproved(root, agent, told, step_name=step, answer=target, override=override)
    answer: Mapping[str, Any] = documents.load_json(target)["answer"]
    return answer


def _announce(root: Path, name: str, override: str | None) -> None:
    """Say on standard error that a model is asked, for it may take minutes and costs money."""
    from sophron.agents.gateway import gateway, ledger
    from sophron.agents.step import step_wiring
    from sophron.campaign.planning import campaign_agents

    data, instead = step_wiring.unapproved_models(root, override)
    agent, who = campaign_agents.find_agent(root, name), campaign_agents.chosen(data, name)
    who = {"backend": instead} if instead else who
    if who["backend"] in ("heuristic", "replay"):
        return
    models = step_wiring.candidates(gateway.load_catalogue(root), agent, who)
    named = models[0].handle if models else who["backend"]
    limits, usual = agent.front["limits"], agent.front.get("usual", agent.front["limits"])
    minutes, most, day = limits["seconds"] / 60, limits["dollars"], ledger.day_cap().dollars
    print(
        f"Asking {named} ({who['backend']}) as agent {name}: a minute or more, at most {minutes:g}; about "
        f"{usual['dollars']:g} dollars, at most {most:g} a turn and {day:g} a day for all campaigns.",
        file=sys.stderr,
        flush=True,
    )
