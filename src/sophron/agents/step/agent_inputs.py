"""What the agents of a campaign's own rules are told: each rule's inputs by role, gathered from results and records."""

from pathlib import Path

from sophron.campaign.planning.campaign_agents import AgentFile
from sophron.campaign.spec.spec import SPEC_NAME, Spec, load
from sophron.interfaces import JsonObject
from sophron.interfaces.kind import Wildcards
from sophron.records import documents, entry_points
from sophron.records.errors import UserError
from sophron.records.files import read_bytes, read_text

Inputs = JsonObject
REGISTRY = "sophron.agent_inputs"
LOG_TAIL = 20_000
NOT_STANDING = {
    "success_criteria",
    "parameters",
    "outputs",
    "durations",
    "projected_bytes",
    "log_bytes",
    "asked",
    "queued",
}
"""Keys of workflow-state.json that say nothing of where a campaign stands."""
FOLDERS = ("results", "records", "logs")
"""What an agent may ask to read with its tools. The gate, the keys' configuration and other campaigns are not there."""


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


def for_rule(root: Path, spec: Spec, rule: str, wildcards: Wildcards, agent: AgentFile) -> Inputs:
    """Return the inputs of one step of `rule`: what its function in the registry gathers and `agent` declares.

    A campaign's copy of a definition keeps the inputs of its day. One function for the rules of many stages is told
    the stage, as if it were a wildcard. UserError if something is not there yet.
    """
    asked = spec.agent_rules.get(rule)
    name, about = rule, dict(wildcards)
    if asked and asked.inputs:
        name, about = asked.inputs, {**wildcards, "stage": spec.owner(rule)}
    inputs: Inputs = entry_points.load(REGISTRY, name)(root, spec, about)
    return {role: value for role, value in inputs.items() if role in agent.front["inputs"]}


def explain(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """Gather the inputs of the explain agent; as those of the next three, read only by a step that needs them."""
    from sophron.agents.step import failure_inputs

    return failure_inputs.explain(root, spec, wildcards)


def debug(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """Gather the inputs of the debug agent."""
    from sophron.agents.step import failure_inputs

    return failure_inputs.debug(root, spec, wildcards)


def amend(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """Gather the inputs of the amend agent."""
    from sophron.agents.step import failure_inputs

    return failure_inputs.amend(root, spec, wildcards)


def caveats(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """Gather the inputs of the caveats agent."""
    from sophron.agents.step import report_inputs

    return report_inputs.caveats(root, spec, wildcards)


def resume(root: Path, _: Spec, __: Wildcards) -> Inputs:
    """Gather the inputs of the resume agent: the durable files."""
    log, init, state = root / "progress.log", root / "init.sh", documents.load_json(root / "workflow-state.json")
    stages = [{key: value for key, value in stage.items() if key not in NOT_STANDING} for stage in state["stages"]]
    return {
        "standing": {key: value for key, value in state.items() if key not in NOT_STANDING} | {"stages": stages},
        "state": state,
        "progress": read_bytes(log).decode(errors="replace")[-LOG_TAIL:] if log.is_file() else "",
        "init": read_text(init) if init.is_file() else "",
    }


def checkpoint_management(root: Path, _: Spec, __: Wildcards) -> Inputs:
    """Gather the inputs of the checkpoint-management agent: the restart files, and how many are kept."""
    from sophron.agents.memory import restart_files as restarts

    return {"restarts": restarts.list_restarts(root), "policy": {"keep": restarts.KEPT}}
