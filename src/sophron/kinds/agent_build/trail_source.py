"""The records of a build that a campaign ran, laid out as a trail gathers them; and its rounds so far."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from sophron.agentbuild import contract, iteration
from sophron.agentbuild.iteration import Iteration
from sophron.agentbuild.release import trail
from sophron.agentbuild.release.trail import Source
from sophron.agentbuild.rubric import Json
from sophron.agents.gateway import audit
from sophron.campaign.execution import outcome_store
from sophron.campaign.planning import campaign_agents
from sophron.campaign.spec.spec import SPEC_NAME, Spec, load, load_signed
from sophron.kinds.agent_build import rehearsal, stages
from sophron.kinds.agent_build.contract_campaign import AGENTS, KIND
from sophron.records import approvals, events, files
from sophron.records.digests import step_name
from sophron.records.documents import load_json
from sophron.records.errors import UserError
from sophron.records.typed_json import to_json

STEPS = {"aud": "attempt", "judge_screen": "screen", "judge_score": "score", "optimize": "optimize"}
"""Rule of the campaign -> what a trail calls its steps."""


def rounds(root: Path) -> tuple[list[Iteration], dict[str, bool]]:
    """The iterations that the campaign at `root` has concluded; held-out case -> whether it passed, if it was tried."""
    rehearsal.refuse_old(root)
    if not (root / SPEC_NAME).is_file():
        raise UserError(f"{root}: holds no build; make one with: sophron build rehearse CONTRACT {root}")
    concluded = outcome_store.of_loop(root, _of_kind(root, load(root / SPEC_NAME)), "conclude", {})
    if not concluded:
        return [], {}
    last = max(concluded, key=lambda step: int(step.wildcards["round"]))
    return iteration.read_history(last.files["history"]), last.outcome.result["held_out"] or {}


def _of_kind(root: Path, spec: Spec) -> Spec:
    if spec.kind.name != KIND:
        raise UserError(f"{root}: is a campaign of the kind {spec.kind.name}; a trail is that of an {KIND}")
    return spec


def lay_out(root: Path, target: Path, *, rehearsed: bool) -> Source:
    """Lay out in `target`, an empty folder, what the signed campaign at `root` did.

    rehearsed: whether a rehearsal is asked for; it is never taken for a campaign that a person approved. UserError
    if it is the other one or another kind, if it has not come to its end, and if somebody else answered than the
    spec says; Refused if it is not signed as it stands.
    """
    spec = _of_kind(root, load_signed(approvals.valid_approval(root)))
    if rehearsal.is_rehearsal(spec) != rehearsed:
        what, option = ("a campaign", "--campaign") if rehearsed else ("a rehearsal", "--build")
        raise UserError(f"{root}: is {what}; give it with {option}")
    built = outcome_store.finished(root, spec, "build", {})
    if not built.outcome.done:
        raise UserError(f"{built.path}: the build failed ({built.outcome.reason}); run it again: snakemake")
    definition = spec.definition("build")
    found = contract.load(contract.find(definition["contract"], root))
    handles = {part: campaign_agents.chosen(spec.data, agent) for part, agent in AGENTS.items()}
    about = {"contract": found.name, "version": found.version, "digest": definition["contract_digest"]}
    files.write_json(target / trail.BUILD, about | {"handles": handles, "most_iterations": definition["iterations"]})
    for entry in iteration.read_history(built.files["history"]):
        _iteration(root, spec, target / "iterations" / str(entry.verdict.iteration), entry)
    _copy_records(root, spec, target)
    return Source(target, found.folder, target)


def _iteration(root: Path, spec: Spec, place: Path, entry: Iteration) -> None:
    at = {"round": str(entry.verdict.iteration)}
    (candidate,) = outcome_store.of_loop(root, spec, "candidate", at)
    stages.unpacked(candidate.files["agent"], place / "aud")
    change = to_json(entry.change)
    files.write_text(place / trail.DIFF, change.pop("diff"))
    files.write_json(place / trail.CHANGE, change)
    files.write_json(place / trail.VERDICT, to_json(entry.verdict))
    for card in outcome_store.of_loop(root, spec, "card", at):
        files.write_json(place / "judge" / f"{card.wildcards['case']}.json", load_json(card.files["card"]))
    for tried in outcome_store.of_loop(root, spec, "aud", at):
        if tried.outcome.done:
            report = place / "cases" / tried.wildcards["case"] / "report.json"
            files.write_json(report, tried.outcome.result)


def _copy_records(root: Path, spec: Spec, target: Path) -> None:
    """Audits, their pictures and the events of all agents, under the names that a trail gives their steps."""
    names: dict[str, str] = {}
    for step, name, who in _asked(root, spec):
        source = audit.path_of(root, step)
        if not source.is_file():
            continue
        _check_answered(source, who)
        names[step] = name
        files.write_bytes(audit.path_of(target, name), source.read_bytes())
        if (source.parent / audit.PICTURES).is_dir():
            shutil.copytree(source.parent / audit.PICTURES, target / "records" / name / audit.PICTURES)
    for event in events.read(root)[0]:
        if event.get("step") in names:
            files.append_json_line(target / events.FILE, {**event, "step": names[event["step"]]})


def _asked(root: Path, spec: Spec) -> Iterator[tuple[str, str, Json]]:
    """(step, its name in a trail, who the spec says answers) of every agent step that has an answer."""
    for rule, name in STEPS.items():
        who = campaign_agents.chosen(spec.data, spec.agent_rules[rule].agent({}))
        for wildcards in spec.steps(rule):
            step = step_name(rule, wildcards)
            if outcome_store.published(root, step) is not None:
                yield step, step_name(name, wildcards), who


def _check_answered(path: Path, who: Json) -> None:
    """Whoever stands in on a command line is not whom the campaign names; the newest answer is the one that is kept."""
    answered = [line for line in files.read_json_lines(path)[0] if line["response"] is not None]
    if not answered:
        return
    last = answered[-1]
    backend = who["backend"] in (campaign_agents.RANKED, last["provider"])
    if not backend or who.get("model", last["handle"]) != last["handle"]:
        named = " ".join(str(who[key]) for key in ("backend", "model") if key in who)
        raise UserError(
            f"{path}: {last['provider']} {last['handle']} answered, and the campaign names {named}; ask again without "
            "--agents or SOPHRON_AGENTS: sophron agent reask"
        )
