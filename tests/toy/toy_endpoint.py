"""A served toy agent: the real server in a process of its own, and the SDK's own client over either binding."""

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver
from a2a.types import Message, Part, Role, SendMessageConfiguration, SendMessageRequest
from google.protobuf.json_format import MessageToDict, ParseDict

TOY = Path(__file__).parent
PROGRAM = "import sys; from sophron.cli import main; sys.exit(main())"
TOKENS = {"alice": "alice-" + "a" * 40, "bob": "bob-" + "b" * 40}
BINDINGS = ("JSONRPC", "HTTP+JSON")
START_S = 180.0


class Endpoint:
    """`sophron build serve` of a package, on a free port, for two tenants."""

    def __init__(self, package: Path) -> None:
        self.package = package
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.state = package.with_name(f"{package.name}.state")
        self.log = package.parent / "server.log"
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [sys.executable, "-c", PROGRAM, "build", "serve", str(self.package), "--tokens", "env"]
        path = os.pathsep.join([str(TOY), *filter(None, [os.environ.get("PYTHONPATH")])])
        pairs = " ".join(f"{name}={token}" for name, token in TOKENS.items())
        environment = os.environ | {"PYTHONPATH": path, "SOPHRON_A2A_TOKENS": pairs}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--port", str(self.port)], env=environment, stdout=log, stderr=log
            )
        end = time.monotonic() + START_S
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if httpx.get(f"{self.url}/.well-known/agent-card.json").status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.1)
        raise AssertionError(self.log.read_text())

    def kill(self) -> None:
        """The machine takes it away in the middle."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """End it in good order."""
        self.process.terminate()
        self.process.wait(30)


async def client(url: str, tenant: str, binding: str, *, streaming: bool = False):
    """The SDK's client for the endpoint at `url`, as a tenant."""
    http = httpx.AsyncClient(headers={"Authorization": f"Bearer {TOKENS[tenant]}"}, timeout=600)
    card = await A2ACardResolver(http, url).get_agent_card()
    config = ClientConfig(httpx_client=http, supported_protocol_bindings=[binding], streaming=streaming)
    return ClientFactory(config).create(card)


def request(numbers: dict, *more: Part, at_once: bool = False, **about) -> SendMessageRequest:
    """A message to the toy agent. numbers: terms, wait_s; more: parts beside; at_once: do not wait for the end."""
    parts = [ParseDict({"data": numbers, "metadata": {"role": "numbers"}}, Part()), *more]
    message = Message(message_id=uuid.uuid4().hex, role=Role.ROLE_USER, parts=parts, **about)
    configuration = SendMessageConfiguration(return_immediately=at_once)
    return SendMessageRequest(message=message, configuration=configuration)


async def sent(of, asked: SendMessageRequest) -> list[dict]:
    """All that comes back, as plain data; one event, the task, where nothing is streamed."""
    return [MessageToDict(event) async for event in of.send_message(asked)]


async def task_of(of, asked: SendMessageRequest) -> dict:
    """The task as it is when the call ends."""
    return (await sent(of, asked))[0]["task"]


async def got(of, identifier: str) -> dict:
    """A task as it is now."""
    from a2a.types import GetTaskRequest

    return MessageToDict(await of.get_task(GetTaskRequest(id=identifier)))


def state(task: dict) -> str:
    """Its state, short."""
    return task["status"]["state"].removeprefix("TASK_STATE_").lower()


def answer(task: dict) -> dict:
    """The answer of a finished task."""
    return task["artifacts"][0]["parts"][0]["data"]
