"""Tools of MCP servers: a command that talks over stdio inside the sandbox, or an address (streamable HTTP)."""

import logging
import os
import re
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

from sophron.interfaces import JsonObject
from sophron.interfaces.model_backend import Image, Text, Tool
from sophron.interfaces.sandbox import Grant, SandboxBackend
from sophron.records.errors import UserError, shown
from sophron.records.sanitize import escape_lines

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters


# A backend gives a program no input, and its output to a file: both are named pipes here, so that every backend
# serves. A sandbox ends with its first program, which is a shell that waits for the end of a third pipe; this process
# holds the other end of it, also by dying. Should the server end first, it takes the shell with it.
_INSIDE = '("$@" <"$0"; kill -9 $$) & exec 0<&-; read -r _ <"$0.stop"'
# The client starts its servers itself; what it starts are two relays. Opened for both ways, a pipe never waits.
_RELAY = 'cat <"$1" & exec cat 1<>"$0"'


class Serving:
    """`command` at work inside, for the time of a `with`; `ends` is how the MCP client reaches it."""

    def __init__(self, command: Sequence[str], sandbox: SandboxBackend, grant: Grant) -> None:
        self._command = command
        self._sandbox = sandbox
        self._grant = grant
        self._reason = ""
        self._closing = threading.Event()
        self._stack = ExitStack()
        self.ends: StdioServerParameters

    def __enter__(self) -> Self:
        from mcp.client.stdio import StdioServerParameters

        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="sophron-")))
            into, out, stop = folder / "in", folder / "out", folder / "in.stop"
            for pipe in (into, out, stop):
                os.mkfifo(pipe, 0o600)
            thread = threading.Thread(target=self._run, args=(folder,), daemon=True)
            stack.callback(self._end, os.open(stop, os.O_RDWR | os.O_CLOEXEC), out, thread)
            thread.start()
            self.ends = StdioServerParameters(command="/bin/sh", args=["-c", _RELAY, str(into), str(out)], cwd="/")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def reason(self) -> str:
        """Why it ended, if that is known: what the sandbox said, or the last line of the server's complaints."""
        return self._reason

    def _run(self, folder: Path) -> None:
        pipes = [folder / "in", folder / "in.stop"]
        grant = replace(self._grant, read_only=[*self._grant.read_only, *pipes])
        command = ["/bin/sh", "-c", _INSIDE, str(folder / "in"), *self._command]
        complaints = folder / "stderr"
        try:
            self._sandbox.run(command, grant, stdout=folder / "out", stderr=complaints)
        except UserError as failure:
            self._reason = str(failure)
        else:
            lines = complaints.read_text(errors="replace").splitlines()
            self._reason = lines[-1] if lines else ""
        # A relay that opens the pipe only now must find that nobody writes to it any more.
        while not self._closing.wait(0.02):
            with suppress(OSError):
                os.close(os.open(folder / "out", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))

    def _end(self, ender: int, out: Path, thread: threading.Thread) -> None:
        self._closing.set()
        os.close(ender)
        reader = os.open(out, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # lets go of a backend that waits for one
        thread.join()
        os.close(reader)


MOST_BAD_LINES = 100


@dataclass
class Noise:
    """How many lines of a server were not messages."""

    lines: int = 0

    @property
    def sentence(self) -> str:
        """Why it was ended; empty if it was not."""
        return f"it wrote {self.lines} lines that are no messages" if self.lines >= MOST_BAD_LINES else ""


@asynccontextmanager
async def patient(where: "StdioServerParameters", noise: Noise) -> AsyncIterator[tuple[Any, Any]]:
    """Yield the SDK's transport to a server, which counts in `noise` and ends after too much of it."""
    from mcp.client.stdio import stdio_client

    async with stdio_client(where) as (read, write):
        yield _Reader(read, noise), write


class _Reader:
    """The SDK's stream of messages; a line that is none comes out of it as an exception."""

    def __init__(self, stream: Any, noise: Noise) -> None:
        self._stream, self._noise = stream, noise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        item = await self._stream.__anext__()
        self._noise.lines += isinstance(item, Exception)
        if self._noise.sentence:
            raise StopAsyncIteration
        return item

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *about: object) -> Any:
        return await self._stream.__aexit__(*about)


ANSWER = 48_000
IMAGE_BASE64 = 8_000_000
DESCRIPTION = 4_000
TOOLS = 100
LOGGERS = ("mcp", "client")
"""The SDK's: a traceback on standard error for each line of a server that it does not understand."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class McpError(Exception):
    """The server did not do what it was asked; the message is for the model."""


@dataclass(frozen=True)
class Server:
    """One MCP server: either `command` (started in the sandbox, talks over stdio) or `url`.

    read_only: files and folders that the command needs beside the system's own (its interpreter, its packages).
    hidden: folders below these that stand empty. env: its environment. timeout_s: how long one answer may take;
    wall_s: how long it may live.
    """

    command: Sequence[str] = ()
    url: str = ""
    read_only: Sequence[Path] = ()
    hidden: Sequence[Path] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 120.0
    wall_s: float = 3600.0


class Connection:
    """A running server, for the time of a `with`. tools: what it offers, with names `<server>__<tool>`."""

    def __init__(self, name: str, server: Server, sandbox: SandboxBackend, grant: Grant) -> None:
        if bool(server.command) == bool(server.url):
            raise UserError(
                f'the MCP server "{name}" has {"both" if server.url else "neither"} command and url; give one'
            )
        self.name = name
        self.tools: list[Tool] = []
        self._server = server
        self._sandbox = sandbox
        env = {**grant.env, **server.env}
        read_only = [*grant.read_only, *server.read_only]
        self._grant = replace(grant, read_only=read_only, hidden=server.hidden, env=env, wall_s=server.wall_s)
        self._noise = Noise()
        self._stack = ExitStack()
        self._portal: BlockingPortal
        self._client: Client

    def __enter__(self) -> Self:
        try:
            from anyio.from_thread import start_blocking_portal
            from mcp import Client
        except ImportError:
            raise UserError(
                f'the MCP server "{self.name}" needs the package mcp; install sophron with its extra "agents"'
            ) from None
        with ExitStack() as stack:
            inside = Serving(self._server.command, self._sandbox, self._grant) if self._server.command else None
            where = patient(stack.enter_context(inside).ends, self._noise) if inside else self._server.url
            self._portal = stack.enter_context(start_blocking_portal())
            for logger in LOGGERS:
                logging.getLogger(logger).setLevel(logging.CRITICAL)
            client = Client(where, read_timeout_seconds=self._server.timeout_s)
            try:
                self._client = stack.enter_context(self._portal.wrap_async_context_manager(client))
                self.tools = self._portal.call(self._listed)
            except _errors() as error:
                reason = self._noise.sentence or (inside.reason if inside else "") or _text_of(error)
                raise UserError(f'the MCP server "{self.name}" does not answer: {shown(reason, 200)}') from None
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def call(self, tool: str, arguments: JsonObject) -> tuple[tuple[Text | Image, ...], bool]:
        """Return what the server's `tool` answers, and whether it says that it failed. Raises McpError."""
        try:
            result = self._portal.call(self._client.call_tool, tool, dict(arguments))
        except _errors() as error:
            raise McpError(f'the MCP server "{self.name}" failed: {self._noise.sentence or _text_of(error)}') from None
        return tuple(_content(block) for block in result.content) or (Text("[no content]"),), bool(result.is_error)

    async def _listed(self) -> list[Tool]:
        found: list[Tool] = []
        cursor: str | None = None
        while True:
            page = await self._client.list_tools(cursor=cursor)
            found += [self._tool(tool) for tool in page.tools]
            cursor = page.next_cursor
            if len(found) > TOOLS:
                raise UserError(f'the MCP server "{self.name}" offers more than {TOOLS} tools; name the ones to use')
            if cursor is None:
                return found

    def _tool(self, tool: Any) -> Tool:
        name = f"{self.name}__{tool.name}"
        if not _NAME.fullmatch(name):
            raise UserError(
                f'the MCP server "{self.name}" has a tool "{shown(tool.name)}" that models cannot call by name'
            )
        return Tool(name, escape_lines(tool.description or "", DESCRIPTION), tool.input_schema)


def _errors() -> tuple[type[BaseException], ...]:
    from anyio import BrokenResourceError, ClosedResourceError
    from httpx2 import HTTPError
    from mcp import MCPError
    from pydantic import ValidationError

    return (
        MCPError,
        HTTPError,
        ValidationError,
        BrokenResourceError,
        ClosedResourceError,
        TimeoutError,
        OSError,
        ExceptionGroup,
    )


def _text_of(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return shown(str(error) or type(error).__name__, 200)


def _content(block: Any) -> Text | Image:
    """Convert one block of an answer; what is neither text nor a picture is named, not handed on."""
    if block.type == "text":
        return Text(escape_lines(block.text, ANSWER))
    if block.type == "image" and len(block.data) <= IMAGE_BASE64:
        return Image(block.mime_type, block.data)
    return Text(f"[{block.type} content, not shown]")
