"""The audit of a step: every attempt at a model, answered or not, is one line of `records/<step>/audit.jsonl`.

status: `answered`, or the kind of the failure (`FailureKind` of a model backend); latency_s: wall seconds.
Pictures of a request stand in it by their sha256, and once each in `records/<step>/pictures/<sha256>`.
"""

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from sophron.agents.documents.model_request import by_digest, request_digest, response_data
from sophron.agents.documents.redact import Redactor
from sophron.campaign.execution import outcome_store
from sophron.interfaces import JsonObject
from sophron.interfaces.model_backend import Model, ModelError, Request, Response
from sophron.records import clock, files
from sophron.records.files import FileLock
from sophron.records.typed_json import from_json

NAME, PICTURES = "audit.jsonl", "pictures"


def path_of(root: Path, step: str) -> Path:
    """Return the audit of one step of the campaign at `root`."""
    return outcome_store.record_folder(root, step) / NAME


@dataclass(frozen=True)
class AuditLine:
    """What a replay reads of a line. run: of the process that asked; response: None if the attempt had no answer."""

    run: str
    request_digest: str
    request: JsonObject
    response: JsonObject | None


def answers(path: Path) -> list[AuditLine]:
    """Return the lines of an audit that have an answer, in their order."""
    lines = (from_json(AuditLine, record) for record in files.read_json_lines(path)[0])
    return [line for line in lines if line.response is not None]


class Audit:
    """Writes the audit of one process. run: tells its lines from those of other tries of the same step."""

    def __init__(self, root: Path, redactor: Redactor) -> None:
        self.root = root
        self.redactor = redactor
        self.run = uuid.uuid4().hex

    def answered(self, request: Request, model: Model, response: Response, latency_s: float, dollars: float) -> None:
        """Record an answer; `response` is redacted already, as the caller uses it."""
        usage = response.usage
        tokens = asdict(usage)
        about = {"status": "answered", **tokens, "dollars": round(dollars, 9), "response": response_data(response)}
        self._write(request, model, latency_s, about)

    def failed(self, request: Request, model: Model, failure: ModelError, latency_s: float) -> None:
        """Record an attempt without an answer."""
        about = {key: getattr(failure, key) for key in ("reason", "outcome", "retry_after_s", "raw")}
        status = {"status": failure.kind, "http_status": failure.status}
        self._write(request, model, latency_s, {**status, "response": None, "failure": about})

    def _write(self, request: Request, model: Model, latency_s: float, about: Mapping[str, object]) -> None:
        request_json, pictures = by_digest(request)
        record = {
            "time": clock.isoformat(),
            "run": self.run,
            "step": request.step,
            "turn": request.turn,
            "request_digest": request_digest(request),
            "provider": model.provider,
            "handle": model.handle,
            "latency_s": round(latency_s, 4),
            **self.redactor.plain(about),
            "request": self.redactor.plain(request_json),
        }
        path = path_of(self.root, request.step)
        with FileLock(path.with_suffix(".lock")):
            for name, content in pictures.items():
                if not (path.parent / PICTURES / name).is_file():
                    files.write_bytes(path.parent / PICTURES / name, content)
            files.append_json_line(path, record)
