"""Helper code of an agent under development as a tool: an MCP server that runs it, in the sandbox of the agent.

A helper is `helpers/NAME.py` with a function `run(arguments)`, which takes plain data and returns plain data. A
meta-optimizer wrote it: nothing outside of the sandbox ever imports it.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sophron.agentbuild.aud import HELPERS
from sophron.records.documents import load_json

if TYPE_CHECKING:
    from mcp.server import MCPServer

NAME = "helpers"
FUNCTION = "run"
MOST_CHARACTERS = 100_000
"""Of an answer."""


class HelperError(Exception):
    """A helper that is not there, or did not come to an answer; one sentence for the agent."""


def sources(agent: Path) -> dict[str, str]:
    """Return name of a helper -> its code. agent: an agent's files as one document, path -> text."""
    paths = {Path(name): text for name, text in load_json(agent).items()}
    return {path.stem: text for path, text in paths.items() if path.parts[0] == HELPERS and path.suffix == ".py"}


def call(found: Mapping[str, str], name: str, arguments: Mapping[str, Any]) -> str:
    """Return what the helper called `name` returns, as JSON. What it prints is not part of that. Raises HelperError."""
    if name not in found:
        raise HelperError(f"there is no helper {name!r}; there are {', '.join(sorted(found)) or 'none'}")
    space: dict[str, Any] = {"__name__": name}
    try:
        with contextlib.redirect_stdout(sys.stderr):
            exec(compile(found[name], f"{HELPERS}/{name}.py", "exec"), space)  # noqa: S102 - in the sandbox, its purpose
            text = json.dumps(space[FUNCTION](dict(arguments)), allow_nan=False)
    except Exception as error:  # noqa: BLE001 - whatever a helper raises is an answer
        raise HelperError(f"{HELPERS}/{name}.py: {type(error).__name__}: {error}") from None
    if len(text) > MOST_CHARACTERS:
        raise HelperError(
            f"{HELPERS}/{name}.py: its answer has {len(text)} characters; return {MOST_CHARACTERS} or fewer"
        )
    return text


def server(found: Mapping[str, str]) -> MCPServer[Any]:
    """Return a server with the one tool `call`."""
    from mcp.server import MCPServer
    from mcp_types import CallToolResult, TextContent

    def run(helper: str, arguments: dict[str, Any]) -> CallToolResult:
        try:
            text, failed = call(found, helper, arguments), False
        except HelperError as reason:
            text, failed = str(reason), True
        return CallToolResult(content=[TextContent(type="text", text=text)], is_error=failed)

    run.__annotations__ = {"helper": str, "arguments": dict[str, Any], "return": CallToolResult}
    made = MCPServer(NAME, instructions=f"Helpers: {', '.join(sorted(found)) or 'none'}.", log_level="ERROR")
    made.add_tool(run, name="call", description=f"Run a helper by its name: {', '.join(sorted(found)) or 'none yet'}.")
    return made


def serve(agent: Path) -> None:
    """Serve over stdio until the client goes."""
    server(sources(agent)).run("stdio")
