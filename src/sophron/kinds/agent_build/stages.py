"""Stages and parts of the kind agent_build: the same functions as in a rehearsal, between steps that Snakemake runs."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sophron.agentbuild import aud, contract, curriculum, judge, mutation, next_action, samples
from sophron.agentbuild.case_run import CaseRun
from sophron.agentbuild.contract import Contract
from sophron.interfaces.kind import StepContext, StepResult, UpstreamStep
from sophron.records.atomic import write_json, write_text
from sophron.records.documents import load_json
from sophron.records.errors import UserError


def signed_contract(definition: Mapping[str, Any]) -> Contract:
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
    given = samples.sample(found.folder, case)
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
    change: dict[str, Any] = {"parent": None, "targets": [], "rationale": "", "refusal": "", "changed": [], "diff": ""}
    change["shared_words"] = 0
    before = ctx.previous.get("conclude", [])
    if not before:
        aud.copy(found.blank, target)
        aud.check(target, found)
        cases = list(found.curriculum.active(1))
    else:
        last = before[0].result
        parent = unpacked(before[0].files["best"], ctx.workdir / "parent")
        change["parent"], cases = last["best"], list(last["next"])
        proposals = ctx.previous.get("improve", [])
        if last["improve"] and proposals:
            proposal = proposals[0].result
            made = mutation.mutate(parent, proposal["diff"], target, found)
            change |= {key: proposal[key] for key in ("targets", "rationale", "diff")}
            change |= {"refusal": made.refusal, "changed": list(made.changed), "shared_words": made.shared_words}
            cases = cases if made.stands else []
        if not target.exists():
            aud.copy(parent, target)
    files = {"agent": ctx.workdir / "agent.json", "change": ctx.workdir / "change.json"}
    write_json(files["agent"], aud.packed(target))
    write_json(files["change"], change | {"iteration": int(ctx.wildcards["round"]), "agent": aud.aud_digest(target)})
    result = {"agent": aud.aud_digest(target), "refusal": change["refusal"], "cases": cases}
    return StepResult(result, files)


def run_of(case: str, answered: UpstreamStep, found: Contract) -> CaseRun:
    """What the judge has before it: the agent's answer, and the trajectory that its tools left; or how it failed."""
    path = answered.files.get("trajectory")
    trajectory = load_json(path) if path is not None and path.stat().st_size else None
    report = None if answered.failed else answered.result
    return CaseRun(case, report, trajectory, found.references[case], answered.failed or "")


def card(ctx: StepContext) -> StepResult:
    """The scorecard of one run, from what programs find and what both judges said."""
    found, case = signed_contract(ctx.definition), ctx.wildcards["case"]
    run = run_of(case, ctx.one("try_case"), found)
    screening = ctx.one("screen_case").result
    repeats = {int(step.wildcards["repeat"]): step.result for step in ctx.upstream["score_case"]}
    made = judge.judge(run, found.rubric, lambda _: screening, lambda _, __, number: repeats[number])
    path = ctx.workdir / "card.json"
    write_json(path, made)
    return StepResult(
        {"passed": made["passed"], "met": sum(one["passed"] for one in made["dimensions"])}, {"card": path}
    )


def conclude(ctx: StepContext) -> StepResult:
    """What the scorecards of a round come to, and which cases the next one runs."""
    found, number = signed_contract(ctx.definition), int(ctx.wildcards["round"])
    cards = {step.wildcards["case"]: load_json(step.files["card"]) for step in ctx.upstream["card"]}
    change = load_json(ctx.one("candidate").files["change"])
    before = ctx.previous.get("conclude", [])
    history = load_json(before[0].files["history"]) if before else []
    if before and before[0].result["saturated"]:
        return _tried_on_held_out(ctx, before[0], cards, history)
    graded = found.curriculum
    course = next_action.Course(graded, found.rubric.thresholds, [one["verdict"] for one in history])
    verdict = next_action.conclude(number, change["agent"], cards, course, skipped=change["refusal"])
    history = [*history, {"verdict": verdict, "change": change}]
    ahead = verdict["best"] != number and before
    files = {
        "best": before[0].files["best"] if ahead else ctx.one("candidate").files["agent"],
        "cards": before[0].files["cards"] if ahead else _kept(ctx.workdir / "cards.json", list(cards.values())),
        "history": _kept(ctx.workdir / "history.json", history),
    }
    passed = [one["verdict"]["p_strict"] for one in history]
    following = graded.held_out if verdict["saturated"] else graded.active(curriculum.tiers_open(graded, passed))
    most = number >= ctx.definition["iterations"]
    result = {
        **{key: verdict[key] for key in ("tiers", "met", "wanted", "p_strict", "saturated", "regressed", "best")},
        "done": not following if verdict["saturated"] else most,
        "improve": not verdict["p_strict"] and not most,
        "next": list(following),
        "held_out": None,
    }
    return StepResult(result, files)


def _kept(path: Path, value: Any) -> Path:
    write_json(path, value)
    return path


def _tried_on_held_out(
    ctx: StepContext, before: UpstreamStep, cards: Mapping[str, Mapping[str, Any]], history: list[Any]
) -> StepResult:
    """The round after the last tier: how the agent that passed does on what it was never built on."""
    held_out = {case: bool(one["passed"]) for case, one in cards.items()}
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
    history = load_json(last.files["history"])
    folder = unpacked(last.files["best"], ctx.workdir / "best")
    files = {"agent": ctx.workdir / "agent.json", "history": ctx.workdir / "history.json"}
    write_json(files["agent"], aud.packed(folder))
    write_json(files["history"], history)
    held_out = last.result["held_out"] or {}
    result = {
        "agent": aud.aud_digest(folder),
        "iterations": len(history),
        "tiers_passed": sum(one["verdict"]["p_strict"] for one in history),
        "saturated": last.result["saturated"],
        "held_out": held_out,
        "held_out_passed": sum(held_out.values()),
        "rolled_back": sum(bool(one["change"]["refusal"]) for one in history),
    }
    return StepResult(result, files)
