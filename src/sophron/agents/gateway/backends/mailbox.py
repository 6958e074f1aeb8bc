"""The backend `mailbox`: a request is a file, its answer is a file that a person or another program writes."""

import json
import os
import time

from sophron.agents.documents.redact import Redactor
from sophron.agents.gateway import mailbox_folder
from sophron.agents.gateway.backends.token_estimate import tokens_at_most
from sophron.interfaces.model_backend import CampaignBackend, Model, ModelError, Request, Response, Text, Usage
from sophron.records import files

FIRST_LOOK_S = 0.05
LONGEST_LOOK_S = 2.0
SETTLED_S = 2.0  # an answer that is no JSON yet may be half written; after so long it is wrong


class Mailbox(CampaignBackend):
    """Waits for an answer, `model.timeout_s` at most; the request stays, and the next try finds a later answer."""

    name = "mailbox"

    def missing(self, model: Model) -> str | None:
        """Return one sentence if there is no campaign to keep the mailbox in."""
        del model
        return None if self.root.is_dir() else f"{self.root}: is no folder; name that of the campaign"

    def count(self, request: Request, model: Model) -> int:
        """Return an upper bound: whoever answers may be a model."""
        del model
        return tokens_at_most(request)

    def complete(self, request: Request, model: Model) -> Response:
        """Return the answer; ModelError `timeout` says how to give it."""
        entry = mailbox_folder.post(self.root, request, Redactor())
        until = time.monotonic() + model.timeout_s
        look = FIRST_LOOK_S
        while (text := self._answer(entry, request)) is None:
            if time.monotonic() >= until:
                raise ModelError(
                    "timeout",
                    f"nobody answered within {model.timeout_s:.0f} s; read {entry.folder / mailbox_folder.READABLE}, "
                    f"answer with: sophron mailbox answer {entry.id} FILE {self.root}, and run again",
                    outcome="none",
                )
            time.sleep(min(look, max(0.0, until - time.monotonic())))
            look = min(2 * look, LONGEST_LOOK_S)
        usage = Usage(self.count(request, model), len(text.encode("utf-8", "replace")))
        return Response((Text(text),), "end", usage, self.name, model.name)

    def _answer(self, entry: mailbox_folder.Entry, request: Request) -> str | None:
        """Return the answer as text, or None if there is none that fits; one that does not is moved aside."""
        path = entry.folder / mailbox_folder.ANSWER
        if not entry.answered:
            return None
        with files.opened(path) as stream:  # never waits, whatever lies there by now
            modified = os.fstat(stream.fileno()).st_mtime
            text = stream.read().decode(errors="replace")
        value, fault = mailbox_folder.checked(request.schema, text)
        if fault is None:
            return json.dumps(value, ensure_ascii=False, sort_keys=True)
        if value is not None or abs(time.time() - modified) > SETTLED_S:
            mailbox_folder.set_aside(entry, fault)
        return None
