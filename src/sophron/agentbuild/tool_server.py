"""Tools that come with an agent, as an MCP server in its sandbox: `sophron build tools`.

adapter/tools.py   class `Tools`, made from the sample (plain data); its public methods are the tools
plotting/draw.py   function `draw(curves) -> bytes`, a PNG of what a tool left under the key `plot` of its result
engine/*.py        what both import (`from engine import ...`)

Surfaces of AgentBuild, table III: the engine is frozen, the other two change if a contract's boundary opens them. What
was called and what came of it is written down here, in `trajectory.json`, and not by the adapter. But it is one
process: whoever opens the adapter to a build lets it reach what the judge reads.
"""

from __future__ import annotations

import base64
import contextlib
import importlib
import inspect
import json
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sophron.records.documents import load_json
from sophron.records.errors import UserError
from sophron.records.files import write_bytes, write_json, write_text

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp_types import CallToolResult

NAME = "tools"
ADAPTER, PLOTTING, ENGINE = "adapter", "plotting", "engine"
TRAJECTORY = "trajectory.json"
MOST_CHARACTERS = 20_000
"""Of a result."""


@dataclass(frozen=True)
class ToolResult:
    """What a call came to. text: JSON, or one sentence if it failed; picture: a PNG, if the tool showed one."""

    ok: bool
    text: str
    picture: bytes | None = None


class ToolSession:
    """The tools of one agent on one sample. Each call and its result stand in `folder/trajectory.json` after it."""

    def __init__(self, tools: object, draw: Callable[[Any], bytes] | None, folder: Path) -> None:
        self._tools, self._draw, self._folder = tools, draw, folder
        self._calls: list[dict[str, Any]] = []
        shutil.rmtree(folder, ignore_errors=True)
        self._write()

    def tools(self) -> dict[str, Callable[..., Any]]:
        """Return name -> method of what may be called."""
        return {name: tool for name, tool in inspect.getmembers(self._tools, inspect.ismethod) if name[0] != "_"}

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool and write down what came of it. Whatever a tool raises is an answer for the agent."""
        entry: dict[str, Any] = {"number": len(self._calls) + 1, "tool": name, "arguments": dict(arguments)}
        entry |= {"ok": False, "hint": "", "result": {}, "plot": None, "state": None}
        picture = None
        try:
            entry["result"], entry["plot"], picture = self._called(entry["number"], name, arguments)
            entry["ok"] = True
            state = entry["result"].get("state")
            entry["state"] = state if isinstance(state, int) and not isinstance(state, bool) else None
        except Exception as error:  # noqa: BLE001 - an answer for the agent
            entry["hint"] = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        self._calls.append(entry)
        self._write()
        text = json.dumps(entry["result"], ensure_ascii=False) if entry["ok"] else entry["hint"]
        return ToolResult(entry["ok"], text, picture)

    def _called(
        self, number: int, name: str, arguments: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any] | None, bytes | None]:
        tool = self.tools().get(name)
        if tool is None:
            raise ValueError(f"there is no tool {name}; there are {', '.join(self.tools())}")
        with contextlib.redirect_stdout(sys.stderr):
            result = dict(tool(**arguments))
            curves = result.pop("plot", None)
            picture = None if curves is None or self._draw is None else self._draw(curves)
        if len(json.dumps(result, allow_nan=False)) > MOST_CHARACTERS:
            raise ValueError(f"the result of {name} is longer than {MOST_CHARACTERS} characters; ask for less")
        return result, None if picture is None else self._kept(number, curves, picture), picture

    def _kept(self, number: int, curves: Mapping[str, Any], picture: bytes) -> dict[str, Any]:
        file = f"plots/{number}.png"
        write_bytes(self._folder / file, picture)
        about = {key: float(curves[key]) for key in ("low", "high") if key in curves}
        return {"file": file, "sha256": sha256(picture).hexdigest(), "whole": bool(curves.get("whole")), **about}

    def _write(self) -> None:
        write_json(self._folder / TRAJECTORY, {"calls": self._calls})


@contextlib.contextmanager
def opened(agent: Path, sample: Path, folder: Path) -> Iterator[ToolSession]:
    """Yield the session of an agent's own tools. agent: its files as one document, path -> text; sample: plain data.

    UserError if it has no `adapter/tools.py` with a class `Tools`. Its code is imported: in the sandbox alone.
    """
    code = {
        name: text for name, text in load_json(agent).items() if name.partition("/")[0] in (ADAPTER, PLOTTING, ENGINE)
    }
    if f"{ADAPTER}/tools.py" not in code:
        raise UserError(f"{agent}: has no {ADAPTER}/tools.py; write one with a class Tools")
    with _on_path(code, folder.with_name(f"{folder.name}-code")):
        tools = importlib.import_module(f"{ADAPTER}.tools")
        draw = importlib.import_module(f"{PLOTTING}.draw").draw if f"{PLOTTING}/draw.py" in code else None
        yield ToolSession(tools.Tools(load_json(sample)), draw, folder)


@contextlib.contextmanager
def _on_path(code: Mapping[str, str], place: Path) -> Iterator[None]:
    """Make `import engine`, `adapter` and `plotting` those of an agent; they are files, so that errors show lines."""
    shutil.rmtree(place, ignore_errors=True)
    for name in (ADAPTER, PLOTTING, ENGINE):
        write_text(place / name / "__init__.py", "")
    for name, text in code.items():
        write_text(place / name, text)
    sys.path.insert(0, str(place.absolute()))
    try:
        yield
    finally:
        sys.path.remove(str(place.absolute()))
        for name in [name for name in sys.modules if name.partition(".")[0] in (ADAPTER, PLOTTING, ENGINE)]:
            del sys.modules[name]
        shutil.rmtree(place, ignore_errors=True)


def server(session: ToolSession) -> MCPServer[Any]:
    """Return a server that offers the tools of a session; calls wait for one another."""
    from mcp.server import MCPServer

    made = MCPServer(NAME, instructions="Tools of one sample.", log_level="ERROR")
    lock = threading.Lock()
    for name, tool in session.tools().items():
        made.add_tool(_bound(session, name, tool, lock), name=name, description=inspect.getdoc(tool))
    return made


def _bound(session: ToolSession, name: str, tool: Callable[..., Any], lock: threading.Lock) -> Callable[..., Any]:
    """`tool` as the SDK takes it: it reads names and types of the arguments from the signature."""
    from mcp_types import CallToolResult, ImageContent, TextContent

    def bound(**arguments: Any) -> CallToolResult:
        with lock:
            said = session.call(name, arguments)
        content: list[Any] = [TextContent(type="text", text=said.text)]
        if said.picture is not None:
            data = base64.b64encode(said.picture).decode()
            content.append(ImageContent(type="image", data=data, mime_type="image/png"))
        return CallToolResult(content=content, is_error=not said.ok)

    signature = inspect.signature(tool, eval_str=True)
    bound.__signature__ = signature.replace(return_annotation=CallToolResult)  # type: ignore[attr-defined]
    bound.__name__ = name
    return bound


def serve(agent: Path, sample: Path, folder: Path) -> None:
    """Serve over stdio until the client goes."""
    with opened(agent, sample, folder) as session:
        server(session).run("stdio")
