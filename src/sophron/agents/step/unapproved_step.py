"""Agent steps that make a spec, and so run before anything can be approved; the user's cap of a day bounds them."""

from pathlib import Path

from sophron.agents.documents.errors import AgentError
from sophron.agents.gateway.gateway import REGISTRY
from sophron.agents.step import agent_step, step_wiring
from sophron.campaign.planning import agent_definitions
from sophron.campaign.spec.spec import SPEC_NAME
from sophron.interfaces import JsonObject
from sophron.records import documents, entry_points
from sophron.records.errors import UserError

NO_ENVELOPE = {"model_calls": None, "tokens": None, "dollars": None}


def whom(root: Path, override: str | None) -> tuple[JsonObject, str | None]:
    """What the campaign says of its agents, and who stands in for them; UserError for an unknown backend."""
    data = dict(documents.load_yaml(root / SPEC_NAME).data) if (root / SPEC_NAME).is_file() else {}
    if not override or override in step_wiring.OVERRIDES:
        return data, override or None
    known = [*entry_points.names(REGISTRY), agent_definitions.RANKED]
    if override not in known:
        raise UserError(f"--agents {override}: is no backend; known are {', '.join(known)}")
    return {**data, "agents": {"backend": override}}, None


def run(root: Path, name: str, inputs: JsonObject, *, step_name: str, answer: Path, override: str | None) -> None:
    """One step of the agent `name`, without an approval. Raises UserError where it gives no answer.

    override: any backend, as nothing is signed yet: the cap of a day bounds what it costs.
    """
    data, backend = whom(root, override)
    agent = agent_definitions.find(root, name)
    digest = agent.digest(agent_definitions.chosen(data, name))
    work = agent_step.AgentStep(root, step_name, agent, digest, inputs, answer)
    ask = step_wiring.gateway(work, NO_ENVELOPE, data, backend)
    try:
        with step_wiring.toolbox(work) as tools:
            agent_step.run(work, ask, tools=tools, again=backend == "replay")
    except AgentError as failure:
        raise UserError(f"{step_name}: {failure.reason} ({failure.kind})") from None
