"""Store the endpoint's tasks: the SDK's database store, whose calls go to their end.

Imports the A2A SDK: only `server` imports this module, when it serves.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from a2a.server.context import ServerCallContext
from a2a.server.tasks import DatabaseTaskStore
from a2a.types import ListTasksRequest, ListTasksResponse, Task


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
