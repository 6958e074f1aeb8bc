"""The tool `literature_web`: works at Crossref (https://api.crossref.org), for agents whose grants name its host.

One host is asked, by GET, and answers are bounded plain data. `records/<step>/literature-web.jsonl` has one line a
search. A later try of the step takes its works from there, and a replay all that was answered, without asking anyone.
"""

from __future__ import annotations

import html
import json
import re
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sophron import __version__
from sophron.agents.documents.model_request import fenced
from sophron.agents.tools import literature
from sophron.agents.tools.literature import CitedWork
from sophron.agents.tools.mcp_client import McpError
from sophron.interfaces import JsonObject
from sophron.interfaces.model_backend import Tool
from sophron.records import clock, files, retry
from sophron.records.documents import load_yaml, schema, validate
from sophron.records.errors import UserError, shown
from sophron.records.retry import Pauses
from sophron.records.sanitize import escape_lines

CROSSREF_FILE = "crossref.yaml"
ROWS = 8
"""Works in one answer."""
PAUSES = Pauses(attempts=3, first_s=1.0, longest_s=10.0)
"""A service that wants a longer pause is not asked again."""
TIMEOUT_S = 20.0
"""One attempt as a whole, whatever trickles in."""
ANSWER_BYTES = 2_000_000
ABSTRACT, TITLE, NAMES = 1_500, 300, 3
_FIELDS = "DOI,title,author,issued,container-title,abstract"
_TAG = re.compile(r"<[^<>]{0,300}>")
_LEAST_PASSING = 500
LATEST = 10_000


@dataclass(frozen=True)
class Service:
    """Where works are looked up, and the address that Crossref may write to (its etiquette asks for one)."""

    url: str
    mailto: str = ""

    @property
    def host(self) -> str:
        """The one host that is asked, without its port."""
        return urlsplit(self.url).hostname or ""


@dataclass(frozen=True)
class Work:
    """One work. about: authors, year, title and where it appeared; abstract: "" where Crossref has none.

    All text is a stranger's, made plain and short. doi: in a form in which a text can cite it.
    """

    doi: str
    about: str
    abstract: str


class _TransientError(Exception):
    """A failure that may be over soon. wait_s: what the service asks for, None if it does not say."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


def service() -> Service:
    """Return Crossref or what `crossref.yaml` in the user's configuration has; UserError with file, key and remedy."""
    default = schema("crossref")["properties"]["url"]["default"]
    path = files.user_configuration() / CROSSREF_FILE
    if not path.is_file():
        return Service(default)
    document = load_yaml(path)
    validate(document, "crossref")
    return Service(document.data.get("url", default).rstrip("/"), document.data.get("mailto", ""))


def search_crossref(at: Service, query: str, sleep: Callable[[float], None] = time.sleep) -> list[Work]:
    """Return at most `ROWS` works whose bibliographic data fit `query`, as Crossref ranks them.

    sleep: how to wait, in seconds. Raises McpError with one sentence for the agent, and UserError without httpx2.
    """

    def pause(failure: _TransientError, attempt: int) -> float:
        wait_s = PAUSES.after(attempt, failure.wait_s)
        if wait_s is None:
            raise McpError(f"{at.host} {failure} (attempt {attempt} of {PAUSES.attempts}); go on without it") from None
        return wait_s

    try:
        return retry.call(lambda: _works(_fetch(at, query)), _TransientError, pause, sleep)
    except ValueError as fault:
        raise McpError(f"{at.host} gave no list of works ({shown(str(fault), 100)}); go on without it") from None


def _fetch(at: Service, query: str) -> bytes:
    """Return the body of one answer. Raises _TransientError, McpError, and ValueError for one that is too long."""
    try:
        import httpx2

        from sophron.agents.gateway.backends import http_client
    except ImportError:
        raise UserError(
            'the tool literature_web needs the package httpx2; install sophron with its extra "agents"'
        ) from None
    words: dict[str, str | int] = {"query.bibliographic": query, "rows": ROWS, "select": _FIELDS}
    words |= {"mailto": at.mailto} if at.mailto else {}
    # Not compressed: a bound on what arrives is then a bound on what is kept.
    headers = {"accept-encoding": "identity", "user-agent": f"sophron/{__version__}"}
    try:
        with (
            http_client.plain_client(TIMEOUT_S) as client,
            client.stream("GET", f"{at.url}/works", params=words, headers=headers) as response,
        ):
            _check_status(at, response.status_code, response.headers)
            body = bytearray()
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > ANSWER_BYTES:
                    raise ValueError(f"more than {ANSWER_BYTES} bytes")
            return bytes(body)
    except httpx2.TransportError as error:
        raise _TransientError(f"cannot be reached: {shown(str(error) or type(error).__name__, 100)}") from None


def _check_status(at: Service, status: int, headers: Mapping[str, str]) -> None:
    if status == 429 or status >= _LEAST_PASSING:
        wait = headers.get("retry-after", "")
        raise _TransientError(f"answered with status {status}", float(wait) if wait.isdecimal() else None)
    if status != 200:  # a redirect too: it would lead to a host that nobody granted
        raise McpError(f"{at.host} refused the search with status {status}; go on without it")


def _works(body: bytes) -> list[Work]:
    """Return the works in a body; those without a citable DOI are left out. ValueError if it is not a list."""
    try:
        items = list(json.loads(body)["message"]["items"])
    except (KeyError, TypeError, RecursionError):
        raise ValueError("another form") from None
    works = [_work(item) for item in items[:ROWS] if isinstance(item, dict)]
    return [work for work in works if literature.cited(work.doi) == [work.doi]]


def _work(item: JsonObject) -> Work:
    names = [_name(one) for one in _as_list(item.get("author")) if isinstance(one, dict)]
    people = ", ".join(name for name in names[:NAMES] if name) + (" et al." if len(names) > NAMES else "")
    head = " ".join(part for part in (people, _year(item.get("issued"))) if part)
    parts = (head, _first(item.get("title")), _first(item.get("container-title")))
    about = ", ".join(part for part in parts if part) or "no title"
    return Work(_text(item.get("DOI"), TITLE), about, _text(item.get("abstract"), ABSTRACT))


def _name(author: JsonObject) -> str:
    return _text(author.get("family") or author.get("name"), TITLE // 4)


def _year(issued: Any) -> str:
    """Return `{"date-parts": [[2008, 9, 28]]}`; of an unknown date the year is null."""
    parts = _as_list(issued.get("date-parts")) if isinstance(issued, dict) else []
    first = _as_list(parts[0]) if parts else []
    return str(first[0]) if first and isinstance(first[0], int) and 0 < first[0] < LATEST else ""


def _first(value: Any) -> str:
    return next((_text(one, TITLE) for one in _as_list(value)), "")


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any, most: int) -> str:
    """Return one line of plain text, JATS and HTML tags taken off; "" for what is no text."""
    if not isinstance(value, str):
        return ""
    return escape_lines(" ".join(html.unescape(_TAG.sub(" ", value)).split()), most)


NAME = "literature-web.jsonl"
MOST = 20
"""Searches of one try that reach the network."""
TOOL = Tool(
    "literature_web",
    f"The {ROWS} works at Crossref whose authors, title, year or journal fit `query` best. What it finds may "
    "be cited by DOI. Ask `literature` first.",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["query"],
        "properties": {"query": {"type": "string", "minLength": 3, "maxLength": 300}},
    },
)
FENCE_BYTES = 100_000
"""More than `ROWS` works have: nothing is cut here."""


class Web:
    """Searches of one try of a step.

    record: where its answers are kept. at: the service, granted; None for a replay, which is given `replayed`, the
    record that it repeats. sleep: how to wait, in seconds. The caller holds the lock of the step.
    """

    def __init__(
        self,
        record: Path,
        at: Service | None,
        *,
        replayed: Path | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._record, self._at, self._sleep = record, at, sleep
        self._earlier = files.read_json_lines(replayed or record)[0]
        self._run = uuid.uuid4().hex
        self._asked = 0
        self._found: dict[str, Work] = {}

    @property
    def found(self) -> list[CitedWork]:
        """DOI and `about` of the works that this try was given, in their order, each once."""
        return [CitedWork(work.doi, work.about) for work in self._found.values()]

    def search(self, query: str) -> str:
        """Return what the tool answers: fenced as data, one paragraph a work, its DOI first. Raises McpError."""
        query = " ".join(query.split())
        was_asked, answer = self._answer(query)
        about = {"time": clock.isoformat(), "run": self._run, "query": query, "asked": was_asked}
        files.append_json_line(self._record, {**about, **answer})
        if "failure" in answer:
            raise McpError(answer["failure"])
        works = [Work(**one) for one in answer["works"]]
        self._found |= {work.doi.lower(): work for work in works if work.doi.lower() not in self._found}
        return fenced(TOOL.name, "\n\n".join(map(_paragraph, works)) or "[no work fits]", FENCE_BYTES)

    def _answer(self, query: str) -> tuple[bool, JsonObject]:
        """Return whether the service was asked now, and `{works}` or `{failure}`."""
        if self._at is None:
            waiting = self._to_replay.get(query)
            return False, waiting.popleft() if waiting else {"failure": "no recorded answer; a replay asks nobody"}
        if query in self._kept:
            return False, self._kept[query]
        if self._asked >= MOST:
            return False, {"failure": f"{MOST} searches are all that one step has; go on with what you know"}
        self._asked += 1
        try:
            self._kept[query] = {"works": [asdict(work) for work in search_crossref(self._at, query, self._sleep)]}
        except McpError as failure:
            return True, {"failure": str(failure)}
        return True, self._kept[query]

    @cached_property
    def _kept(self) -> dict[str, JsonObject]:
        """Query -> its newest works. A failure is no answer: a later try asks again."""
        return {one["query"]: {"works": one["works"]} for one in self._earlier if "works" in one}

    @cached_property
    def _to_replay(self) -> dict[str, deque[JsonObject]]:
        """Query -> answers of the newest run that has any, failures too, in their order."""
        newest: dict[str, tuple[str, deque[JsonObject]]] = {}
        for one in self._earlier:
            query, run = one["query"], one["run"]
            if query not in newest or newest[query][0] != run:
                newest[query] = (run, deque())
            newest[query][1].append({key: one[key] for key in ("works", "failure") if key in one})
        return {query: answers for query, (_, answers) in newest.items()}


def _paragraph(work: Work) -> str:
    return f"{work.doi}: {work.about}." + (f" {work.abstract}" if work.abstract else "")
