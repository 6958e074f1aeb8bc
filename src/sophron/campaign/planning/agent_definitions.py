"""What an agent is, as it is signed: one Markdown file with front matter, its skills, its output schema, its model.

The campaign's own `agents/<name>.md` wins over the installed one. Nothing here asks a model.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sophron.interfaces import JsonObject
from sophron.records import documents, old_names
from sophron.records.digests import digest
from sophron.records.errors import UserError
from sophron.records.files import read_text
from sophron.records.paths import resource
from sophron.records.strict_yaml import parse

FOLDER = "agents"
EXPERTS = "experts"
"""Folder below it where the members of a panel lie."""
DEFAULT_BACKEND = "heuristic"
RANKED = "ranked"
"""Any language model of the agent's rank may answer, whoever provides it."""
COMMON_SKILL = "answering"
"""What every agent is told first, whatever its front matter lists."""
FENCE = "---\n"
PLACE = re.compile(r"\{\{\s*([a-z][a-z0-9_]*)\s*\}\}")


@dataclass(frozen=True)
class AgentFile:
    """A definition. front: its front matter; prompt: its body; skills: name -> text of what it may look up."""

    path: Path
    front: Mapping[str, Any]
    prompt: str
    skills: Mapping[str, str]

    @property
    def name(self) -> str:
        """Name of the agent."""
        return old_names.agent_now(str(self.front["name"]))

    @property
    def schema_name(self) -> str:
        """What answers are validated against: `schemas/<output>` beside the definition, else the installed schema."""
        own = self.path.absolute().parent / "schemas" / self.front["output"]
        if Path(f"{own}.schema.yaml").is_file():
            return str(own)
        return f"agents/{old_names.answer_now(self.front['output'], self.name)}"

    @cached_property
    def schema(self) -> JsonObject:
        """JSON Schema of its answer."""
        content: JsonObject = documents.schema(self.schema_name)
        return content

    def digest(self, models: Mapping[str, Any]) -> str:
        """Digest of everything that makes the agent what it is. models: its entry of the spec (`chosen`).

        A name that changed counts as what it was, so that a renamed agent is the agent that was signed.
        """
        front = {key: value for key, value in self.front.items() if key != "usual"}  # an estimate for the review
        front["name"] = old_names.AGENTS.get(front["name"], front["name"])
        front["output"] = old_names.ANSWERS.get(front["output"], front["output"])
        parts = {"prompt": self.prompt, "front": front, "skills": self.skills, "schema": self.schema}
        return digest(parts | {"models": models})


def chosen(spec: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Who answers for an agent, as the spec says: `{backend, model?, rank?}`. spec: parsed `campaign.yaml`."""
    block = dict(spec.get("agents", {}))
    by_name = block.pop("by_name", {})
    own = dict(by_name.get(name, by_name.get(old_names.AGENTS.get(name), {})))
    return {"backend": DEFAULT_BACKEND} | block | own


def folders(root: Path | None) -> list[Path]:
    """Where definitions are looked for, the campaign's own first."""
    tops = [*([root / FOLDER] if root else []), resource("workflow", "agents")]
    return [folder for top in tops for folder in (top, top / EXPERTS)]


def names(root: Path | None) -> list[str]:
    """Sorted names of all agents that a campaign has."""
    return sorted({old_names.agent_now(path.stem) for folder in folders(root) for path in folder.glob("*.md")})


def find(root: Path | None, name: str) -> AgentFile:
    """The definition called `name`; UserError where there is none or where it is not valid."""
    now = old_names.agent_now(name)
    called = [now, *([old_names.AGENTS[now]] if now in old_names.AGENTS else [])]
    for path in (folder / f"{one}.md" for folder in folders(root) for one in called):
        if path.is_file():
            return load(path, root)
    raise UserError(f'there is no agent "{name}"; known are {", ".join(names(root))}')


def load(path: Path, root: Path | None = None, *, of_any_name: bool = False) -> AgentFile:
    """Read and check one definition. UserError with file, line and key.

    of_any_name: where a folder and not a file's name says which agent it is (an agent under development).
    """
    text = read_text(path)
    if not text.startswith(FENCE) or FENCE not in text[len(FENCE) :]:
        raise UserError(f"{path}:1: has no front matter; begin with a line `---`, keys, and a line `---`")
    head, prompt = text[len(FENCE) :].split(FENCE, 1)
    data, lines = parse(f"\n{head}".encode(), str(path))
    document = documents.Document(data, path, lines)
    documents.validate(document, "agent")
    if not of_any_name and data["name"] != path.stem:
        raise UserError(f"{document.where(['name'])}: the agent must be called as its file, {path.stem}")
    _check_places(document, prompt)
    if data.get("wired_by", next(iter(data["inputs"]))) not in data["inputs"]:
        raise UserError(f"{document.where(['wired_by'])}: {data['wired_by']} is no input; name one of `inputs`")
    if "grants" in data:
        from sophron.sandbox import grants

        grants.check(document, ["grants"])
    skills = {name: _skill(root, name) for name in [COMMON_SKILL, *data.get("skills", [])]}
    return AgentFile(path, data, prompt.strip() + "\n", skills)


def _check_places(document: documents.Document, prompt: str) -> None:
    declared, used = set(document.data["inputs"]), set(PLACE.findall(prompt))
    for name in sorted(used - declared):
        raise UserError(f"{document.path}: the prompt uses {{{{ {name} }}}}, which is no input; declare it in `inputs`")
    for name in sorted(declared - used):
        where = document.where(["inputs", name])
        raise UserError(f"{where}: the prompt does not use this input; write {{{{ {name} }}}} where it belongs")


def _skill(root: Path | None, name: str) -> str:
    for folder in folders(root):
        path = folder / "skills" / f"{name}.md"
        if path.is_file():
            return read_text(path)
    raise UserError(f'there is no skill "{name}"; put it into agents/skills/{name}.md')
