"""What the agents of a debate are told, gathered from results; a reference value is never among it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sophron.agents.documents.answers import CITED_ROLE
from sophron.agents.tools import literature
from sophron.campaign.execution import outcome_store
from sophron.campaign.execution.outcome_store import Finished
from sophron.campaign.spec.spec import Spec
from sophron.debate.panel.votes import STEMS, Mode
from sophron.debate.pipelines import author_contract
from sophron.debate.pipelines.pipeline import REHEARSED_NS, STAGES
from sophron.debate.trials import execute_stage_file
from sophron.debate.trials.author_tools import DESK, GUEST_FILES
from sophron.debate.trials.methods import EXPERTS, METHODS, Method
from sophron.debate.trials.panel_stages import WORST
from sophron.debate.trials.trial_loop import Trial, history, pipeline_text, ready, rehearsals
from sophron.interfaces.kind import Wildcards
from sophron.records import documents
from sophron.records.digests import step_name
from sophron.records.files import write_json
from sophron.records.typed_json import from_json, to_json

Inputs = dict[str, object]
FILES = tuple(stage.file for stage in STAGES)
PARTS = execute_stage_file.PARTS
PER_WINDOW = (
    "dwell_within_target",
    "statistical_inefficiency",
    "sampled_ns",
    "planned_ns",
    "distance_mean_a",
    "distance_deviation_a",
)


def vote_design(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """An expert before there is a pipeline."""
    return _expert(root, spec, "design", wildcards) | {"pipeline": "", "results": {}}


def vote_pre(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """An expert before the run."""
    return _expert(root, spec, "pre", wildcards) | {"pipeline": ready(root, spec, wildcards), "results": {}}


def vote_single(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """An expert after one guest, of which alone it is told."""
    (*_, rehearsal) = rehearsals(root, spec, wildcards)
    shown = _method(spec).diagnostics
    guests = {wildcards["guest"]: _guest(root, spec, wildcards, shown=shown)}
    found = {"windows": rehearsal.outcome.result["windows"], "guests": guests, "scores": None}
    return _expert(root, spec, "post_single", wildcards) | {"pipeline": pipeline_text(rehearsal), "results": found}


def vote_post(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """An expert after the benchmark."""
    about = {"pipeline": ready(root, spec, wildcards), "results": _results(root, spec, wildcards)}
    return _expert(root, spec, "post_benchmark", wildcards) | about


def pipeline_author(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """The author: the context bundle of equation 5, as far as the method lets it see."""
    number, method = int(wildcards["trial"]), _method(spec)
    discussed = outcome_store.all_finished(root, spec, "discussion") if "discussion" in _stages(spec) else []
    recommendations = discussed[0].outcome.result["critique"]["text"] if discussed else ""
    inputs: Inputs = {
        "task": _task(root, spec),
        "contract": _contract(root, spec),
        "recommendations": recommendations,
    }
    design = ["vote_design"] if discussed else []
    if number == 0 or not method.memory:
        inputs |= _found(root, spec, design, {})
        inputs |= _desk(root, spec, "pipeline_author", wildcards, inputs.get(CITED_ROLE))
        return inputs | {"pipeline": "", "critiques": {}, "history": []}
    before = {"trial": str(number - 1)}
    (closed,) = outcome_store.of_loop(root, spec, "close", before)
    trials = [from_json(Trial, each) for each in closed.outcome.result["trials"]]
    panels = ("vote_pre", "vote_single", "vote_post")
    inputs |= _found(root, spec, [*design, "pipeline_author", "pipeline_critic", *panels], before)
    inputs |= _desk(root, spec, "pipeline_author", wildcards, inputs.get(CITED_ROLE))
    return inputs | {
        "pipeline": _last_reply(root, spec, before),
        "critiques": _critiques(root, spec, before, method),
        "history": history(trials),
    }


def pipeline_critic(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """The critic: the author's draft, of which nothing has run."""
    (written,) = outcome_store.of_loop(root, spec, "pipeline_author", wildcards)
    about: Inputs = {"task": _task(root, spec), "contract": _contract(root, spec)}
    about |= _found(root, spec, ["pipeline_author"], wildcards)
    about |= {"draft": written.outcome.result["reply"]}
    return about | _desk(root, spec, "pipeline_critic", wildcards, about.get(CITED_ROLE))


def _contract(root: Path, spec: Spec) -> str:
    return author_contract.contract(_first_task(root, spec).outcome.result["form"])


def _first_task(root: Path, spec: Spec) -> Finished:
    return outcome_store.finished(root, spec, "tasks", {"guest": spec.definition("trials")["training"][0]})


def _desk(root: Path, spec: Spec, rule: str, wildcards: Wildcards, works: object) -> Inputs:
    """What the author's tools need, in a file of its own: names that no code may have, bounds, a task."""
    first, trials = _first_task(root, spec), spec.definition("trials")
    path = root / "scratch" / "agents" / f"{step_name(rule, wildcards)}-{DESK}.json"
    tasks = [outcome_store.finished(root, spec, "tasks", {"guest": name}) for name in trials["training"]]
    names = sorted({name for each in tasks for name in each.outcome.result["names"]})
    told = {key: trials[key] for key in ("most_windows", "platform")}
    write_json(path, {**told, "names": names, "task": first.outcome.result["metadata"], "works": works or []})
    return {DESK: path, GUEST_FILES: first.files["left"]}


def _found(root: Path, spec: Spec, rules: Sequence[str], wildcards: Wildcards) -> Inputs:
    """What web searches gave the agents of these rules, whose words the author is told; none where they found none.

    An author's file has what it was told of too, so that the trial before speaks for all before it.
    """
    steps = [one for rule in rules for one in outcome_store.of_loop(root, spec, rule, wildcards)]
    works = literature.unique_works(work for one in steps for work in literature.read_cited(one.files))
    return {CITED_ROLE: to_json(works)} if works else {}


def pipeline_engineer(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """The Engineer: what the last rehearsal said, and what it tried before."""
    (last,) = outcome_store.of_loop(root, spec, "rehearse", {"trial": wildcards["trial"], "attempt": wildcards["fix"]})
    made = outcome_store.of_loop(root, spec, "pipeline_engineer", {"trial": wildcards["trial"]})
    rehearsed = outcome_store.of_loop(root, spec, "rehearse", {"trial": wildcards["trial"]})
    attempts = [
        {"answer": fix.outcome.result, "came_of_it": _after(rehearsed, fix)}
        for fix in made
        if int(fix.wildcards["fix"]) < int(wildcards["fix"])
    ]
    failure = {key: last.outcome.result[key] for key in ("file", "said")}
    return {"pipeline": pipeline_text(last), "failure": failure, "attempts": attempts}


def _after(rehearsed: Sequence[Finished], fix: Finished) -> str:
    number = str(int(fix.wildcards["fix"]) + 1)
    return next((one.outcome.result["said"] for one in rehearsed if one.wildcards["attempt"] == number), "")


def _method(spec: Spec) -> Method:
    return METHODS[spec.definition("trials")["method"]]


def _stages(spec: Spec) -> list[str]:
    return [stage.name for stage in spec.stages]


def _expert(root: Path, spec: Spec, mode: str, wildcards: Wildcards) -> Inputs:
    stem = STEMS[Mode(mode)]
    votes = {}
    if wildcards["turn"] != "1":
        for rule, agent in EXPERTS.items():
            (vote,) = outcome_store.of_loop(root, spec, f"vote_{stem}", {**wildcards, "expert": rule, "turn": "1"})
            votes[agent] = vote.outcome.result
    return {"mode": mode, "task": _task(root, spec), "votes": votes}


def _task(root: Path, spec: Spec) -> Inputs:
    """The training guests and what one window samples."""
    trials = spec.definition("trials")
    guests = {name: outcome_store.finished(root, spec, "tasks", {"guest": name}) for name in trials["training"]}
    first = guests[trials["training"][0]].outcome.result
    return {
        "question": dict(spec.data["question"]) | {"reference": None},
        "form": first["form"],
        "protocol": trials.get("protocol"),
        "guests": {name: one.outcome.result["metadata"] for name, one in guests.items()},
        "ns_per_window": trials["ns_per_window"],
        "most_windows": trials["most_windows"],
        "platform": trials["platform"],
        "measured": trials.get("measured", []),
        "criteria": [f"{each.statement} ({each.expression})" for each in spec.criteria("trials")],
        "criteria_rest_on": {name: stated for name, (stated, _) in WORST.items()},
        "rehearsed_ns": min(REHEARSED_NS, trials["ns_per_window"]),
        "limits_of_a_step": {file: _limits(spec, part) for file, part in zip(FILES, PARTS, strict=True)},
    }


def _limits(spec: Spec, part: str) -> Inputs:
    """What one execution of a file gets; a further try after a limit may get more, up to the signed ceilings."""
    mechanical = spec.mechanical(part)
    return {"minutes": mechanical.runtime_min, "memory_mb": mechanical.memory_mb, "cores": mechanical.cores}


def _last_reply(root: Path, spec: Spec, before: Wildcards) -> str:
    """The pipeline of a trial with the Engineer's fixes; where Layer-1 refused it, the author's own words."""
    text = ready(root, spec, before)
    if text:
        return text
    (written,) = outcome_store.of_loop(root, spec, "pipeline_author", before)
    reply: str = written.outcome.result["reply"]
    return reply


def _critiques(root: Path, spec: Spec, before: Wildcards, method: Method) -> Inputs:
    """K of equation 5, and what failed where something did (algorithm 1, line 17)."""
    (looked,) = outcome_store.of_loop(root, spec, "layer1", before)
    found: Inputs = {
        "layer1": looked.outcome.result,
        "rehearsals": _rehearsed(root, spec, before),
    }
    for name, part in (("pre", "screen"), ("post", "review")):
        made = outcome_store.of_loop(root, spec, part, before)
        found[name] = made[0].outcome.result["critique"] if made else None
    examined = outcome_store.of_loop(root, spec, "examine", before)
    found["single"] = {one.wildcards["guest"]: one.outcome.result["critique"] for one in examined}
    executed = outcome_store.of_loop(root, spec, "benchmark", before)
    seen = found["post"] and executed[0].outcome.result["succeeded"]  # then the panel speaks for what was measured
    if method.diagnostics and executed and not seen:
        found["executed"] = _results(root, spec, before)
    elif executed:
        found["executed"] = {"statuses": executed[0].outcome.result["trial"]["guests"]}
    return found


def _rehearsed(root: Path, spec: Spec, wildcards: Wildcards) -> list[Inputs]:
    """Each attempt of a trial's rehearsal: what failed there, and what the Engineer then answered."""
    where = {"trial": wildcards["trial"]}
    fixes = {
        one.wildcards["fix"]: one.outcome.result
        for one in outcome_store.of_loop(root, spec, "pipeline_engineer", where)
    }
    return [
        {"attempt": int(number), **one.outcome.result, "engineer": fixes.get(number)}
        for one in rehearsals(root, spec, wildcards)
        for number in [one.wildcards["attempt"]]
    ]


def _results(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """What a benchmark showed: stages and free energies by guest, and scores."""
    trial = {"trial": wildcards["trial"]}
    (made,) = outcome_store.of_loop(root, spec, "benchmark", trial)
    (*_, rehearsal) = rehearsals(root, spec, wildcards)
    shown = _method(spec).diagnostics
    guests = {}
    for name in made.outcome.result["trial"]["guests"]:
        guests[name] = _guest(root, spec, {**trial, "guest": name}, shown=shown)
    scores = made.outcome.result["trial"]["scores"]
    return {"windows": rehearsal.outcome.result["windows"], "guests": guests, "scores": scores}


def _guest(root: Path, spec: Spec, wildcards: Wildcards, *, shown: bool) -> Inputs:
    where = {key: wildcards[key] for key in ("trial", "guest")}
    return {"stages": {str(number): _shown(root, spec, where, number, shown=shown) for number in (1, 2, 3, 4)}}


def _shown(root: Path, spec: Spec, wildcards: Wildcards, number: int, *, shown: bool) -> Inputs:
    """One stage of a guest; production as one, with what was measured in each window."""
    found = outcome_store.of_loop(root, spec, execute_stage_file.PARTS[number - 1], wildcards)
    return shown_stage([documents.load_json(one.files["executed"]) for one in found], number, shown=shown)


def shown_stage(documents_: Sequence[Any], number: int, *, shown: bool = True) -> Inputs:
    """Return what a panel is told of one stage from the documents of its executions, of production one a window."""
    whole = [each["result"] for each in documents_ if each]
    if not whole:
        return {}
    first = next((each for each in whole if each["status"] != "completed"), whole[0])
    about = {key: value for key, value in first.items() if shown or key not in ("diagnostics", "convergence_flags")}
    measured = [each["measured"].get("diagnostics", {}) for each in documents_ if each] if shown else []
    if any(measured):
        names = sorted({name for each in measured for name in each})
        about["measured"] = (
            {name: [each.get(name) for each in measured] for name in names} if number == 3 else measured[0]
        )
    if number == 3 and shown:
        values = {key: [each["diagnostics"].get(key) for each in whole] for key in PER_WINDOW}
        dwells = [each for each in values["dwell_within_target"] if each is not None]
        about["diagnostics"] = {"windows": values} | ({"dwell_within_target": min(dwells)} if dwells else {})
    return about | {"wall_time_s": sum(each["measured"]["wall_time_s"] for each in documents_ if each)}
