"""An agent under development as a folder: its definition, its knowledge, its wiring, its helpers.

agent.md      front matter (frozen) and prompt
recipe.yaml   consumer knowledge base: what the agent reads at work, written by the build
wiring.yaml   which tools of the contract's inventory it uses
helpers/*.py  code that it may run, by the tool `helpers__call`
"""

from __future__ import annotations

import ast
import shutil
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sophron.agentbuild import contract_code
from sophron.agentbuild.rubric import Json
from sophron.campaign.planning import campaign_agents
from sophron.records.digests import digest, file_digest
from sophron.records.documents import Document, load_yaml, validate
from sophron.records.errors import UserError, shown

if TYPE_CHECKING:
    from sophron.agentbuild.contract import Contract

DEFINITION, RECIPE, WIRING, HELPERS = "agent.md", "recipe.yaml", "wiring.yaml", "helpers"


def entries(folder: Path) -> Iterator[Path]:
    """Yield everything below the folder but folders, sorted; links are listed and not followed."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from entries(path)
        else:
            yield path


def files(folder: Path) -> dict[str, Path]:
    """Return relative path -> file. UserError for what is no plain file: a link, a pipe, a program, an empty name.

    Without bytecode: an installer compiles the code of a contract's blank agent where it lies.
    """
    found = {}
    for path in entries(folder):
        if "__pycache__" in path.relative_to(folder).parts:
            continue
        mode = path.lstat().st_mode
        name = path.relative_to(folder).as_posix()
        if not stat.S_ISREG(mode):
            raise UserError(f"{shown(name)} of the agent is a link or no plain file; an agent holds plain files alone")
        if mode & 0o7111:
            raise UserError(f"{shown(name)} of the agent is a program; take away its mode")
        found[name] = path
    return found


def aud_digest(folder: Path) -> str:
    """Return the digest over names and content of an agent's files."""
    return digest({name: file_digest(path) for name, path in files(folder).items()})


def packed(folder: Path) -> dict[str, str]:
    """Return an agent as one document: path -> text."""
    return {name: path.read_text(encoding="utf-8") for name, path in files(folder).items()}


def copy(source: Path, target: Path) -> None:
    """Copy the plain files of an agent to another place."""
    for name, path in files(source).items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target / name)


def definition(folder: Path, servers: Json) -> campaign_agents.AgentFile:
    """Return the agent as it is asked: its definition with the tools of its wiring. UserError with file and key.

    servers: those of the contract's inventory, by name; no agent wires itself to a program of its own.
    """
    agent = campaign_agents.load_agent(folder / DEFINITION, of_any_name=True)
    for name in sorted(set(agent.front["inputs"]) - set(campaign_agents.PLACE.findall(agent.prompt))):
        raise UserError(f"{agent.path}: the prompt does not use this input; write {{{{ {name} }}}} where it belongs")
    if not (folder / WIRING).is_file():
        return agent
    document = _wiring(folder)
    tools = document.data["tools"]
    used = list(dict.fromkeys(tool.partition("__")[0] for tool in tools if "__" in tool))
    for server in used:
        if server not in servers:
            known = ", ".join(servers) or "none"
            raise UserError(f"{document.where(['tools'])}: there is no server {shown(server)}; known are {known}")
    wired = {"servers": {name: servers[name] for name in used}} if used else {}
    return replace(agent, front={**agent.front, "tools": tools, **wired})


def _wiring(folder: Path) -> Document:
    document = load_yaml(folder / WIRING)
    validate(document, "build/wiring")
    return document


def recipe(folder: Path) -> Json:
    """Return the consumer knowledge base as plain data."""
    data: Json = load_yaml(folder / RECIPE).data
    return data


def prompt_and_front(text: str) -> tuple[str, str]:
    """Return the front matter and prompt of a definition, as they stand."""
    head, fence, prompt = text.removeprefix(campaign_agents.FENCE).partition(campaign_agents.FENCE)
    return head + fence, prompt


def check(folder: Path, contract: Contract) -> None:
    """Whether the agent could be asked at all: its files are sound and fit their schemas. UserError says what is not.

    Python of helpers is parsed here and imported nowhere; `executable` does that, apart from this account.
    """
    found = files(folder)
    wiring, inventory = _wiring(folder), contract.tools["tools"]
    for tool in wiring.data["tools"]:
        if tool not in inventory:
            known = ", ".join(inventory)
            raise UserError(f"{wiring.where(['tools'])}: {shown(tool)} is not in the inventory; known are {known}")
    definition(folder, contract.tools["servers"])
    recipe(folder)
    for name, path in found.items():
        surface = contract.boundary.surface_of(name)
        if surface is None:
            raise UserError(f"{shown(name)} belongs to no surface of the agent; remove it, or name it in boundary.yaml")
        if surface.schema:
            document = load_yaml(path)
            schema, _, part = surface.schema.partition("#")
            schema = contract_code.schema(contract.folder, schema)
            validate(Document(document.data, Path(name), document.lines), schema, part)
        if path.suffix == ".py":
            _check_python(name, path)


def _check_python(name: str, path: Path) -> None:
    try:
        ast.parse(path.read_bytes(), name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UserError(f"{shown(name)}: is no Python ({shown(str(error), 120)}); correct it") from None
