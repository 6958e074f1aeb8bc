"""What the agents of a build are told in a campaign: each rule's inputs by role, from the results of its rounds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sophron.agentbuild import aud, build_inputs, judge
from sophron.agentbuild.case_run import CaseRun
from sophron.agentbuild.contract import Contract
from sophron.agentbuild.rehearsal import SESSION
from sophron.campaign.execution import outcome_store
from sophron.campaign.execution.outcome_store import Finished
from sophron.campaign.planning import agent_definitions
from sophron.campaign.spec.spec import Spec
from sophron.interfaces.kind import UpstreamStep, Wildcards
from sophron.kinds.agent_build import stages
from sophron.records.documents import load_json
from sophron.records.errors import UserError
from sophron.records.step_identity import step_name
from sophron.records.strict_yaml import parse

Inputs = dict[str, Any]
AGENT = "aud"


def try_case(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """The agent under development: its prompt, wiring and recipe of this round, and the sample of the case."""
    packed = _one(root, spec, "candidate", wildcards).files["agent"]
    files = load_json(packed)
    sample = outcome_store.finished(root, spec, "sample", {"case": wildcards["case"]})
    _, prompt = aud.prompt_and_front(files[aud.DEFINITION])
    told = {
        "instructions": prompt,
        "tools_wired": _yaml(files, aud.WIRING),
        "recipe": _yaml(files, aud.RECIPE),
        "task": load_json(sample.files["task"]),
        "sample": sample.files["sample"],
        "agent": packed,
    }
    asked = agent_definitions.find(root, AGENT).front["inputs"]  # another domain's definition may have no use for some
    return {role: value for role, value in told.items() if role in asked}


def screen_case(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """The screening judge: how the run ended, and its report."""
    _, run = _run(root, spec, wildcards)
    return build_inputs.screening(run)


def score_case(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """The scoring judge: report, calls, what programs find, and the picture that the agent saw."""
    found, run = _run(root, spec, wildcards)
    session = root / "scratch" / "agents" / step_name("try_case", _of(wildcards, "round", "case")) / SESSION
    picture = build_inputs.picture(run, session)
    computed = judge.computed(run, found.rubric) if judge.screen(run, found.rubric).passed else {}
    return build_inputs.scoring(run, computed, found, int(wildcards["repeat"]), picture)


def improve(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """The meta-optimizer: the best agent with its scorecards, what was tried, what may change, the knowledge base."""
    found = stages.signed_contract(spec.definition("build"))
    concluded = _one(root, spec, "conclude", wildcards)
    history = load_json(concluded.files["history"])
    return {
        "agent": load_json(concluded.files["best"]),
        "scorecards": load_json(concluded.files["cards"]),
        "history": [build_inputs.told_of(one["verdict"], one["change"], one["change"]["diff"]) for one in history],
        "boundary": build_inputs.boundary(found),
        "knowledge": dict(found.knowledge),
        "inventory": dict(found.tools["tools"]),
    }


def _of(wildcards: Wildcards, *names: str) -> dict[str, str]:
    return {name: wildcards[name] for name in names}


def _one(root: Path, spec: Spec, part: str, wildcards: Wildcards) -> Finished:
    found = outcome_store.of_loop(root, spec, part, _of(wildcards, "round"))
    if len(found) != 1:
        raise UserError(f"round {wildcards['round']}: there is no {part} of it yet; run it first: snakemake")
    return found[0]


def _run(root: Path, spec: Spec, wildcards: Wildcards) -> tuple[Contract, CaseRun]:
    found = stages.signed_contract(spec.definition("build"))
    done = outcome_store.answered(root, spec, "try_case", _of(wildcards, "round", "case"))
    outcome = done.outcome
    step = UpstreamStep("try_case", done.wildcards, outcome.result, done.files, outcome.reason)
    return found, stages.run_of(wildcards["case"], step, found)


def _yaml(files: Mapping[str, str], name: str) -> Any:
    data, _ = parse(files[name].encode(), name)
    return data
