"""The contract: all that people author before an agent is built, read whole and checked (AgentBuild, section II-C).

A folder with `rubric.yaml`, `curriculum.yaml`, `references/`, `knowledge/`, `models.yaml`, `tools.yaml`,
`boundary.yaml`, `prompts/`, `blank/` and `VERSION`; of another domain also `checks.py`, `samples.py`, `schemas/`.
A build reads it and writes nothing into it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sophron.agentbuild import boundary, contract_code, curriculum, rubric
from sophron.agentbuild.rubric import Json
from sophron.records import templates
from sophron.records.digests import digest, file_digest
from sophron.records.documents import load_yaml, validate
from sophron.records.errors import UserError, shown
from sophron.records.files import resource, write_text

SHIPPED = "contracts"
VERSION_FORM = re.compile(r"\d+\.\d+\.\d+")
TEMPLATES = ("agentbuild", "templates", "contract")
LARGEST_KNOWLEDGE = 400_000  # bytes: it is read by a model, whole
PROMPTED = ("aud", "judge-screen", "judge-score", "optimize")
"""Agents of a build; `prompts/<agent>.md` of a contract says to each what the domain is."""

Handles = Mapping[str, Json]
"""Part of a contract (agent, screen, score, optimize) -> who plays it: backend, model, rank."""


@dataclass(frozen=True)
class Contract:
    """What a build starts from. references: case -> reference report; knowledge: file name -> its Markdown.

    prompts: agent -> what the contract says to it of the domain; handles: part -> who plays it;
    tools: the inventory, `servers` and `tools`.
    """

    folder: Path
    version: str
    rubric: rubric.Rubric
    curriculum: curriculum.Curriculum
    references: Mapping[str, Json]
    knowledge: Mapping[str, str]
    prompts: Mapping[str, str]
    handles: Handles
    tools: Json
    boundary: boundary.Boundary

    @property
    def name(self) -> str:
        """Name of the contract: that of its folder."""
        return self.folder.name

    @property
    def blank(self) -> Path:
        """The agent that a build starts from: a frozen front matter, and next to nothing else."""
        return self.folder / "blank"

    @property
    def digest(self) -> str:
        """Digest of every file of the contract."""
        return digest(folder_files(self.folder))


def folder_files(folder: Path) -> dict[str, str]:
    """Return relative path -> sha256 of all files below `folder`, whatever their times and modes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): file_digest(path) for path in files}


def find(name: str, root: Path) -> Path:
    """The folder of a contract: of the campaign at `root`, or one that is shipped. UserError."""
    for folder in (root / name, resource(SHIPPED, name)):
        if (folder / "rubric.yaml").is_file():
            return folder
    known = sorted(path.name for path in resource(SHIPPED).glob("*") if path.is_dir())
    raise UserError(f'there is no contract "{shown(name)}"; give a folder of the campaign, or {", ".join(known)}')


def named(name: str) -> Path:
    """The folder of a contract as somebody types it: a folder, or the name of a shipped one. UserError."""
    return Path(name) if Path(name).is_dir() else find(name, Path.cwd())


def load(folder: Path) -> Contract:
    """Read a contract. UserError, one sentence with file, key and remedy, for the first fault."""
    if not folder.is_dir():
        raise UserError(f"{folder}: is no folder; make a contract with: sophron build new {folder}")
    graded = curriculum.read(load_yaml(folder / "curriculum.yaml"))
    for case in graded.cases.values():
        _check_source(folder / "curriculum.yaml", case)
    tools = _plain(folder / "tools.yaml", "build/tools")
    _check_tools(folder / "tools.yaml", tools)
    return Contract(
        folder=folder.absolute(),
        version=_version(folder / "VERSION"),
        rubric=rubric.read(load_yaml(folder / "rubric.yaml")),
        curriculum=graded,
        references={name: _reference(folder, graded, case) for name, case in graded.cases.items()},
        knowledge=_knowledge(folder / "knowledge"),
        prompts={agent: _prompt(folder / "prompts" / f"{agent}.md") for agent in PROMPTED},
        handles=_plain(folder / "models.yaml", "build/handles"),
        tools=tools,
        boundary=boundary.read(load_yaml(folder / "boundary.yaml")),
    )


def _plain(path: Path, schema: str) -> Json:
    document = load_yaml(path)
    validate(document, schema)
    data: Json = document.data
    return data


def _version(path: Path) -> str:
    text = path.read_text(encoding="utf-8").strip() if path.is_file() else ""
    if not VERSION_FORM.fullmatch(text):
        raise UserError(f"{path}: holds no version; write one such as 1.0.0")
    return text


def _check_source(path: Path, case: curriculum.Case) -> None:
    known = contract_code.names(path.parent, contract_code.SAMPLES)
    if case.source not in known:
        raise UserError(
            f'{path}: cases.{case.name}.source: there is no source "{case.source}"; known are {", ".join(known)}'
        )


def _check_tools(path: Path, tools: Json) -> None:
    for name in tools["tools"]:
        server, _, tool = name.partition("__")
        if tool and server not in tools["servers"]:
            raise UserError(f"{path}: tools.{name}: there is no server {server}; name it under servers")


def _reference(folder: Path, graded: curriculum.Curriculum, case: curriculum.Case) -> Json:
    document = load_yaml(folder / case.reference)
    if graded.reference_schema:
        validate(document, graded.reference_schema)
    elif not isinstance(document.data, Mapping):
        raise UserError(f"{document.path}: is no report; write keys and values")
    data: Json = document.data
    return data


def _knowledge(folder: Path) -> dict[str, str]:
    files = sorted(folder.glob("*.md"))
    if not files:
        raise UserError(f"{folder}: holds no knowledge; write at least one Markdown file")
    if sum(path.stat().st_size for path in files) > LARGEST_KNOWLEDGE:
        raise UserError(f"{folder}: is larger than {LARGEST_KNOWLEDGE // 1000} kB; keep what a build needs")
    return {path.name: path.read_text(encoding="utf-8") for path in files}


def _prompt(path: Path) -> str:
    text = path.read_text(encoding="utf-8").strip() if path.is_file() else ""
    if not text:
        raise UserError(f"{path}: says nothing; write what the agent is for, in the words of the domain")
    return text


def create(folder: Path, domain: str, author: str) -> list[str]:
    """Make the contract `folder` to start from, for a domain that has none: every file, with what belongs into it.

    Returns the names of its files. UserError if there is something in the folder.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: is not an empty folder; give the name of a new one")
    for name, value in (("domain", domain), ("author", author)):
        if not value.isprintable() or not value.strip() or any(sign in value for sign in "{}[]\":#'"):
            raise UserError(f"--{name}: {value!r} is no plain text; give words")
    made = []
    source = resource(*TEMPLATES)
    for path in sorted(path for path in source.rglob("*") if path.is_file()):
        name = path.relative_to(source).as_posix()
        write_text(folder / name, templates.render(path, domain=domain.strip(), author=author.strip()))
        made.append(name)
    return made
