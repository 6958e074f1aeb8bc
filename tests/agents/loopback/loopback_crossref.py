"""A loopback service that answers in the form of Crossref's REST API: `GET /works` with a query, and its faults."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from loopback_peer import Handler, Peer, Script, Seen, Turn, queue, serving

MBAR = {
    "DOI": "10.1063/1.2978177",
    "title": ["Statistically optimal analysis of samples from multiple equilibrium states"],
    "author": [{"given": "Michael R.", "family": "Shirts"}, {"given": "John D.", "family": "Chodera"}],
    "issued": {"date-parts": [[2008, 9, 28]]},
    "container-title": ["The Journal of Chemical Physics"],
    "abstract": "<jats:p>We present a new estimator, the <jats:italic>multistate</jats:italic> ratio.</jats:p>",
}


def work(doi: str, title: str = "A work of this test", **more: Any) -> dict[str, Any]:
    """An item as Crossref gives it, of a work that this test made up."""
    return {"DOI": doi, "title": [title], "issued": {"date-parts": [[None]]}, **more}


def serve_crossref(
    items: Sequence[Mapping[str, Any]] = (MBAR,), script: Script | None = None
) -> AbstractContextManager[Peer]:
    """The service: it finds all of `items`, whatever is asked, unless the script has a fault. `seen` has the queries."""
    return serving(type("Works", (_Works,), {"items": list(items)}), script or queue())


class _Works(Handler):
    items: Sequence[Mapping[str, Any]] = ()

    def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
        asked = urlsplit(self.path)
        self.path = asked.path
        self._play({name: value for name, (value,) in parse_qs(asked.query, strict_parsing=True).items()})

    def refused(self, body: Mapping[str, Any]) -> tuple[int, str] | None:
        return None if self.path == "/works" and "query.bibliographic" in body else (404, "Resource not found.")

    def error(self, status: int, says: str, headers: Mapping[str, str] = {}) -> None:
        self.send(status, says.encode(), "text/plain", headers)

    def answer(self, body: Mapping[str, Any], turn: Turn, seen: Seen) -> None:
        if refused := self.refused(body):
            return self.error(*refused)
        found = self.items[: int(body["rows"])]
        kept = [{key: item[key] for key in body["select"].split(",") if key in item} for item in found]
        message = {"facets": {}, "total-results": len(self.items), "items": kept, "items-per-page": int(body["rows"])}
        whole = {"status": "ok", "message-type": "work-list", "message-version": "1.0.0", "message": message}
        if turn.fault == "malformed":
            return self.send(200, b'{"status": "ok", "mess')
        if turn.fault == "wrong_shape":
            return self.send_json(
                200, {"status": "ok", "message": {"items": {"DOI": 1}}} if turn.says == "items" else [1]
            )
        if turn.fault == "cut":
            return self.tear(200, b"x" * 1000)
        if turn.fault == "trickle":
            self.begin_chunks("application/json")
            while not self.server.ending.wait(0.02):
                self.chunk(b" ")
        if turn.fault == "overlong":
            return self.send(200, b" " * 3_000_000)
        seen.answered = True
        return self.send_json(200, whole)
