"""The endpoint as callers see it: the SDK's own client over both bindings, against the real server."""

import asyncio
import base64
import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import httpx
import pytest
import toy_build
from a2a.client.errors import A2AClientError
from a2a.types import CancelTaskRequest, GetTaskRequest, ListTasksRequest, Part, SubscribeToTaskRequest
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict, ParseDict
from toy_endpoint import BINDINGS, TOKENS, Endpoint, answer, client, got, request, sent, state, task_of

from sophron.agentbuild.release import package

REFUSED = (A2AError, A2AClientError)
PROOF = os.environ.get("SOPHRON_A2A_PROOF") or shutil.which("a2a-proof")
both = pytest.mark.parametrize("binding", BINDINGS)


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory):
    """The toy agent, served."""
    build = toy_build.make(tmp_path_factory.mktemp("served") / "build")
    served = Endpoint(package.release(build, "v1.0").folder)
    served.start()
    yield served
    served.stop()


def remark(text: str) -> Part:
    return ParseDict({"text": text, "metadata": {"role": "remark"}}, Part())


@both
def test_the_card_says_how_to_call(endpoint, binding):
    card = httpx.get(f"{endpoint.url}/.well-known/agent-card.json").json()
    assert card["version"] == "v1.0"
    assert binding in {one["protocolBinding"] for one in card["supportedInterfaces"]}
    assert {one["protocolVersion"] for one in card["supportedInterfaces"]} == {"1.0"}
    assert card["securityRequirements"] == [{"schemes": {"bearer": {}}}]


@pytest.mark.parametrize("before", [b"", b"GET /.well-known/agent-card.json HTTP/1.1\r\nHost: here\r\n\r\n"])
def test_a_request_whose_headers_never_end_is_closed(endpoint, before):
    with socket.create_connection(("127.0.0.1", endpoint.port), timeout=30) as caller:
        caller.sendall(before)
        if before:
            assert caller.recv(65536).startswith(b"HTTP/1.1 200")
        caller.sendall(b"POST /rpc HTTP/1.1\r\nHost: here\r\nX-Half: ")
        rest = caller.recv(65536)
        while rest:
            rest = caller.recv(65536)  # until the server ends it, or the time-out of this socket


@both
def test_a_message_is_answered(endpoint, binding):
    async def ask():
        of = await client(endpoint.url, "alice", binding)
        return await task_of(of, request({"terms": [1, 2, 3.5]}, remark("as of Tuesday")))

    task = asyncio.run(ask())
    assert state(task) == "completed"
    assert answer(task) == {"sum": 6.5, "note": "as of Tuesday"}
    assert task["artifacts"][0]["metadata"]["backend"] == "heuristic"
    itself = json.loads((endpoint.state / "tasks" / "alice" / task["id"] / "inputs" / "agent.json").read_text())
    assert itself["helpers/checks.py"] == "LARGEST = 10\n"  # what its tools run helpers from


@both
def test_a_stream_tells_what_happens(endpoint, binding):
    async def ask():
        of = await client(endpoint.url, "alice", binding, streaming=True)
        return await sent(of, request({"terms": [1]}))

    events = asyncio.run(ask())
    assert state(events[0]["task"]) == "submitted"
    assert [next(iter(event)) for event in events[1:]] == ["statusUpdate", "artifactUpdate", "statusUpdate"]
    assert [state(event["statusUpdate"]) for event in (events[1], events[-1])] == ["working", "completed"]


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKENS['bob']}"}]
)
@pytest.mark.parametrize(("method", "path"), [("POST", "/rpc"), ("POST", "/v1/message:send"), ("GET", "/v1/tasks")])
def test_without_the_token_of_a_tenant_nothing_is_answered(endpoint, headers, method, path):
    response = httpx.request(method, endpoint.url + path, headers=headers | {"A2A-Version": "1.0"}, json={})
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json() == {"error": "a bearer token is needed"}


@both
def test_what_one_tenant_has_another_cannot_reach(endpoint, binding):
    async def ask():
        alice = await client(endpoint.url, "alice", binding)
        bob = await client(endpoint.url, "bob", binding)
        watching = await client(endpoint.url, "bob", binding, streaming=True)
        running = (await task_of(alice, request({"terms": [1], "wait_s": 20}, at_once=True)))["id"]
        for call in (
            lambda: bob.get_task(GetTaskRequest(id=running)),
            lambda: bob.cancel_task(CancelTaskRequest(id=running)),
            lambda: anext(watching.subscribe(SubscribeToTaskRequest(id=running))),
            lambda: sent(bob, request({"terms": [2]}, task_id=running)),
            lambda: sent(watching, request({"terms": [2]}, task_id=running)),
            lambda: bob.get_task(GetTaskRequest(id=running, tenant="alice")),
        ):
            with pytest.raises(REFUSED, match=r"(?i)not found"):
                await call()
        listed = await bob.list_tasks(ListTasksRequest())
        assert running not in {task.id for task in listed.tasks}
        with pytest.raises(REFUSED):
            await bob.list_tasks(ListTasksRequest(tenant="alice"))
        cancelled = MessageToDict(await alice.cancel_task(CancelTaskRequest(id=running)))
        assert state(cancelled) == "canceled"
        return running

    running = asyncio.run(ask())
    assert (endpoint.state / "tasks" / "alice" / running).is_dir()
    assert not (endpoint.state / "tasks" / "bob" / running).exists()


@both
def test_a_cancelled_task_has_no_process_left(endpoint, binding):
    async def ask():
        of = await client(endpoint.url, "alice", binding)
        task = (await task_of(of, request({"terms": [1], "wait_s": 30}, at_once=True)))["id"]
        folder = endpoint.state / "tasks" / "alice" / task
        while not at_work(folder):
            await asyncio.sleep(0.05)
        await of.cancel_task(CancelTaskRequest(id=task))
        return await got(of, task), folder

    task, folder = asyncio.run(ask())
    assert state(task) == "canceled"
    assert gone(folder)
    assert not (folder / "answer.json").exists()


def at_work(folder: Path) -> list[int]:
    """Processes that work in a folder or below it."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            where = (path / "cwd").readlink()
        except OSError:
            continue
        if where.is_relative_to(folder):
            found.append(int(path.name))
    return found


def gone(folder: Path) -> bool:
    """Whether nobody works there any more; the kernel takes a moment."""
    for _ in range(100):
        if not at_work(folder):
            return True
        time.sleep(0.05)
    return False


def test_files_come_by_part_and_only_their_digest_is_shown(endpoint):
    cif = b"data_LLZO\n_cell_length_a 12.97\n" * 200
    files = [
        Part(raw=content, filename=name, media_type="text/plain")
        for name, content in (("a.cif", cif), ("b.xy", b"1 2"))
    ]
    for part in files:
        part.metadata["role"] = "sample"

    async def ask():
        return await task_of(await client(endpoint.url, "bob", "JSONRPC"), request({"terms": [1]}, *files))

    task = asyncio.run(ask())
    assert state(task) == "completed"
    home = endpoint.state / "tasks" / "bob" / task["id"] / "inputs" / "sample"
    assert (home / "a.cif").read_bytes() == cif
    shown = task["history"][0]["parts"][1]
    assert shown["text"].startswith(f"[{len(cif)} bytes, sha256 ")
    assert base64.b64encode(cif).decode() not in str(task)


SAMPLE, NUMBERS = {"role": "sample"}, {"role": "numbers"}
WHOLE = {"data": {"terms": [1]}, "metadata": NUMBERS}
BAD = {
    "missing": ([{"text": "x", "metadata": SAMPLE}], "the input numbers is missing"),
    "unknown": ([{"text": "x", "metadata": {"role": "secret"}}], 'there is no input "secret"'),
    "nameless": ([{"text": "adds"}], "the input numbers is no JSON"),
    "fetched": ([{"url": "http://127.0.0.1/x", "metadata": SAMPLE}], "addresses are not fetched"),
    "path": ([WHOLE, {"raw": "eA==", "filename": "../x", "metadata": SAMPLE}], "is no file name that is taken"),
    "no json": ([{"raw": "e3s=", "metadata": NUMBERS}], "is no JSON"),
    "twice": ([WHOLE] * 2, "is there 2 times"),
    "media": ([WHOLE, {"raw": "eA==", "mediaType": "video/mp4", "metadata": SAMPLE}], "not taken as video/mp4"),
    "agent": ([{"text": "{}", "metadata": {"role": "agent"}}], 'there is no input "agent"'),
    "recipe": ([{"data": {"factor": 9}, "metadata": {"role": "recipe"}}], 'there is no input "recipe"'),
}


@both
@pytest.mark.parametrize("name", BAD)
def test_what_is_no_request_is_refused_in_a_sentence(endpoint, binding, name):
    parts, says = BAD[name]

    async def ask():
        of = await client(endpoint.url, "bob", binding)
        asked = request({})
        del asked.message.parts[:]
        asked.message.parts.extend(ParseDict(part, Part()) for part in parts)
        before = (await of.list_tasks(ListTasksRequest())).total_size
        with pytest.raises(REFUSED, match=says):
            await sent(of, asked)
        assert (await of.list_tasks(ListTasksRequest())).total_size == before

    asyncio.run(ask())


def test_a_body_larger_than_any_message_is_not_read(endpoint):
    headers = {"Authorization": f"Bearer {TOKENS['bob']}", "A2A-Version": "1.0"}
    response = httpx.post(f"{endpoint.url}/rpc", headers=headers, content=b" " * 50_000_000)
    assert response.status_code == 413


def test_an_agent_that_dies_is_a_typed_failure(endpoint):
    async def ask():
        of = await client(endpoint.url, "bob", "HTTP+JSON")
        return await task_of(of, request({"terms": [1], "crash": True}))

    task = asyncio.run(ask())
    assert state(task) == "failed"
    assert task["status"]["message"]["parts"][1]["data"]["kind"] == "died"
    assert str(endpoint.state) not in str(task)


def test_an_input_that_the_agent_cannot_use_is_a_typed_failure(endpoint):
    async def ask():
        return await task_of(await client(endpoint.url, "bob", "JSONRPC"), request({"no": "terms"}))

    task = asyncio.run(ask())
    assert state(task) == "failed"
    assert task["status"]["message"]["parts"][1]["data"]["kind"] == "unavailable"
    assert "terms" in task["status"]["message"]["parts"][0]["text"]


def test_fifty_at_once_are_all_answered(endpoint):
    async def ask():
        of = {binding: await client(endpoint.url, "alice", binding) for binding in BINDINGS}
        asked = [task_of(of[BINDINGS[n % 2]], request({"terms": [n, 1]})) for n in range(50)]
        return await asyncio.gather(*asked)

    tasks = asyncio.run(ask())
    assert [answer(task)["sum"] for task in tasks] == [n + 1 for n in range(50)]
    assert len({task["id"] for task in tasks}) == 50


@pytest.mark.skipif(
    PROOF is None, reason="no a2a-proof 0.16 on PATH or in SOPHRON_A2A_PROOF (an environment of its own)"
)
@both
def test_the_contract_of_a_stranger_holds(endpoint, binding):
    command = [PROOF, "run", str(Path(__file__).with_name("a2a-proof.yaml")), "--transport", binding]
    environment = os.environ | {"A2A_URL": endpoint.url, "A2A_TOKEN": TOKENS["alice"]}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_log_holds_no_token_and_the_state_neither(endpoint):
    kept = [endpoint.log, *(path for path in endpoint.state.rglob("*") if path.is_file())]
    for token in TOKENS.values():
        assert not [path for path in kept if token.encode() in path.read_bytes()]


@pytest.fixture
def killed(tmp_path):
    """An endpoint of its own, to be killed."""
    build = toy_build.make(tmp_path / "build")
    served = Endpoint(package.release(build, "v1.0").folder)
    served.start()
    yield served
    served.stop()
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_a_kill_in_the_middle_loses_no_task(killed):
    async def begin():
        of = await client(killed.url, "alice", "JSONRPC")
        asked = [request({"terms": [n, 1], "wait_s": 1.0 if n else 0}, at_once=True) for n in range(8)]
        return [(await task_of(of, one))["id"] for one in asked]

    async def wait(until):
        of = await client(killed.url, "alice", "HTTP+JSON")
        for _ in range(3000):
            found = [await got(of, task) for task in tasks]
            if until([state(task) for task in found]):
                return found
            await asyncio.sleep(0.1)
        raise AssertionError([state(task) for task in found])

    tasks = asyncio.run(begin())
    asyncio.run(wait(lambda states: states.count("completed") >= 2))
    assert at_work(killed.state)
    killed.kill()
    assert gone(killed.state)
    killed.start()
    found = asyncio.run(wait(lambda states: set(states) <= {"completed", "failed", "rejected", "canceled"}))
    assert [answer(task)["sum"] for task in found] == [n + 1 for n in range(8)]
    again = [task for task in found if "taken up again" in str(task["history"])]
    assert 1 <= len(again) <= 6
    assert [len(task["artifacts"]) for task in found] == [1] * 8
