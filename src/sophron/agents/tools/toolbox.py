"""The tools of one agent step: what the model sees of them, and what happens when it calls one.

`run_command` is here: inputs read-only, scratch as working folder, output bounded.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from sophron.agents.tools import files, literature, literature_web, skills
from sophron.agents.tools.literature_web import Web
from sophron.agents.tools.mcp_client import Connection, McpError, Server
from sophron.agents.tools.safe_open import OutsideError, Places
from sophron.agents.tools.skills import SkillShelf
from sophron.campaign.scaffold import kind_catalogue
from sophron.campaign.skills.skill_folder import Skill
from sophron.interfaces import JsonObject
from sophron.interfaces.model_backend import Image, Text, Tool, ToolAnswer, ToolCall
from sophron.interfaces.sandbox import Ended, Grant, SandboxBackend
from sophron.records import entry_points
from sophron.records.errors import UserError, did_you_mean, shown
from sophron.records.sanitize import escape_lines
from sophron.sandbox import grants

OUTPUT = 24_000
_HEAD = OUTPUT // 4
_SAID = {
    "cpu_s": "CPU seconds",
    "memory_mb": "MB of memory",
    "file_mb": "MB in one file",
    "disk_mb": "MB in the work folder",
    "wall_s": "seconds",
    "processes": "processes",
}


def command_tool(grant: Grant) -> Tool:
    """Return `run_command` as a model sees it, with what the grant allows."""
    limits = ", ".join(
        f"{getattr(grant, key):g} {word}" for key, word in _SAID.items() if getattr(grant, key) is not None
    )
    return Tool(
        "run_command",
        "Run a program in the sandbox: either `argv`, or one `line` for /bin/sh. Its folder is scratch, the only place "
        f"that it can write to. {'It has network.' if grant.network else 'There is no network.'} At most {limits}.",
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "argv": {"type": "array", "minItems": 1, "maxItems": 1000, "items": _word(100_000)},
                "line": {**_word(100_000), "minLength": 1},
            },
            "oneOf": [{"required": ["argv"]}, {"required": ["line"]}],
        },
    )


def run_command(sandbox: SandboxBackend, grant: Grant, argv: Sequence[str] = (), line: str = "") -> tuple[str, bool]:
    """Return how the command ended and what it wrote, and whether it failed. UserError if no sandbox can be made."""
    command = list(argv) or ["/bin/sh", "-c", line]
    with TemporaryDirectory(prefix="sophron-") as folder:
        out, err = Path(folder) / "stdout", Path(folder) / "stderr"
        ended = sandbox.run(command, grant, stdout=out, stderr=err)
        text = "\n".join([_end_sentence(ended, grant), *_stream("stdout", out), *_stream("stderr", err)])
    return text, ended.returncode != 0


def _word(most: int) -> dict[str, object]:
    # A NUL cannot be in an argument; refused here, it is a mistake of the model and not of the system.
    return {"type": "string", "maxLength": most, "pattern": "^[^\\x00]*$"}


def _end_sentence(ended: Ended, grant: Grant) -> str:
    if ended.limit is not None:
        return f"[ended: it passed its limit of {getattr(grant, ended.limit):g} {_SAID[ended.limit]}]"
    if ended.returncode < 0:
        return f"[ended by signal {-ended.returncode}]"
    return f"[exit code {ended.returncode}]"


def _stream(name: str, path: Path) -> list[str]:
    """Return beginning and end of what it wrote if the whole is too long; nothing if it wrote nothing."""
    size = path.stat().st_size
    if not size:
        return []
    with path.open("rb") as stream:
        if size <= OUTPUT:
            return [f"[{name}]", escape_lines(stream.read().decode(errors="replace"), OUTPUT)]
        head = stream.read(_HEAD)
        stream.seek(_HEAD - OUTPUT, 2)
        tail = stream.read()
    left_out = f"[{size - OUTPUT} bytes left out]"
    return [
        f"[{name}]",
        escape_lines(head.decode(errors="replace"), OUTPUT),
        left_out,
        escape_lines(tail.decode(errors="replace"), OUTPUT),
    ]


KIND_TOOL = Tool(
    "look_up_kind",
    "A kind of campaign in full with one example (`viscosity`), a stage of a kind with the keys of its definition and "
    "its result (`viscosity/shear`), or an example campaign as its file (`kg-melt-viscosity`), by its name.",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["name"],
        "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 100}},
    },
)


def look_up_kind(name: str) -> str:
    """Return what has this name. OutsideError if nothing has."""
    try:
        return kind_catalogue.look_up(name)
    except UserError as unknown:
        raise OutsideError(str(unknown)) from None


Contents = tuple[Text | Image, ...]
Function = Callable[[JsonObject], tuple[Contents, bool]]
"""A tool at work: validated arguments -> contents, and whether it failed."""

REGISTRY = "sophron.agent_tools"
"""Tools of a kind of campaign, as entry points: name -> RegisteredTool."""


@dataclass(frozen=True)
class ToolPlace:
    """Where a registered tool works. scratch: writable; inputs: role -> file or folder of the step, read-only.

    skills: folder with the files of the step's skills, which its programs see below `/skills`; None without skills.
    """

    scratch: Path
    inputs: Mapping[str, Path]
    sandbox: SandboxBackend
    skills: Path | None = None


@dataclass(frozen=True)
class RegisteredTool:
    """A tool that a layer above brings. run: its arguments and place -> what it says; OutsideError is its refusal.

    finish: called once the conversation has ended, however it did; it leaves what the agent's definition `keeps`.
    """

    tool: Tool
    run: Callable[[JsonObject, ToolPlace], str]
    finish: Callable[[ToolPlace], None] | None = None


_LIMITS = ("cpu_s", "memory_mb", "file_mb", "wall_s", "processes", "disk_mb")
WITHOUT_PROGRAMS = frozenset(
    {*(tool.name for tool in files.TOOLS), literature.TOOL.name, KIND_TOOL.name, skills.TOOL.name}
)
"""Tools that need no sandbox."""
BUILT_IN = (*(tool.name for tool in files.TOOLS), "run_command", literature.TOOL.name, KIND_TOOL.name)


class Toolbox:
    """Tools that a definition names, bound to one step's inputs, scratch and sandbox.

    scratch: the step's writable folder, made by the caller. inputs: role -> file or folder, read-only. names: of
    BUILT_IN, of `REGISTRY`, or `<server>__<tool>` and `<server>__*` for an MCP server in `servers`. grant: limits,
    environment, network, mounts and devices of commands and servers (its work folder is replaced by scratch); a limit
    it leaves open is the default one of `grants`. skills: what `read_skill` gives, with files in `skill_folder`, which
    commands see read-only. web: searches of a signed step whose grants allow them; without it
    there are none.
    Use it in a `with`: servers start on entering and end on leaving.
    Raises UserError for an unknown name, a missing root, and (on entering) a server that does not come up.
    """

    def __init__(
        self,
        scratch: Path,
        inputs: Mapping[str, Path],
        sandbox: SandboxBackend,
        names: Sequence[str],
        *,
        grant: Grant | None = None,
        servers: Mapping[str, Server] | None = None,
        web: Web | None = None,
        skills: Sequence[Skill] = (),
        skill_folder: Path | None = None,
    ) -> None:
        self._places = Places(scratch, inputs)
        self._sandbox = sandbox
        self._grant = _fill_limits(grant or Grant(scratch), scratch, list(inputs.values()))
        if skill_folder is not None:
            self._grant = _with_skills(self._grant, skill_folder)
        self._shelf = SkillShelf(skills, names) if skills else None
        self._servers = servers or {}
        self._web = web
        self._stack = ExitStack()
        self._tools: dict[str, tuple[Tool, Function]] = {}
        self._finishing: list[Callable[[], None]] = []
        built_in = self._built_in()
        place = ToolPlace(scratch, inputs, sandbox, skill_folder)
        for name in names:
            if name in built_in:
                self._tools[name] = built_in[name]
            elif "__" not in name and name in entry_points.names(REGISTRY):
                self._register(entry_points.load(REGISTRY, name), place)
            elif name == literature_web.TOOL.name:
                raise UserError(f"{name} is for signed steps of a campaign, and this is none; take it out of `tools`")
            elif name.partition("__")[0] not in self._servers:
                raise UserError(f'"{shown(name)}" is no tool; {did_you_mean(name, [*BUILT_IN, *self._servers])}')
        self._remote = [name for name in names if name not in self._tools]

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for server in dict.fromkeys(name.partition("__")[0] for name in self._remote):
                connection = Connection(server, self._servers[server], self._sandbox, self._grant)
                self._add(server, stack.enter_context(connection))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def tools(self) -> list[Tool]:
        """The tools as a model sees them, in the order of `names`."""
        return [tool for tool, _ in self._tools.values()]

    def finish(self) -> None:
        """Let tools leave what belongs to the answer; the conversation has ended."""
        for function in self._finishing:
            function()

    def _register(self, found: RegisteredTool, place: ToolPlace) -> None:
        self._tools[found.tool.name] = _registered(found, place)
        if found.finish is not None:
            self._finishing.append(partial(found.finish, place))

    def call(self, call: ToolCall) -> ToolAnswer:
        """Do what the model asks. Its mistakes come back as `is_error` with one sentence, and never raise.

        Raises UserError if no sandbox can be made.
        """
        if call.name not in self._tools:
            return _refusal(call, f'there is no tool "{shown(call.name)}"; {did_you_mean(call.name, self._tools)}')
        tool, function = self._tools[call.name]
        if call.arguments is None:
            return _refusal(call, f"the arguments of {call.name} are no JSON object")
        if fault := _fault(tool, call.arguments):
            return _refusal(call, fault)
        try:
            contents, failed = function(call.arguments)
        except (OutsideError, McpError) as refusal:
            return _refusal(call, str(refusal))
        except OSError as error:
            return _refusal(call, f"{call.name}: {error.strerror or 'failed'}")
        return ToolAnswer(call.id, contents, is_error=failed)

    def _built_in(self) -> dict[str, tuple[Tool, Function]]:
        tools = files.Files(self._places)
        tools_by_name: dict[str, tuple[Tool, Function]] = {
            tool.name: (tool, _of_text(getattr(tools, tool.name))) for tool in files.TOOLS
        }
        tools_by_name["run_command"] = (command_tool(self._grant), self._run)
        tools_by_name[literature.TOOL.name] = (literature.TOOL, _of_text(literature.answer))
        tools_by_name[KIND_TOOL.name] = (KIND_TOOL, _of_text(look_up_kind))
        if self._shelf is not None:
            tools_by_name[skills.TOOL.name] = (skills.TOOL, _of_text(self._shelf.read_skill))
        if self._web is not None:
            tools_by_name[literature_web.TOOL.name] = (literature_web.TOOL, _of_text(self._web.search))
        return tools_by_name

    def _run(self, arguments: JsonObject) -> tuple[Contents, bool]:
        text, failed = run_command(self._sandbox, self._grant, **arguments)
        return (Text(text),), failed

    def _add(self, server: str, connection: Connection) -> None:
        names = {name.partition("__")[2] for name in self._remote if name.partition("__")[0] == server}
        offered = {tool.name.removeprefix(f"{server}__"): tool for tool in connection.tools}
        for name in names - {"*"} - offered.keys():
            raise UserError(f'the MCP server "{server}" has no tool "{shown(name)}"; {did_you_mean(name, offered)}')
        for name, tool in offered.items():
            if "*" in names or name in names:
                self._tools[tool.name] = (tool, _of_server(connection, name))


def _fill_limits(grant: Grant, scratch: Path, inputs: list[Path]) -> Grant:
    modest = grants.grant({}, scratch, root=scratch)
    home = {"HOME": str(scratch.absolute()), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    return replace(
        grant,
        workdir=scratch,
        read_only=[*grant.read_only, *inputs],
        env={**home, **grant.env},
        **{key: getattr(modest, key) for key in _LIMITS if getattr(grant, key) is None},
    )


def _with_skills(grant: Grant, folder: Path) -> Grant:
    """Show programs the files of skills, under a name that is the same in each step."""
    return replace(grant, read_only=[*grant.read_only, folder], places={**grant.places, skills.PLACE: folder})


def _registered(found: RegisteredTool, place: ToolPlace) -> tuple[Tool, Function]:
    return found.tool, lambda arguments: ((Text(found.run(arguments, place)),), False)


def _of_text(method: Callable[..., str]) -> Function:
    return lambda arguments: ((Text(method(**arguments)),), False)


def _of_server(connection: Connection, name: str) -> Function:
    return lambda arguments: connection.call(name, arguments)


def _fault(tool: Tool, arguments: JsonObject) -> str | None:
    """Return one sentence about what a tool's schema does not allow in `arguments`, or None."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    try:
        json.dumps(arguments, ensure_ascii=False).encode()
    except ValueError:  # JSON can spell half of a pair, "\\ud800", which no file name and no program can take
        return f"the arguments of {tool.name} hold half of a surrogate pair; write plain Unicode"
    error = best_match(Draft202012Validator(tool.schema).iter_errors(dict(arguments)))
    if error is None:
        return None
    where = "".join(f"[{key!r}]" for key in error.absolute_path)
    return f"the arguments{shown(where)} of {tool.name} are wrong: {shown(error.message, 300)}"


def _refusal(call: ToolCall, sentence: str) -> ToolAnswer:
    return ToolAnswer(call.id, (Text(sentence),), is_error=True)
