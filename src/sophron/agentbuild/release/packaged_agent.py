"""An agent that was built, as it is packaged and served: what it is asked, what it is given, which tools it has.

`recipe.yaml` (the consumer knowledge base) is given to it as the input `recipe`, where it asks for one; `schemas/`
holds the schema of its answer, if no installed one fits (AgentBuild, table III).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sophron.agentbuild import aud as folders
from sophron.agentbuild.aud import DEFINITION, HELPERS, RECIPE, WIRING
from sophron.campaign.planning import agent_definitions
from sophron.campaign.planning.agent_definitions import AgentFile
from sophron.records import documents
from sophron.records.digests import digest, file_digest
from sophron.records.errors import UserError, shown

PROVIDED, ITSELF = "recipe", "agent"
"""Inputs that its own files fill, all of them the second one; callers of a served agent cannot."""
FOLDERS = (HELPERS, "schemas")


@dataclass(frozen=True)
class Aud:
    """One agent under development, read and checked. agent: its definition, with the tools that it is wired to."""

    folder: Path
    agent: AgentFile

    @cached_property
    def files(self) -> dict[str, str]:
        """Relative path -> sha256, sorted."""
        return {name: file_digest(path) for name, path in _listed(self.folder).items()}

    @property
    def digest(self) -> str:
        """Digest over names and content of all of its files."""
        return digest(self.files)

    @property
    def provided(self) -> dict[str, Any]:
        """Inputs that come from its own files, by role."""
        if PROVIDED not in self.agent.front["inputs"]:
            return {}
        return {PROVIDED: documents.load_yaml(self.folder / RECIPE).data}

    @property
    def asked(self) -> dict[str, Mapping[str, Any]]:
        """Inputs that its callers give: role -> its entry in the definition."""
        return {role: about for role, about in self.agent.front["inputs"].items() if role not in (PROVIDED, ITSELF)}


def load_agent(folder: Path, servers: Mapping[str, Any]) -> Aud:
    """Read an agent's folder. servers: MCP servers of the contract's inventory, by name.

    UserError for a missing or faulty definition, for a tool of a server that the inventory lacks, and for what cannot
    be part of an agent.
    """
    path = folder / DEFINITION
    if not path.is_file():
        raise UserError(f"{path}: there is no such file; an agent under development has its definition there")
    agent = agent_definitions.load(path, of_any_name=True)
    if PROVIDED in agent.front["inputs"] and not (folder / RECIPE).is_file():
        raise UserError(f"{folder / RECIPE}: is missing, and {path} has the input {PROVIDED}; add the file")
    return Aud(folder, replace(agent, front=_wired(folder, agent.front, servers)))


def _wired(folder: Path, front: Mapping[str, Any], servers: Mapping[str, Any]) -> Mapping[str, Any]:
    """The front matter with the tools of the wiring. Servers come from the inventory and from nowhere else."""
    path = folder / WIRING
    if not path.is_file():
        return front
    document = documents.load_yaml(path)
    tools = document.data.get("tools") if isinstance(document.data, Mapping) else None
    if not isinstance(tools, list) or not all(isinstance(tool, str) for tool in tools):
        raise UserError(f"{path}: holds no list of tools; write `tools: []` or name them")
    used = list(dict.fromkeys(tool.partition("__")[0] for tool in tools if "__" in tool))
    for server in used:
        if server not in servers:
            known = ", ".join(servers) or "none"
            raise UserError(f"{document.where(['tools'])}: there is no server {shown(server)}; known are {known}")
    return {**front, "tools": tools} | ({"servers": {name: servers[name] for name in used}} if used else {})


def _listed(folder: Path) -> dict[str, Path]:
    """Its files by name. UserError for anything that has no place in an agent."""
    allowed = (DEFINITION, RECIPE, WIRING)
    found = folders.files(folder)
    for name, path in found.items():
        if name not in allowed and name.partition("/")[0] not in FOLDERS:
            raise UserError(f"{path}: has no place in an agent; known are {', '.join([*allowed, *FOLDERS])}")
    return found
