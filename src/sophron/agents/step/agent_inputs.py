"""What the agents of a campaign's own rules are told: each rule's inputs by role, gathered from results and records."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sophron.campaign.execution import outcome_store, verdict
from sophron.campaign.planning.campaign_agents import AgentFile
from sophron.campaign.spec.resource_requests import OVERLAYS_NAME
from sophron.campaign.spec.spec import SPEC_NAME, Spec, load
from sophron.interfaces import JsonObject
from sophron.interfaces.kind import Wildcards
from sophron.records import approvals, documents, entry_points
from sophron.records.errors import UserError
from sophron.records.files import read_bytes, read_text
from sophron.records.typed_json import to_json

if TYPE_CHECKING:
    from sophron.campaign.report.report import Answer, Report

Inputs = JsonObject
REGISTRY = "sophron.agent_inputs"
LOG_TAIL = 20_000
FOLDERS = ("results", "records", "logs")
"""What an agent may ask to read with its tools. The gate, the keys' configuration and other campaigns are not there."""


def failure_path(root: Path, stage: str, attempt: str) -> Path:
    """Return where `sophron run` writes down what failed, for the debug agent."""
    return root / "records" / "failures" / f"{stage}-{attempt}.json"


def for_plan(root: Path) -> Inputs:
    """Return the inputs of the plan agent: the spec as it stands, and what its plan costs at most."""
    from sophron.campaign.planning.plan import make

    spec = load(root / SPEC_NAME)
    plan = make(root, spec)
    counts = [{"stage": stage, "rule": rule, "steps": steps} for (stage, rule), steps in plan.counts().items()]
    return {"spec": spec.data, "plan": {"counts": counts, "core_hours": plan.core_hours(), "excess": plan.excess()}}


def folders(root: Path, agent: AgentFile) -> dict[str, Path]:
    """Return the folders that the agent's tools may read: inputs of the kind `folder`, called as in a campaign.

    UserError for another name.
    """
    roles = [role for role, about in agent.front["inputs"].items() if about["kind"] == "folder"]
    for role in roles:
        if role not in FOLDERS:
            raise UserError(f"{agent.path}: the folder {role} is none of a campaign's; take {', '.join(FOLDERS)}")
    return {role: root / role for role in roles if (root / role).is_dir()}


def files(agent: AgentFile, inputs: Inputs) -> dict[str, Path]:
    """Return the files among gathered inputs that are for the agent's tools alone."""
    return {role: inputs[role] for role, about in agent.front["inputs"].items() if about["kind"] == "file"}


def for_rule(root: Path, spec: Spec, rule: str, wildcards: Wildcards) -> Inputs:
    """Return the inputs of one step of `rule`, as its function in the registry gathers them.

    UserError if something that it needs is not there yet.
    """
    inputs: Inputs = entry_points.load(REGISTRY, rule)(root, spec, wildcards)
    return inputs


def caveats(root: Path, spec: Spec, _: Wildcards) -> Inputs:
    """Gather the inputs of the caveats agent: spec, verdicts, results, tries, amendments."""
    from sophron.campaign.report import report

    gathered = report.collect(root, spec, approvals.valid_approval(root))
    tries = [f"{one.time} {one.what}: {one.reason}" for one in gathered.troubles]
    return {
        "spec": spec.data,
        "verdicts": [to_json(stage.verdict) for stage in gathered.stages],
        "result": [_answer(one) for one in gathered.answers] or _finals(gathered),
        "amendments": [to_json(signed.amendment) for signed in gathered.chain if signed.amendment],
        "tries": tries,
        "unverified": spec.unverified(),
    }


def _answer(one: "Answer") -> JsonObject:
    low, high, level = one.interval or (None, None, None)
    interval = None if one.interval is None else {"low": low, "high": high, "level": level}
    about = {"name": one.name, "value": one.value, "standard_error": one.standard_error, "units": one.units}
    if one.subject:
        about["subject"] = one.subject
    return about | {"interval": interval, "refusal": one.refusal}


def _finals(gathered: "Report") -> JsonObject:
    """Return the results of the last stages, where no schema says which number answers the question."""
    return {step.step: step.outcome.result for stage in gathered.final_stages for step in stage.steps}


def explain(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """Gather the inputs of the explain agent: verdict, outcomes and criteria of a stage."""
    stage = wildcards["stage"]
    outcomes = [to_json(one.outcome) for one in outcome_store.all_finished(root, spec, stage)]
    return {
        "verdict": to_json(verdict.judge(root, spec, stage)),
        "outcome": outcomes,
        "criteria": to_json(spec.criteria(stage)),
    }


def _failure(root: Path, wildcards: Wildcards) -> JsonObject:
    path = failure_path(root, wildcards["stage"], wildcards["attempt"])
    if not path.is_file():
        raise UserError(f"{path}: there is no failure to look at; `sophron run` writes it: sophron run")
    content: JsonObject = documents.load_record(path)
    return content


def debug(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """Gather the inputs of the debug agent: log of a failure, spec, overlays, earlier tries, memory."""
    from sophron.agents.memory import debug_memory

    stage, failure = wildcards["stage"], dict(_failure(root, wildcards))
    overlays = root / OVERLAYS_NAME
    return {
        "stage": stage,
        "log": failure.pop("log", ""),
        "failure": failure,
        "spec_stage": spec.data["stages"][stage],
        "overlays": documents.load_yaml(overlays).data if overlays.is_file() else [],
        "tries": earlier(root, "debug", wildcards),
        **debug_memory.snapshot_inputs(root, stage, int(wildcards["attempt"])),
    }


def earlier(root: Path, rule: str, wildcards: Wildcards) -> list[Any]:
    """Return answers of the same rule to earlier attempts at the same stage."""
    answers = []
    for attempt in range(1, int(wildcards["attempt"])):
        path = root / "records" / f"{rule}-{wildcards['stage']}-{attempt}" / "answer.json"
        if path.is_file():
            answers.append(documents.load_record(path, "answer")["answer"])
    return answers


def amend(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """Gather the inputs of the amend agent: a failure, its diagnosis, spec, pitfalls, schemas."""
    from sophron.campaign.scaffold import kind_catalogue

    answers = earlier(root, "debug", {**wildcards, "attempt": str(int(wildcards["attempt"]) + 1)})
    return {
        "spec": spec.data,
        "stage": wildcards["stage"],
        "failure": dict(_failure(root, wildcards)),
        "diagnosis": answers[-1] if answers else {},
        "pitfalls": kind_catalogue.pitfalls(root),
        "schemas": {stage.name: documents.schema(stage.schema)["$defs"]["definition"] for stage in spec.kind.stages},
        "kind": spec.kind.name,
    }


def resume(root: Path, _: Spec, __: Wildcards) -> Inputs:
    """Gather the inputs of the resume agent: the durable files."""
    log, init = root / "progress.log", root / "init.sh"
    return {
        "state": documents.load_json(root / "workflow-state.json"),
        "progress": read_bytes(log).decode(errors="replace")[-LOG_TAIL:] if log.is_file() else "",
        "init": read_text(init) if init.is_file() else "",
    }


def checkpoint_management(root: Path, _: Spec, __: Wildcards) -> Inputs:
    """Gather the inputs of the checkpoint-management agent: the restart files, and how many are kept."""
    from sophron.agents.memory import restart_files as restarts

    return {"restarts": restarts.list_restarts(root), "policy": {"keep": restarts.KEPT}}
