"""The A2A endpoint of a packaged agent: card, JSON-RPC and REST bindings, bearer tokens, tasks on disk.

Imports the A2A SDK: `sophron build serve` imports this module when it serves, and nothing else does.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h11
import uvicorn
from a2a.server.context import ServerCallContext
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import DatabaseTaskStore
from a2a.types import AgentCard, ListTasksRequest, ListTasksResponse, Task
from google.protobuf.json_format import ParseDict
from sqlalchemy.ext.asyncio import create_async_engine
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials, AuthenticationBackend, AuthenticationError, SimpleUser
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from sophron.agentbuild.release import message_inputs, package
from sophron.agentbuild.release.a2a_executor import Bounds, Executor
from sophron.agentbuild.release.a2a_handler import Handler, owner
from sophron.agentbuild.release.bearer_tokens import Tenants
from sophron.agentbuild.release.package import Package
from sophron.records.errors import UserError
from sophron.records.files import FileLock, LockHeldError

CARD = "/.well-known/agent-card.json"
DATABASE = "tasks.sqlite"
BODY_BYTES = 4 * message_inputs.MESSAGE_BYTES // 3 + 1_000_000
"""Files travel as base64, four bytes for three."""
MOST_CONNECTIONS = 500
SHUTDOWN_S = 5
HEADERS_S = 5.0
"""Time for the headers of a request: else a few hundred half requests, from anybody, keep every tenant out."""


@dataclass(frozen=True)
class Serving:
    """Where and how a package is served. state: folder of tasks and their database; address: as callers reach it."""

    package: Package
    tenants: Tenants
    state: Path
    address: str
    bounds: Bounds


def application(serving: Serving) -> Starlette:
    """Return the ASGI application. Tasks that an earlier server left open are taken up when it starts."""
    served = serving.package
    stated = package.agent_card(served.endpoint.card, served.manifest.tag, serving.address)
    card = ParseDict(stated, AgentCard())
    # One connection: SQLite has one writer, and those who wait for it here do not fail there.
    engine = create_async_engine(f"sqlite+aiosqlite:///{serving.state / DATABASE}", pool_size=1, max_overflow=0)
    store = Store(engine, owner_resolver=owner)
    handler = Handler(served, Executor(served, serving.state / "tasks", serving.bounds), store, card)

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        serving.state.mkdir(parents=True, exist_ok=True)
        try:
            await store.initialize()
            await handler.resume(sorted(serving.tenants.digests))
            yield
        finally:
            await handler.aclose()
            await store.settle()
            await engine.dispose()

    routes = [
        *create_agent_card_routes(card, card_url=CARD),
        *create_jsonrpc_routes(handler, package.BINDINGS["JSONRPC"]),
        *create_rest_routes(handler, path_prefix=package.BINDINGS["HTTP+JSON"]),
    ]
    bearer = Middleware(AuthenticationMiddleware, backend=Bearer(serving.tenants), on_error=_unauthorized)
    return Starlette(routes=routes, lifespan=life, middleware=[Middleware(BodyLimit), bearer])


def serve(serving: Serving, host: str, port: int) -> int:
    """Serve until a signal ends it; the exit code. The log holds no headers and no bodies."""
    with _alone(serving.state):
        config = uvicorn.Config(
            application(serving),
            host=host,
            port=port,
            log_level="warning",
            access_log=False,
            server_header=False,
            http=Impatient,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=SHUTDOWN_S,
        )
        server = uvicorn.Server(config)
        server.run()
    return 0 if server.started else 1


class Impatient(H11Protocol):
    """Close a connection whose request has incomplete headers after `HEADERS_S`; uvicorn waits for ever."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._await_headers()

    def data_received(self, data: bytes) -> None:
        """Take what came; wait no longer once its headers are whole."""
        super().data_received(data)
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        if self._deadline:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _await_headers(self) -> None:
        if self.conn.their_state is h11.IDLE:
            self._deadline = self._deadline or self.loop.call_later(HEADERS_S, self.transport.close)
        elif self._deadline:
            self._deadline.cancel()
            self._deadline = None


class Bearer(AuthenticationBackend):
    """Every path but the public card wants the token of a tenant."""

    def __init__(self, tenants: Tenants) -> None:
        self._tenants = tenants

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, SimpleUser] | None:
        """Return the tenant of a call. AuthenticationError if it has none, which does not say why."""
        if conn.url.path == CARD:
            return None
        found = re.fullmatch(r"(?i:bearer) +(\S+)", conn.headers.get("authorization", ""))
        tenant = self._tenants.of(found[1]) if found else None
        if tenant is None:
            raise AuthenticationError("a bearer token is needed")
        return AuthCredentials(["tenant"]), SimpleUser(tenant)


class BodyLimit:
    """Refuses a body that is larger than any message may be, before it is read."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is small enough; 413 if the body says that it is larger, or turns out to be."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        stated = dict(scope["headers"]).get(b"content-length", b"0")
        if not stated.isdigit() or int(stated) > BODY_BYTES:
            await JSONResponse({"error": "the body is too large"}, status_code=413)(scope, receive, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > BODY_BYTES:
                raise HTTPException(413, "the body is too large")
            return message

        await self._app(scope, counted, send)


def _unauthorized(_: HTTPConnection, error: AuthenticationError) -> Response:
    return JSONResponse({"error": str(error)}, status_code=401, headers={"WWW-Authenticate": "Bearer"})


def _alone(state: Path) -> FileLock:
    lock = FileLock(state / "server.lock", blocking=False)
    try:
        lock.acquire()
    except LockHeldError:
        raise UserError(f"{state}: another server works in this folder; end it, or name another --state") from None
    return lock


class Store(DatabaseTaskStore):
    """A caller that is cancelled does not cut its transaction off: one that stays open keeps SQLite locked."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._under_way: set[asyncio.Task[Any]] = set()

    async def save(self, task: Task, context: ServerCallContext) -> None:
        """Keep a task."""
        await self._whole(super().save(task, context))

    async def get(self, task_id: str, context: ServerCallContext) -> Task | None:
        """Return the task called so, if the caller owns one."""
        found: Task | None = await self._whole(super().get(task_id, context))
        return found

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """Return the caller's tasks, a page of them."""
        found: ListTasksResponse = await self._whole(super().list(params, context))
        return found

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Forget a task."""
        await self._whole(super().delete(task_id, context))

    async def settle(self) -> None:
        """Wait until nothing is under way."""
        while self._under_way:
            await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _whole(self, call: Coroutine[Any, Any, Any]) -> Any:
        task = asyncio.ensure_future(call)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return await asyncio.shield(task)
