"""From a definition and its inputs to a request: the prompt with each input where it belongs, fenced as data."""

import base64
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sophron.campaign.planning.agent_definitions import PLACE, AgentFile
from sophron.interfaces import JsonObject
from sophron.interfaces.model_backend import Image, Message, Part, Request, Text, Tool
from sophron.records.errors import UserError

MOST_BYTES = 40_000
INTRODUCTION = 'You are the agent "{}".'
MEDIA = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}


def request(agent: AgentFile, step: str, inputs: JsonObject, tools: Sequence[Tool] = ()) -> Request:
    """The first request of a step. inputs: by role, parsed JSON, text, or the Path of a picture or folder.

    Raises UserError for an input that the definition does not declare, or one that it needs and does not get.
    """
    declared = agent.front["inputs"]
    for role in inputs:
        if role not in declared:
            raise UserError(f"the agent {agent.name} has no input {role}; it has {', '.join(declared)}")
    for role, about in declared.items():
        if role not in inputs and not about.get("optional"):
            raise UserError(f"the agent {agent.name} needs the input {role}; give it with --input {role}=FILE")
    plain = {role: value for role, value in inputs.items() if not isinstance(value, Path)}
    return Request(
        step=step,
        agent=agent.name,
        turn=1,
        system=_system(agent),
        messages=(Message("user", tuple(_parts(agent, inputs))),),
        schema=agent.schema,
        inputs=plain,
        tools=tools,
        max_tokens=agent.front["limits"]["max_tokens"],
    )


def _system(agent: AgentFile) -> str:
    return "\n".join([f"{INTRODUCTION.format(agent.name)}\n", *agent.skills.values()])


def _parts(agent: AgentFile, inputs: JsonObject) -> Iterator[Part]:
    """The prompt cut at its places; a picture becomes a part of its own."""
    end = 0
    for place in PLACE.finditer(agent.prompt):
        yield Text(agent.prompt[end : place.start()])
        end = place.end()
        role = place[1]
        value = inputs.get(role)
        if isinstance(value, Path) and value.is_dir():
            yield Text(f"(a folder: your tools read it as `{role}/...`)")
        elif isinstance(value, Path) and agent.front["inputs"][role]["kind"] == "file":
            yield Text(f"(a file: your tools have it as `{role}`)")
        elif isinstance(value, Path):
            yield _image(value)
        else:
            most = agent.front["inputs"][role].get("max_bytes", MOST_BYTES)
            yield Text(fenced(role, "(not given)" if value is None else value, most))
    yield Text(agent.prompt[end:])


def _image(path: Path) -> Image:
    if path.suffix.lower() not in MEDIA:
        raise UserError(f"{path}: is no picture that a model takes; give one of {', '.join(MEDIA)}")
    return Image(MEDIA[path.suffix.lower()], base64.b64encode(path.read_bytes()).decode())


def fenced(role: str, value: Any, most: int) -> str:
    """Data as text between marks that every agent is told of, its end kept where it has more than `most` bytes.

    Logs say at their end why they end.
    """
    text = value if isinstance(value, str) else json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True)
    text = re.sub(r"<(?=/?input\b)", "&lt;", text, flags=re.IGNORECASE)
    raw = text.encode()
    if len(raw) > most:
        text = f"[{len(raw) - most} bytes left out]\n" + raw[-most:].decode(errors="ignore")
    return f'<input name="{role}">\n{text}\n</input>'
