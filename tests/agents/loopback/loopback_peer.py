"""What both loopback services share: the script of faults, the log of what was asked, a server on a free port."""

import json
import random
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FAULTS = (
    "limited",  # 429 with retry-after
    "overloaded",  # 529
    "server",  # 500
    "timeout",  # never answers
    "cut",  # the connection ends in the middle
    "malformed",  # 200 with what is no JSON
    "wrong_shape",  # 200 with JSON of something else
    "refusal",
    "overlong",  # ended by the bound on tokens
    "bad_arguments",  # a tool call whose arguments are no JSON object
)
"""Both services know these."""
STATUS = {"limited": 429, "overloaded": 529, "server": 500}
LOST = FAULTS[:7]
"""After these there is no answer; the others are answers."""


@dataclass(frozen=True)
class Turn:
    """What the service does with one request.

    fault: "" for a good answer, one of FAULTS, an HTTP status as text ("401"), `trickle` (signs of life for ever, no
    answer), and in a stream of Anthropic's `early_end`, `event_error`, `wrong_event`. tools: (name, arguments) that it
    asks for; headers, says: what an error carries; thinking: what the model of Anthropic's thinks before it answers;
    latency_s: how long it takes.
    """

    text: str = '{"ok": true}'
    fault: str = ""
    tools: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    says: str = "scripted"
    thinking: str = ""
    latency_s: float = 0.0


Script = Callable[[Mapping[str, Any]], Turn]


def queue(*turns: Turn, then: Turn | None = None) -> Script:
    """These turns in their order, then good answers (or `then`) for ever."""
    left = list(turns)
    return lambda body: left.pop(0) if left else then or Turn()


def seeded(seed: int, rate: float, faults: Sequence[str] = LOST, text: str = '{"ok": true}') -> Script:
    """At random, but the same with the same seed: a fault with probability `rate`, else `text`."""
    dice = random.Random(seed)
    return lambda body: Turn(text, dice.choice(faults) if dice.random() < rate else "")


@dataclass
class Seen:
    """One request as the service saw it. answered: whether a whole answer (of any kind) is written for it.

    usage: (input, output) tokens that the service counted and would bill; a fault that ends a call in the middle has
    them too, since the work was done.
    """

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    fault: str
    answered: bool = False
    usage: tuple[int, int] = (0, 0)


def tokens(value: Any) -> int:
    """What this service calls tokens: four bytes of JSON each."""
    return -(-len(json.dumps(value).encode()) // 4)


class Peer(ThreadingHTTPServer):
    """A service under test. `seen` is its log; `url` its address."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, handler: type[BaseHTTPRequestHandler], script: Script) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.seen: list[Seen] = []
        self.prefixes: set[str] = set()
        self.ending = threading.Event()
        self._script = script
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def turn(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> tuple[Turn, Seen]:
        """The next turn of the script, logged."""
        with self._lock:
            turn = self._script(body)
            seen = Seen(path, {name.lower(): value for name, value in headers.items()}, body, turn.fault)
            self.seen.append(seen)
        return turn, seen

    def asked(self, path_end: str) -> list[Seen]:
        """What was asked at paths that end so."""
        return [seen for seen in self.seen if seen.path.endswith(path_end)]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no error of the service."""


class Handler(BaseHTTPRequestHandler, ABC):
    """One connection. A service derives from it and says what it refuses and how its answers look."""

    protocol_version = "HTTP/1.1"
    server: Peer

    def log_message(self, *args: Any) -> None:
        """Keep quiet: the log is `Peer.seen`."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        refused = self.refused(body)
        if refused is not None:
            self.error(*refused)
        elif not self.beside(body):
            self._play(body)

    @abstractmethod
    def refused(self, body: Mapping[str, Any]) -> tuple[int, str] | None:
        """Status and reason for a request that the real service refuses too."""

    def beside(self, body: Mapping[str, Any]) -> bool:
        """Whether this was a request beside the script, now answered."""
        return False

    @abstractmethod
    def error(self, status: int, says: str, headers: Mapping[str, str] = {}) -> None:
        """Answer with an error in the service's own form."""

    @abstractmethod
    def answer(self, body: Mapping[str, Any], turn: Turn, seen: Seen) -> None:
        """Answer in the service's own form, as far as the turn's fault lets it."""

    def _play(self, body: Mapping[str, Any]) -> None:
        turn, seen = self.server.turn(self.path, dict(self.headers), body)
        time.sleep(turn.latency_s)
        if turn.fault in STATUS or turn.fault.isdigit():
            self.error(STATUS.get(turn.fault) or int(turn.fault), turn.says, turn.headers)
        elif turn.fault == "timeout":
            self.server.ending.wait(60)
            self.close_connection = True
        else:
            self.answer(body, turn, seen)

    def key(self) -> str:
        return self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ")

    def send(self, status: int, body: bytes, kind: str = "application/json", headers: Mapping[str, str] = {}) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def send_json(self, status: int, value: Any, headers: Mapping[str, str] = {}) -> None:
        self.send(status, json.dumps(value).encode(), headers=headers)

    def tear(self, status: int, body: bytes) -> None:
        """Promise a whole body, write half of it, and hang up."""
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2])
        self.hang_up()

    def hang_up(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def begin_chunks(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def chunk(self, data: bytes) -> None:
        """One piece of a streamed body; an empty one ends it."""
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


@contextmanager
def serving(handler: type[Handler], script: Script) -> Iterator[Peer]:
    """The service in threads of this process, on a port that the system has chosen."""
    peer = Peer(handler, script)
    thread = threading.Thread(target=peer.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield peer
    finally:
        peer.ending.set()
        peer.shutdown()
        peer.server_close()
        thread.join()
