"""Handle the endpoint's calls around the SDK's own handler: admission, tenants, resumption.

Imports the A2A SDK: only `server` imports this module, when it serves.
"""

from collections.abc import AsyncGenerator

from a2a.auth.user import User
from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import TaskStore
from a2a.types import (
    AgentCard,
    ListTasksRequest,
    Message,
    SendMessageConfiguration,
    SendMessageRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError, UnsupportedOperationError

from sophron.agentbuild.release import a2a_executor, message_inputs
from sophron.agentbuild.release.a2a_executor import Executor
from sophron.agentbuild.release.package import Package

OPEN = (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)
PAGE = 100


class Tenant(User):
    """The caller, as its token says."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def is_authenticated(self) -> bool:
        """Always: nobody else gets this far."""
        return True

    @property
    def user_name(self) -> str:
        """Name of the tenant."""
        return self._name


def owner(context: ServerCallContext) -> str:
    """Return who owns the tasks of a call: the tenant of its token, whatever else the call names."""
    if not context.user.is_authenticated or context.tenant not in ("", context.user.user_name):
        raise TaskNotFoundError
    return context.user.user_name


class Handler(DefaultRequestHandler):
    """The SDK's handler for one package."""

    def __init__(self, package: Package, executor: Executor, store: TaskStore, card: AgentCard) -> None:
        super().__init__(agent_executor=executor, task_store=store, agent_card=card, validate_input_modes=True)
        self._package = package
        self._executor = executor
        self._store = store

    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Message | Task:
        """Begin a task, if what was sent can be one."""
        await self._admit(params, context)
        begun: Message | Task = await super().on_message_send(params, context)
        return begun

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """Return the same, with what happens as it happens."""
        await self._admit(params, context)
        async for event in super().on_message_send_stream(params, context):
            yield event

    async def resume(self, tenants: list[str]) -> int:
        """Take up every task that a server before this one left open; how many."""
        resumed = 0
        for name in tenants:
            context = ServerCallContext(user=Tenant(name))
            left = [task for state in OPEN for task in await self._in_state(state, context)]
            for task in left:
                message = task.history[0]
                message.task_id, message.context_id = task.id, task.context_id
                at_once = SendMessageConfiguration(return_immediately=True)
                await super().on_message_send(SendMessageRequest(message=message, configuration=at_once), context)
            resumed += len(left)
        return resumed

    async def _in_state(self, state: TaskState, context: ServerCallContext) -> list[Task]:
        found: list[Task] = []
        token = ""
        while True:
            request = ListTasksRequest(status=state, page_size=PAGE, page_token=token)
            page = await self._store.list(request, context)
            found += page.tasks
            token = page.next_page_token
            if not token:
                return found

    async def _admit(self, params: SendMessageRequest, context: ServerCallContext) -> None:
        tenant = owner(context)
        if params.message.task_id:
            if await self._store.get(params.message.task_id, context) is None:
                raise TaskNotFoundError
            raise UnsupportedOperationError("a task takes one message; send this one without a task id")
        try:
            a2a_executor.read(params.message, self._package)
        except message_inputs.MessageError as refusal:
            raise InvalidParamsError(str(refusal)) from None
        for task in self._executor.forget(tenant):
            await self._store.delete(task, context)
