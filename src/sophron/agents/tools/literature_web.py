"""The tool `literature_web`: works at Crossref, for an agent whose signed grants name its host; answers are recorded.

`records/<step>/literature-web.jsonl` has one line a search. A later try of the step takes its works from there, and a
replay all that was answered, without asking anyone.
"""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

from sophron.agents.documents.prompt import fenced
from sophron.agents.tools import crossref
from sophron.agents.tools.crossref import Service, Work
from sophron.agents.tools.literature import CitedWork
from sophron.agents.tools.mcp_client import McpError
from sophron.interfaces import JsonObject
from sophron.interfaces.model_backend import Tool
from sophron.records import clock, files

NAME = "literature-web.jsonl"
MOST = 20
"""Searches of one try that reach the network."""
TOOL = Tool(
    "literature_web",
    f"The {crossref.ROWS} works at Crossref whose authors, title, year or journal fit `query` best. What it finds may "
    "be cited by DOI. Ask `literature` first.",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["query"],
        "properties": {"query": {"type": "string", "minLength": 3, "maxLength": 300}},
    },
)
FENCE_BYTES = 100_000
"""More than `crossref.ROWS` works have: nothing is cut here."""


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
        """What the tool answers: fenced as data, one paragraph a work, its DOI first. Raises McpError."""
        query = " ".join(query.split())
        asked, answer = self._answer(query)
        about = {"time": clock.isoformat(), "run": self._run, "query": query, "asked": asked}
        files.append_json_line(self._record, {**about, **answer})
        if "failure" in answer:
            raise McpError(answer["failure"])
        works = [Work(**one) for one in answer["works"]]
        self._found |= {work.doi.lower(): work for work in works if work.doi.lower() not in self._found}
        return fenced(TOOL.name, "\n\n".join(map(_paragraph, works)) or "[no work fits]", FENCE_BYTES)

    def _answer(self, query: str) -> tuple[bool, JsonObject]:
        """Whether the service was asked now, and `{works}` or `{failure}`."""
        if self._at is None:
            waiting = self._to_replay.get(query)
            return False, waiting.popleft() if waiting else {"failure": "no recorded answer; a replay asks nobody"}
        if query in self._kept:
            return False, self._kept[query]
        if self._asked >= MOST:
            return False, {"failure": f"{MOST} searches are all that one step has; go on with what you know"}
        self._asked += 1
        try:
            self._kept[query] = {"works": [asdict(work) for work in crossref.search(self._at, query, self._sleep)]}
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
