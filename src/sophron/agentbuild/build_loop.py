"""The loop of a build: one action after the other, each whole or not at all, so that a killed build goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from sophron.agentbuild import aud, build_inputs, build_store, judge, mutation, next_action
from sophron.agentbuild.case_run import CaseRun
from sophron.agentbuild.contract import Contract
from sophron.agentbuild.curriculum import Case
from sophron.agentbuild.next_action import Action
from sophron.records import atomic
from sophron.records.documents import Document, load_json, validate
from sophron.records.errors import UserError


class Ways(Protocol):
    """How a build reaches its agents. step: name of the step, the same for a repeated action."""

    def attempt(self, step: str, agent: Path, case: Case, folder: Path) -> str:
        """Run the agent in `agent` on a case; report, trajectory and plots into `folder`. Why it failed, or nothing."""
        ...

    def screen(self, step: str, run: CaseRun) -> Mapping[str, Any]:
        """Ask the screening judge."""
        ...

    def score(self, step: str, run: CaseRun, computed: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
        """Ask the scoring judge once. folder: of the run, with its pictures."""
        ...

    def optimize(self, step: str, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ask the meta-optimizer."""
        ...


@dataclass(frozen=True)
class Build:
    """A build in a folder, from a contract, with so many iterations at most."""

    folder: Path
    contract: Contract
    most: int

    @property
    def records(self) -> build_store.Records:
        """Its records."""
        return build_store.Records(self.folder)


def begin(folder: Path, contract: Contract, most: int) -> Build:
    """A new build, or the one in `folder` that goes on. UserError where that was of another contract or bound."""
    about = {
        "contract": contract.name,
        "version": contract.version,
        "digest": contract.digest,
        "handles": {part: dict(who) for part, who in contract.handles.items()},
        "most_iterations": most,
    }
    note = folder / build_store.BUILD
    if not note.is_file():
        if folder.exists() and any(folder.iterdir()):
            raise UserError(f"{folder}: is not an empty folder; give the name of a new one")
        atomic.write_json(note, about)
    changed = sorted(key for key, value in load_json(note).items() if about.get(key) != value)
    if changed:
        raise UserError(f"{note}: the build was begun with another {', '.join(changed)}; begin a new one elsewhere")
    return Build(folder, contract, most)


def drive(build: Build, ways: Ways, tell: Callable[[Action], None] = lambda _: None) -> Mapping[str, Any]:
    """Go on until the build ends; the document `result.json`. tell: is told of every action before it is done."""
    while True:
        action = next_action.next_action(build.records.history(), build.contract.curriculum, build.most)
        tell(action)
        if action.doing == "end":
            return end(build, action)
        do(build, action, ways)


def do(build: Build, action: Action, ways: Ways) -> None:
    """Carry out one action. Its last file is written last, so that one that was cut off is done again."""
    number, case, found = action.iteration, action.case, build.records
    if action.doing == "begin":
        start(build, number)
    elif action.doing == "attempt":
        _attempt(build, ways, number, case)
    elif action.doing == "judge":
        _judge(build, ways, found.iteration(number), case, f"{number}-{case}")
    elif action.doing == "conclude":
        write_verdict(build, number)
    elif action.doing == "propose":
        proposal = ways.optimize(f"optimize-{number}", build_inputs.optimizer(build.contract, found))
        atomic.write_json(found.iteration(number).folder / build_store.PROPOSAL, dict(proposal))
    elif action.doing == "held_out":
        _attempt(build, ways, 0, case)
    elif action.doing == "judge_held_out":
        _judge(build, ways, found.held_out, case, f"held-out-{case}")


def start(build: Build, number: int) -> None:
    """Make the agent of an iteration: the blank one, the one before (after a pass), or a changed one."""
    place = build.records.iteration(number)
    if place.folder.exists():
        shutil.rmtree(place.folder)  # cut off before its change was written down
    change, agent = changed(build, number)
    diff = str(change.pop("diff"))
    atomic.write_text(place.folder / build_store.DIFF, diff)
    document = change | {"iteration": number, "agent": aud.aud_digest(agent)}
    validate(Document(document, place.folder / build_store.CHANGE), "build/mutation")
    atomic.write_json(place.folder / build_store.CHANGE, document)


UNCHANGED: Mapping[str, Any] = {
    "parent": None,
    "targets": [],
    "rationale": "",
    "refusal": "",
    "changed": [],
    "shared_words": 0,
    "diff": "",
}
"""How an agent comes about that is its parent's copy, or the blank one."""


def changed(build: Build, number: int) -> tuple[dict[str, Any], Path]:
    """How the agent of an iteration comes about, and where it lies: its diff carried out, or its parent's copy."""
    found, target = build.records, build.records.aud(number)
    if number == 1:
        aud.copy(build.contract.blank, target)
        aud.check(target, build.contract)
        return dict(UNCHANGED), target
    before = found.document(number - 1, build_store.VERDICT) or {}
    if before["p_strict"]:
        aud.copy(found.aud(number - 1), target)
        return {**UNCHANGED, "parent": number - 1}, target
    proposal = found.document(number - 1, build_store.PROPOSAL) or {}
    parent = found.aud(before["best"])
    made = mutation.mutate(parent, proposal["diff"], target, build.contract)
    if not made.stands:
        aud.copy(parent, target)
    about = {key: proposal[key] for key in ("targets", "rationale", "diff")}
    how = {"refusal": made.refusal, "changed": list(made.changed), "shared_words": made.shared_words}
    return about | how | {"parent": before["best"]}, target


def _attempt(build: Build, ways: Ways, number: int, case: str) -> None:
    """Run a case; number 0 is what was held out, with the agent that passed last."""
    found = build.records
    place = found.iteration(number) if number else found.held_out
    agent = found.aud(number or found.numbers[-1])
    folder = place.case(case)
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    step = f"attempt-{number}-{case}" if number else f"attempt-held-out-{case}"
    failure = ways.attempt(step, agent, build.contract.curriculum.cases[case], folder)
    atomic.write_json(folder / build_store.ENDED, {"case": case, "agent": aud.aud_digest(agent), "failure": failure})


def _judge(build: Build, ways: Ways, place: build_store.Place, case: str, name: str) -> None:
    run = place.run(case, build.contract.references[case])
    card = judge.judge(
        run,
        build.contract.rubric,
        lambda run: ways.screen(f"screen-{name}", run),
        lambda run, found, repeat: ways.score(f"score-{name}-{repeat}", run, found, place.case(case)),
    )
    validate(Document(card, place.card(case)), "build/scorecard")
    atomic.write_json(place.card(case), card)


def write_verdict(build: Build, number: int) -> Mapping[str, Any]:
    """Conclude an iteration from its scorecards."""
    found = build.records
    change = found.document(number, build_store.CHANGE) or {}
    earlier = [one for one in found.verdicts() if one["iteration"] < number]
    course = next_action.Course(build.contract.curriculum, build.contract.rubric.thresholds, earlier)
    cards = found.iteration(number).cards()
    verdict = next_action.conclude(number, change["agent"], cards, course, skipped=change["refusal"])
    path = found.iteration(number).folder / build_store.VERDICT
    validate(Document(verdict, path), "build/verdict")
    atomic.write_json(path, verdict)
    return verdict


def end(build: Build, action: Action) -> Mapping[str, Any]:
    """Write down how the build ended: which agent, what it passed, what became of the cases held out."""
    found = build.records
    verdicts, cards = found.verdicts(), found.held_out.cards()
    last = verdicts[-1]
    result = {
        "reason": action.reason,
        "saturated": last["saturated"],
        "iterations": len(verdicts),
        "tiers_passed": sum(one["p_strict"] for one in verdicts),
        "best": last["best"],
        "agent": aud.aud_digest(found.aud(last["best"])),
        "held_out": {case: card["passed"] for case, card in cards.items()},
    }
    atomic.write_json(build.folder / build_store.RESULT, result)
    return result
