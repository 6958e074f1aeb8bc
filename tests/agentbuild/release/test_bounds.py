"""What no caller gets more of: open tasks, kept tasks, time, tries. The application in this process, for its bounds."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import toy_build
from a2a.client import ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver
from a2a.types import ListTasksRequest
from toy_endpoint import TOKENS, TOY, answer, got, request, state, task_of

from sophron.agentbuild.release import a2a_executor, a2a_task, package
from sophron.agentbuild.release.a2a_executor import Bounds
from sophron.agentbuild.release.a2a_server import Serving, application
from sophron.agentbuild.release.bearer_tokens import Tenants, token_digest

URL = "http://toy"
PATIENCE_S = 120


@pytest.fixture
def packed(tmp_path, monkeypatch):
    """The toy agent, packaged; its processes find its rule of thumb."""
    monkeypatch.setenv("PYTHONPATH", str(TOY), prepend=":")
    return package.release(toy_build.make(tmp_path / "build"), "v1.0")


@asynccontextmanager
async def served(packed: package.Package, state: Path, **bounds):
    """A client of the application, between its start and its end."""
    tenants = Tenants({name: token_digest(token) for name, token in TOKENS.items()})
    app = application(Serving(packed, tenants, state, URL, Bounds(**bounds)))
    async with app.router.lifespan_context(app):
        headers = {"Authorization": f"Bearer {TOKENS['alice']}"}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), headers=headers, timeout=60) as http:
            card = await A2ACardResolver(http, URL).get_agent_card()
            yield ClientFactory(ClientConfig(httpx_client=http, streaming=False)).create(card)


async def ended(of, identifier: str) -> dict:
    """A task when it has ended; TimeoutError where nobody works on it."""
    async with asyncio.timeout(PATIENCE_S):
        while state(task := await got(of, identifier)) in ("submitted", "working"):
            await asyncio.sleep(0.1)
    return task


def kind(task: dict) -> str:
    return task["status"]["message"]["parts"][1]["data"]["kind"]


def test_a_tenant_has_so_many_open_tasks(packed, tmp_path):
    async def run():
        async with served(packed, tmp_path / "state", open=2, running=1) as of:
            first = [await task_of(of, request({"terms": [1], "wait_s": 1}, at_once=True)) for _ in range(2)]
            third = await task_of(of, request({"terms": [1]}))
            assert (state(third), kind(third)) == ("rejected", "busy")
            assert {state(await ended(of, task["id"])) for task in first} == {"completed"}
            assert state(await task_of(of, request({"terms": [1]}))) == "completed"

    asyncio.run(run())


def test_the_oldest_finished_tasks_are_forgotten(packed, tmp_path):
    async def run():
        async with served(packed, tmp_path / "state", kept=1) as of:
            done = [await task_of(of, request({"terms": [n]})) for n in range(3)]
            listed = {task.id for task in (await of.list_tasks(ListTasksRequest())).tasks}
            assert listed == {task["id"] for task in done[1:]}
            folders = {path.name for path in (tmp_path / "state" / "tasks" / "alice").iterdir()}
            assert folders == listed

    asyncio.run(run())


def test_a_task_that_takes_too_long_is_ended(packed, tmp_path, monkeypatch):
    monkeypatch.setattr(a2a_executor, "GRACE_S", -58.0)  # of the agent's 60 s, two are left

    async def run():
        async with served(packed, tmp_path / "state") as of:
            return await task_of(of, request({"terms": [1], "wait_s": 30}))

    task = asyncio.run(run())
    assert (state(task), kind(task)) == ("failed", "timeout")


def interrupted(packed, folder: Path) -> str:
    """The id of a task that a server left open when it ended in good order."""

    async def run():
        async with served(packed, folder) as of:
            return (await task_of(of, request({"terms": [5], "wait_s": 1}, at_once=True)))["id"]

    return asyncio.run(run())


def resumed(packed, folder: Path, identifier: str) -> dict:
    """That task after the next start."""

    async def run():
        async with served(packed, folder) as of:
            return await ended(of, identifier)

    return asyncio.run(run())


def test_an_end_in_good_order_is_no_try(packed, tmp_path):
    identifier = interrupted(packed, tmp_path / "state")
    folder = tmp_path / "state" / "tasks" / "alice" / identifier
    for _ in range(a2a_task.MOST_TRIES):
        a2a_task.begin(packed, folder)
        a2a_task.give_back(folder)
    assert answer(resumed(packed, tmp_path / "state", identifier))["sum"] == 5


def test_a_task_that_takes_the_server_with_it_ends(packed, tmp_path):
    identifier = interrupted(packed, tmp_path / "state")
    for _ in range(a2a_task.MOST_TRIES):
        a2a_task.begin(packed, tmp_path / "state" / "tasks" / "alice" / identifier)
    task = resumed(packed, tmp_path / "state", identifier)
    assert (state(task), kind(task)) == ("failed", "interrupted")


def test_a_task_does_not_change_its_agent_in_the_middle(packed, tmp_path):
    identifier = interrupted(packed, tmp_path / "state")
    task = resumed(package.release(tmp_path / "build", "v1.1"), tmp_path / "state", identifier)
    assert (state(task), kind(task)) == ("failed", "interrupted")
    assert "another version of the agent" in task["status"]["message"]["parts"][0]["text"]


def test_what_was_asked_and_lost_is_a_typed_failure(packed, tmp_path):
    identifier = interrupted(packed, tmp_path / "state")
    (tmp_path / "state" / "tasks" / "alice" / identifier / "request.json").unlink()
    task = resumed(packed, tmp_path / "state", identifier)
    assert (state(task), kind(task)) == ("failed", "interrupted")
