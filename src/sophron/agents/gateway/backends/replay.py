"""The backend `replay`: exact answers from the audits of a finished campaign; it reaches nobody and costs nothing."""

import os
from collections import deque
from dataclasses import replace
from difflib import SequenceMatcher, unified_diff
from pathlib import Path

from sophron.agents.documents.model_request import INTRODUCTION, by_digest, readable, request_digest, response_of
from sophron.agents.gateway import audit
from sophron.agents.gateway.audit import path_of
from sophron.interfaces import JsonObject
from sophron.interfaces.model_backend import CampaignBackend, Model, ModelError, Request, Response
from sophron.records import old_names

LONGEST_DIFFERENCE = 12  # lines
LONGEST_LINE = 160


class Replay(CampaignBackend):
    """Answers by step and request digest, first in first out; the Response says who gave it at first.

    The audits are those of the campaign that the variable `model.base_url_env` names, else of this one.
    """

    name = "replay"

    def __init__(self) -> None:
        self._answers: dict[str, dict[str, deque[JsonObject]]] = {}

    def missing(self, model: Model) -> str | None:
        """Return one sentence if there is no campaign to replay."""
        source = source_of(self.root, model)
        return None if (source / "records").is_dir() else f"{source}: holds no records of a campaign to replay"

    def count(self, request: Request, model: Model) -> int:
        """Return zero: nobody reads the request."""
        del request, model
        return 0

    def complete(self, request: Request, model: Model) -> Response:
        """Return the recorded answer; ModelError `absent` shows the nearest recorded request and the difference."""
        source = source_of(self.root, model)
        path = path_of(source, request.step)
        if request.step not in self._answers:
            self._answers[request.step] = _answers(path)
        recorded = self._answers[request.step]
        waiting = recorded.get(request_digest(request), recorded.get(request_digest(_before(request, path))))
        if not waiting:
            raise ModelError("absent", _miss(path, request, used=waiting is not None), outcome="none")
        return response_of(waiting.popleft())


def _before(request: Request, path: Path) -> Request:
    """Return the request as recorded, if its step or agent had another name then. path: of the recorded audit."""
    agent = old_names.AGENTS.get(request.agent, request.agent)
    system = request.system.replace(INTRODUCTION.format(request.agent), INTRODUCTION.format(agent), 1)
    return replace(request, step=path.parent.name, agent=agent, system=system)


def source_of(root: Path, model: Model) -> Path:
    """Return the campaign whose records a replay in `root` repeats."""
    return Path(os.environ.get(model.base_url_env) or root)


def _answers(path: Path) -> dict[str, deque[JsonObject]]:
    """Map request digests to answers of the newest run that has any: what an earlier, killed try got was never used."""
    newest: dict[str, tuple[str, deque[JsonObject]]] = {}
    for line in audit.answers(path):
        if line.request_digest not in newest or newest[line.request_digest][0] != line.run:
            newest[line.request_digest] = (line.run, deque())
        newest[line.request_digest][1].append(line.response or {})
    return {digest: answers for digest, (_, answers) in newest.items()}


def _miss(path: Path, request: Request, *, used: bool) -> str:
    if used:
        return f"{path}: every recorded answer to turn {request.turn} is used up; nothing was asked"
    recorded = [line.request for line in audit.answers(path)]
    if not recorded:
        return f"{path}: holds no answer for the step {request.step}; run the campaign with a model first"
    request_json, _ = by_digest(request)
    lines = list(readable(request_json))
    nearest = max(
        (
            (one["turn"] == request.turn, SequenceMatcher(None, list(readable(one)), lines).ratio(), -index, one)
            for index, one in enumerate(recorded)
        ),
    )[-1]
    difference = [line[:LONGEST_LINE] for line in _difference(nearest, request_json)]
    more = (
        "" if len(difference) <= LONGEST_DIFFERENCE else f"\n({len(difference) - LONGEST_DIFFERENCE} more lines differ)"
    )
    return (
        f"{path}: holds no answer to this request; the nearest recorded one is turn {nearest['turn']}, which differs "
        "in:\n" + "\n".join(difference[:LONGEST_DIFFERENCE]) + more
    )


def _difference(recorded: JsonObject, asked: JsonObject) -> list[str]:
    """Return lines that differ, without their neighbours; where the texts agree, the fields that do not."""
    diff = list(unified_diff(list(readable(recorded)), list(readable(asked)), "recorded", "asked", n=0, lineterm=""))
    return diff or [f"{key} differs" for key in asked if asked[key] != recorded.get(key)]
