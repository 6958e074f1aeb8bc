"""The tools of a session as an MCP server: stdio or streamable HTTP, pictures as MCP images, one call at a time."""

from __future__ import annotations

import base64
import inspect
import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sophron.science.rietveld.session.session import Session
from sophron.science.rietveld.session.tools import TOOLS, call
from sophron.science.rietveld.session.trajectory import Answer

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp_types import CallToolResult

NAME = "rietveld"
ABOUT = (
    "Rietveld refinement of one powder pattern. Begin with project, histogram and phase; release groups of parameters, "
    "refine, look at the plot, and go on or roll back; end with report."
)


def base(name: str, instructions: str) -> MCPServer[Any]:
    """Return a server without tools.

    What it prints goes nowhere near the protocol: logs are on standard error alone.
    """
    from mcp.server import MCPServer

    return MCPServer(name, instructions=instructions, log_level="ERROR")


def server(session: Session) -> MCPServer[Any]:
    """Return a server that offers the tools of `session` to whoever connects; calls wait for one another."""
    made = base(NAME, ABOUT)
    lock = threading.Lock()
    for name, tool in TOOLS.items():
        made.add_tool(_bound(session, name, tool, lock), name=name, description=inspect.getdoc(tool))
    return made


def _bound(session: Session, name: str, tool: Callable[..., Answer], lock: threading.Lock) -> Callable[..., Any]:
    """`tool` without its session, for the SDK to read its arguments from."""
    from mcp_types import CallToolResult

    def bound(**arguments: Any) -> Any:
        with lock:
            return result(session, call(session, name, arguments))

    signature = inspect.signature(tool, eval_str=True)
    _, *others = signature.parameters.values()
    bound.__signature__ = signature.replace(parameters=others, return_annotation=CallToolResult)  # type: ignore[attr-defined]
    bound.__name__ = name
    return bound


def result(session: Session, answer: Answer) -> CallToolResult:
    """Return an answer as MCP has it: JSON as text, then its picture; a call that failed is an error of the tool."""
    from mcp_types import CallToolResult, ImageContent, TextContent

    said = {"ok": answer.ok, "hint": answer.hint, "numbers": dict(answer.numbers), **answer.details}
    content: list[Any] = [TextContent(type="text", text=json.dumps(said, allow_nan=False, ensure_ascii=False))]
    if answer.plot is not None:
        data = base64.b64encode((session.folder / answer.plot.file).read_bytes()).decode()
        content.append(ImageContent(type="image", data=data, mime_type="image/png"))
    return CallToolResult(content=content, is_error=not answer.ok)


def serve(session: Session, *, host: str = "", port: int = 0) -> None:
    """Serve until the client goes (stdio), or, with a host, until it is stopped (streamable HTTP at `/mcp`)."""
    made = server(session)
    try:
        if host:
            made.run("streamable-http", host=host, port=port)
        else:
            made.run("stdio")
    finally:
        session.engine.close()
