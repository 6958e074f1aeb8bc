"""Agent steps that make a spec, and so run before anything can be approved; the user's cap of a day bounds them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sophron.agents import asking, step
from sophron.agents.failures import AgentFailure
from sophron.campaign import agent_files
from sophron.campaign.spec import SPEC_NAME
from sophron.records import documents
from sophron.records.errors import UserError

NO_ENVELOPE = {"model_calls": None, "tokens": None, "dollars": None}


def run(
    root: Path, name: str, inputs: Mapping[str, Any], *, step_name: str, answer: Path, override: str | None
) -> None:
    """One step of the agent `name`, without an approval. Raises UserError where it gives no answer."""
    data = documents.load_yaml(root / SPEC_NAME).data if (root / SPEC_NAME).is_file() else {}
    agent = agent_files.find(root, name)
    digest = agent.digest(agent_files.chosen(data, name))
    work = step.AgentStep(root, step_name, agent, digest, inputs, answer)
    backend = asking.allowed_override(override)
    ask = asking.gateway(work, NO_ENVELOPE, data, backend)
    try:
        with asking.toolbox(work) as tools:
            step.run(work, ask, tools=tools, again=backend == "replay")
    except AgentFailure as failure:
        raise UserError(f"{step_name}: {failure.reason} ({failure.kind})") from None
