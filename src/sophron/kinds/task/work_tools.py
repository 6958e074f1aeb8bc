"""Tools of the agents at a task: a shell in the sandbox of the task, its files, and what is to be remembered.

Paths are those of the task's container (`/app/...`); what lies outside of its own folders cannot be named.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sophron.agents.memory.agent_memory import Memory
from sophron.agents.tools import files, skills
from sophron.agents.tools.safe_open import SCRATCH, OutsideError, Places
from sophron.agents.tools.toolbox import RegisteredTool, ToolPlace, run_command
from sophron.interfaces import JsonObject
from sophron.interfaces.model_backend import Tool
from sophron.kinds.task.desk import Desk, open_desk
from sophron.records.errors import shown

DESK = "desk"
"""Input of an agent for its tools: what its desk is."""
_PATH = {
    "type": "string",
    "minLength": 1,
    "maxLength": 4096,
    "description": "Absolute, or relative to the work folder.",
}


def _desk(place: ToolPlace) -> Desk:
    return open_desk(place.inputs[DESK], place.scratch)


def _shell(arguments: JsonObject, place: ToolPlace) -> str:
    """Run a line. What tools of an earlier turn spent counts, so that a kill gives no time back."""
    desk = _desk(place)
    left = desk.order.work_s - desk.spent_s
    if left <= 0:
        raise OutsideError(f"the {desk.order.work_s:g} seconds of this attempt are spent; give your answer now")
    shelf = {skills.PLACE: place.skills} if place.skills else {}
    box = replace(desk.box, wall_s=min(desk.order.command_s, left), read_only={**desk.box.read_only, **shelf})
    with desk.call("task_shell", arguments) as shown:
        shown.append(run_command(place.sandbox, box.grant(), argv=["/bin/bash", "-c", arguments["line"]]))
    return shown[0][0]


def _files(desk: Desk) -> files.Files:
    return files.Files(Places(desk.tree, {}))


def _inside(desk: Desk, path: str) -> str:
    """Return a path of the container as one below the tree; OutsideError if none of the task's folders holds it."""
    whole = path if path.startswith("/") else f"{desk.box.workdir}/{path}"
    top = whole.strip("/").partition("/")[0]
    if top not in desk.box.tops:
        raise OutsideError(f'"{shown(path)}" is not below {", ".join(f"/{one}" for one in desk.box.tops)}')
    return f"{SCRATCH}/{whole.strip('/')}"


def _write(arguments: JsonObject, place: ToolPlace) -> str:
    desk = _desk(place)
    path = _inside(desk, arguments["path"])
    with desk.call("task_write", arguments) as shown:
        shown.append((_files(desk).write_file(path, arguments["text"]).replace(f" {SCRATCH}/", " /"), False))
    return shown[0][0]


def _read(arguments: JsonObject, place: ToolPlace) -> str:
    desk = _desk(place)
    said = _files(desk).read_file(_inside(desk, arguments["path"]), arguments.get("offset", 0))
    return said.replace(f"[{SCRATCH}/", "[/", 1)


def _remember(arguments: JsonObject, place: ToolPlace) -> str:
    desk = _desk(place)
    level = arguments["level"]
    if level not in desk.order.memory:
        levels = ", ".join(desk.order.memory) or "none"
        raise OutsideError(f"nothing is remembered for {level} here; levels that were signed: {levels}")
    path = desk.root / desk.order.memory[level] if level != "global" else Path(desk.order.memory[level])
    Memory(path, level).add(arguments["text"], by=place.scratch.name)
    return "[remembered]"


def _freeze(place: ToolPlace) -> None:
    _desk(place).freeze()


def _schema(required: list[str], **properties: JsonObject) -> JsonObject:
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


SHELL = RegisteredTool(
    Tool(
        "task_shell",
        "Run a script in bash, in the task's work folder, as in its container: files that it leaves stay, programs "
        "that it starts end with it. Says the exit code and what was printed.",
        _schema(["line"], line={"type": "string", "minLength": 1, "maxLength": 100_000, "pattern": "^[^\\x00]*$"}),
    ),
    _shell,
    finish=_freeze,
)
WRITE = RegisteredTool(
    Tool(
        "task_write",
        f"Write a text file, at most {files.WRITE_BYTES} bytes; folders are made, a file of that name is replaced.",
        _schema(["path", "text"], path=_PATH, text={"type": "string", "maxLength": files.WRITE_BYTES}),
    ),
    _write,
)
READ = RegisteredTool(
    Tool(
        "task_read",
        f"Read a text file: at most {files.READ_BYTES} bytes from byte `offset` on.",
        _schema(["path"], path=_PATH, offset={"type": "integer", "minimum": 0}),
    ),
    _read,
)
REMEMBER = RegisteredTool(
    Tool(
        "task_remember",
        "Keep a sentence for later: for further attempts at this task (`task`), for all tasks of this campaign "
        "(`group`), or for all of this user's (`global`). What every attempt would see by itself is not worth it.",
        _schema(
            ["level", "text"],
            level={"enum": ["task", "group", "global"]},
            text={"type": "string", "minLength": 1, "maxLength": 2000},
        ),
    ),
    _remember,
)
