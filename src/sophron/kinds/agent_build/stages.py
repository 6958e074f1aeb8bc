"""Stages and parts of the kind agent_build: the loop of a build, as the steps that Snakemake runs."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sophron.agentbuild import aud, contract, curriculum, iteration, judge, mutation
from sophron.agentbuild.contract import Contract
from sophron.agentbuild.iteration import NOTHING_TO_CHANGE, Change, Iteration
from sophron.agentbuild.rubric import CaseRun, Json
from sophron.interfaces.kind import Definition, StepContext, StepResult, UpstreamStep
from sophron.records.digests import step_name
from sophron.records.documents import load_json
from sophron.records.errors import UserError
from sophron.records.files import write_json, write_text
from sophron.records.typed_json import from_json, to_json


def signed_contract(definition: Definition) -> Contract:
    """The contract that a definition names, if it is still the one that was signed. UserError."""
    found = contract.load(contract.find(definition["contract"], Path.cwd()))
    if found.digest != definition["contract_digest"]:
        raise UserError(
            f"{found.folder}: is not the contract that was signed ({found.digest[:12]} and not "
            f"{definition['contract_digest'][:12]}); restore it, or amend contract_digest"
        )
    if definition.get("repeats", found.rubric.repeats) != found.rubric.repeats:
        raise UserError(
            f"stages.build.definition.repeats: {definition['repeats']}, the rubric asks {found.rubric.repeats} times; "
            "write that"
        )
    return found


def unpacked(document: Path, folder: Path) -> Path:
    """An agent as a folder again."""
    if folder.exists():
        shutil.rmtree(folder)
    for name, text in load_json(document).items():
        write_text(folder / name, text)
    return folder


def sample(ctx: StepContext) -> StepResult:
    """The sample of one case, as the agent's tools take it."""
    found = signed_contract(ctx.definition)
    case = found.curriculum.cases.get(ctx.wildcards["case"])
    if case is None:
        raise UserError(f"stages.sample.definition.cases: the contract has no case {ctx.wildcards['case']}; remove it")
    given = curriculum.sample(found.folder, case)
    files = {"sample": ctx.workdir / "sample.json", "task": ctx.workdir / "task.json"}
    write_json(files["sample"], dict(given.sample))
    write_json(files["task"], dict(given.task))
    return StepResult({"bytes": files["sample"].stat().st_size}, files)


def candidate(ctx: StepContext) -> StepResult:
    """The agent of a round: the blank one, the best one, or what the meta-optimizer's diff makes of that."""
    found = signed_contract(ctx.definition)
    target = ctx.workdir / "aud"
    if target.exists():
        shutil.rmtree(target)
    before = ctx.previous.get("conclude", [])
    change, cases = _changed(ctx, before[0], found, target) if before else _blank(found, target)
    change = replace(change, iteration=int(ctx.wildcards["round"]), agent=aud.aud_digest(target))
    files = {"agent": ctx.workdir / "agent.json", "change": ctx.workdir / "change.json"}
    write_json(files["agent"], aud.packed(target))
    write_json(files["change"], to_json(change))
    return StepResult({"agent": change.agent, "refusal": change.refusal, "cases": list(cases)}, files)


def _blank(found: Contract, target: Path) -> tuple[Change, Sequence[str]]:
    """The agent that a build starts from, and the cases of the first tier."""
    aud.copy(found.blank, target)
    aud.check(target, found)
    return Change(), found.curriculum.active(1)


def _changed(ctx: StepContext, before: UpstreamStep, found: Contract, target: Path) -> tuple[Change, Sequence[str]]:
    """The best agent so far, with the diff that was proposed if it stands, and the cases that it is tried on."""
    parent = unpacked(before.files["best"], ctx.workdir / "parent")
    change, proposals = Change(parent=before.result["best"]), ctx.previous.get("optimize", [])
    if before.result["improve"] and proposals:
        change = _carried_out(change, proposals[0].result, parent, target, found)
    if not target.exists():
        aud.copy(parent, target)
    return change, [] if change.refusal else before.result["next"]


def _carried_out(change: Change, proposal: Json, parent: Path, target: Path, found: Contract) -> Change:
    """The change that a proposal makes; why it does not stand, if it leaves no `target`."""
    asked = replace(change, targets=tuple(proposal["targets"]), rationale=proposal["rationale"], diff=proposal["diff"])
    if not asked.diff.strip():
        return replace(asked, refusal=NOTHING_TO_CHANGE)
    made = mutation.mutate(parent, asked.diff, target, found)
    return replace(asked, refusal=made.refusal, changed=made.changed, shared_words=made.shared_words)


def run_of(case: str, answered: UpstreamStep, found: Contract) -> CaseRun:
    """What the judge has before it: the agent's answer, and the trajectory that its tools left; or how it failed."""
    path = answered.files.get("trajectory")
    trajectory = load_json(path) if path is not None and path.stat().st_size else None
    report = None if answered.failed else answered.result
    return CaseRun(case, report, trajectory, found.references[case], answered.failed or "")


def card(ctx: StepContext) -> StepResult:
    """The scorecard of one run, from what programs find and what both judges said."""
    found, case = signed_contract(ctx.definition), ctx.wildcards["case"]
    run = run_of(case, ctx.one("aud"), found)
    screening = from_json(judge.Screening, ctx.one("judge_screen").result)
    repeats = {int(step.wildcards["repeat"]): step for step in ctx.upstream["judge_score"]}
    made = judge.judge(run, found.rubric, lambda _: screening, lambda number: _scoring(repeats[number], found))
    path = _kept(ctx.workdir / "card.json", made)
    return StepResult({"passed": made.passed, "met": sum(one.passed for one in made.dimensions)}, {"card": path})


def _scoring(step: UpstreamStep, found: Contract) -> judge.Scoring:
    """An answer of the scoring judge; UserError if it is not about what was asked."""
    answer, name = from_json(judge.Scoring, step.result), step_name(step.stage, step.wildcards)
    if faults := judge.faults(answer, found.rubric):
        raise UserError(f"{name}: {'; '.join(faults)}; ask again: sophron agent reask {name}")
    return answer


def conclude(ctx: StepContext) -> StepResult:
    """What the scorecards of a round come to, and which cases the next one runs."""
    found = signed_contract(ctx.definition)
    cards = {step.wildcards["case"]: judge.read_card(step.files["card"]) for step in ctx.upstream["card"]}
    before = ctx.previous.get("conclude", [])
    history = iteration.read_history(before[0].files["history"]) if before else []
    if before and before[0].result["saturated"]:
        return _tried_on_held_out(ctx, before[0], cards, history)
    change = from_json(Change, load_json(ctx.one("candidate").files["change"]))
    verdict = iteration.conclude(found, change, cards, [entry.verdict for entry in history])
    history = [*history, Iteration(verdict, change)]
    ahead = verdict.best != verdict.iteration and before
    files = {
        "best": before[0].files["best"] if ahead else ctx.one("candidate").files["agent"],
        "cards": before[0].files["cards"] if ahead else _kept(ctx.workdir / "cards.json", list(cards.values())),
        "history": _kept(ctx.workdir / "history.json", history),
    }
    return StepResult(_what_follows(found, history, ctx.definition["iterations"]), files)


def _what_follows(found: Contract, history: Sequence[Iteration], most: int) -> dict[str, Any]:
    """The result of a round: what its verdict says, whether another round follows, and on which cases."""
    last, graded = history[-1], found.curriculum
    passed = [entry.verdict.p_strict for entry in history]
    saturated = last.verdict.saturated
    following = graded.held_out if saturated else graded.active(curriculum.tiers_open(graded, passed))
    ended = last.verdict.iteration >= most or last.change.refusal == NOTHING_TO_CHANGE
    verdict = to_json(last.verdict)
    return {
        **{key: verdict[key] for key in ("tiers", "met", "wanted", "p_strict", "saturated", "regressed", "best")},
        "done": not following if saturated else ended,
        "improve": not last.verdict.p_strict and not ended,
        "next": list(following),
        "held_out": None,
    }


def _kept(path: Path, value: object) -> Path:
    write_json(path, to_json(value))
    return path


def _tried_on_held_out(
    ctx: StepContext, before: UpstreamStep, cards: Mapping[str, judge.Scorecard], history: Sequence[Iteration]
) -> StepResult:
    """The round after the last tier: how the agent that passed does on what it was never built on."""
    held_out = {case: card.passed for case, card in cards.items()}
    result = {**before.result, "done": True, "improve": False, "next": [], "held_out": held_out}
    files = {
        "best": before.files["best"],
        "cards": _kept(ctx.workdir / "cards.json", list(cards.values())),
        "history": _kept(ctx.workdir / "history.json", history),
    }
    return StepResult(result, files)


def build(ctx: StepContext) -> StepResult:
    """How the build ended: the agent, the tiers that it passed, and how it did on what was held out."""
    last = ctx.upstream["conclude"][-1]
    history = iteration.read_history(last.files["history"])
    folder = unpacked(last.files["best"], ctx.workdir / "best")
    files = {"agent": ctx.workdir / "agent.json", "history": ctx.workdir / "history.json"}
    write_json(files["agent"], aud.packed(folder))
    write_json(files["history"], to_json(history))
    held_out = last.result["held_out"] or {}
    result = {
        "agent": aud.aud_digest(folder),
        "iterations": len(history),
        "tiers_passed": sum(entry.verdict.p_strict for entry in history),
        "saturated": last.result["saturated"],
        "held_out": held_out,
        "held_out_passed": sum(held_out.values()),
        "rolled_back": sum(entry.change.refusal not in ("", NOTHING_TO_CHANGE) for entry in history),
    }
    return StepResult(result, files)
