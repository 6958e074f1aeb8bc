"""The folder of an agent under development: its definition, what it knows, how its tools are wired, its helper code.

`agent.md` is a definition as every agent has one; `recipe.yaml` (the consumer knowledge base) is given to it as the
input `recipe`, where it asks for one; `wiring.yaml` names the tools of the contract's inventory that it uses;
`helpers/` holds code; `schemas/` the schema of its answer, where no installed one fits (AgentBuild, table III).
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sophron.campaign import agent_files
from sophron.campaign.agent_files import AgentFile
from sophron.records import documents
from sophron.records.canonical import digest, file_digest
from sophron.records.errors import UserError, shown

DEFINITION = "agent.md"
RECIPE, WIRING = "recipe.yaml", "wiring.yaml"
PROVIDED = "recipe"
"""The input that its own file fills; callers of a served agent cannot."""
FOLDERS = ("helpers", "schemas")


@dataclass(frozen=True)
class Aud:
    """One agent under development, read and checked. agent: its definition, with the tools that it is wired to."""

    folder: Path
    agent: AgentFile

    @cached_property
    def files(self) -> dict[str, str]:
        """Relative path -> sha256, sorted."""
        return {path.relative_to(self.folder).as_posix(): file_digest(path) for path in _listed(self.folder)}

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
        return {role: about for role, about in self.agent.front["inputs"].items() if role != PROVIDED}


def load(folder: Path, servers: Mapping[str, Any]) -> Aud:
    """Read an agent's folder. servers: MCP servers of the contract's inventory, by name.

    UserError for a missing or faulty definition, for a tool of a server that the inventory lacks, and for what cannot
    be part of an agent.
    """
    path = folder / DEFINITION
    if not path.is_file():
        raise UserError(f"{path}: there is no such file; an agent under development has its definition there")
    agent = agent_files.load(path, of_any_name=True)
    if PROVIDED in agent.front["inputs"] and not (folder / RECIPE).is_file():
        raise UserError(f"{folder / RECIPE}: is missing, and {path} has the input {PROVIDED}; add the file")
    return Aud(folder, replace(agent, front=_wired(folder, agent.front, servers)))


def stage(aud: Aud, root: Path) -> None:
    """Lay the agent's files out in `root`, where its programs run."""
    for name in aud.files:
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(aud.folder / name, target)


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


def _listed(folder: Path) -> list[Path]:
    """Its files in order. UserError for links and for anything that has no place in an agent."""
    allowed = {DEFINITION, RECIPE, WIRING}
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if "__pycache__" in name:
            continue
        if path.is_symlink():
            raise UserError(f"{path}: is a link; an agent's files are its own, copy what it points to")
        if path.is_file():
            if name not in allowed and name.partition("/")[0] not in FOLDERS:
                raise UserError(
                    f"{path}: has no place in an agent; known are {', '.join([*sorted(allowed), *FOLDERS])}"
                )
            found.append(path)
    return found
