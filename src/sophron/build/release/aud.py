"""The folder of an agent under development: its definition, what it knows, how its tools are wired, its helper code.

`agent.md` is a definition as every agent has one; `recipe.yaml` (the consumer knowledge base) and `wiring.yaml` are
given to it under the input names `recipe` and `wiring`, where its definition asks for them; `helpers/` holds code;
`schemas/` holds the schema of its answer, where no installed one fits (AgentBuild, table III).
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sophron.campaign import agent_files
from sophron.campaign.agent_files import AgentFile
from sophron.records import documents
from sophron.records.canonical import digest, file_digest
from sophron.records.errors import UserError

DEFINITION = "agent.md"
PROVIDED = {"recipe": "recipe.yaml", "wiring": "wiring.yaml"}
"""Input name -> file that fills it; callers of a served agent cannot."""
FOLDERS = ("helpers", "schemas")


@dataclass(frozen=True)
class Aud:
    """One agent under development, read and checked."""

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
        declared = self.agent.front["inputs"]
        return {
            role: documents.load_yaml(self.folder / name).data for role, name in PROVIDED.items() if role in declared
        }

    @property
    def asked(self) -> dict[str, Mapping[str, Any]]:
        """Inputs that its callers give: role -> its entry in the definition."""
        return {role: about for role, about in self.agent.front["inputs"].items() if role not in PROVIDED}


def load(folder: Path) -> Aud:
    """Read an agent's folder. UserError for a missing or faulty definition, and for what cannot be part of one."""
    path = folder / DEFINITION
    if not path.is_file():
        raise UserError(f"{path}: there is no such file; an agent under development has its definition there")
    aud = Aud(folder, agent_files.load(path, folder, of_any_name=True))
    for role in PROVIDED.keys() & aud.agent.front["inputs"].keys():
        if not (folder / PROVIDED[role]).is_file():
            raise UserError(f"{folder / PROVIDED[role]}: is missing, and {path} has the input {role}; add the file")
    return aud


def stage(aud: Aud, root: Path) -> None:
    """Lay the agent out in `root` as a campaign has its own: agents/<name>.md, and its other files beside."""
    for name in aud.files:
        target = root / (f"{agent_files.FOLDER}/{aud.agent.name}.md" if name == DEFINITION else name)
        if name.startswith("schemas/"):
            target = root / agent_files.FOLDER / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(aud.folder / name, target)


def _listed(folder: Path) -> list[Path]:
    """Its files in order. UserError for links and for anything that has no place in an agent."""
    allowed = {DEFINITION, *PROVIDED.values()}
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
