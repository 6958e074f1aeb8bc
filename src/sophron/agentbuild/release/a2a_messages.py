"""Messages of the protocol and what they mean here: parts as inputs, what is kept of a message, how a failure reads.

Imports the A2A SDK: only modules that `server` imports, when it serves, import this one.
"""

import hashlib

from a2a.server.tasks import TaskUpdater
from a2a.types import Message
from a2a.types import Part as WirePart
from google.protobuf.json_format import MessageToDict, ParseDict

from sophron.agentbuild.release import message_inputs
from sophron.agentbuild.release.message_inputs import Given, Part
from sophron.agentbuild.release.package import Package
from sophron.records.digests import canonical_bytes

LONGEST_SHOWN = 2000


def read(message: Message, package: Package) -> list[Given]:
    """Return the inputs that a message holds. Raises message_inputs.MessageError."""
    return message_inputs.read([_plain(part) for part in message.parts], package.endpoint["inputs"])


def slim(message: Message) -> Message:
    """Return a message as its task keeps it: files by name, size and digest, long text by its beginning."""
    kept = Message()
    kept.CopyFrom(message)
    for part in kept.parts:
        content = _plain(part).content
        if not part.HasField("raw") and len(content) <= LONGEST_SHOWN:
            continue
        digest = hashlib.sha256(content).hexdigest()
        part.text = f"[{len(content)} bytes, sha256 {digest}]"
        part.media_type = "text/plain"
    return kept


def failure_message(updater: TaskUpdater, kind: str, reason: str) -> Message:
    """Return how a task failed: one sentence for people, and the same with its kind for programs."""
    typed = ParseDict({"data": {"kind": kind, "reason": reason}, "mediaType": "application/json"}, WirePart())
    return updater.new_agent_message([WirePart(text=f"{reason} ({kind})"), typed])


def _plain(part: WirePart) -> Part:
    role = MessageToDict(part.metadata).get("role", "")
    return Part(role if isinstance(role, str) else "", part.filename, part.media_type, _content(part))


def _content(part: WirePart) -> bytes:
    kind = part.WhichOneof("content")
    if kind == "raw":
        return bytes(part.raw)
    if kind == "text":
        return str(part.text).encode()
    if kind == "data":
        try:
            return canonical_bytes(MessageToDict(part.data))
        except ValueError:
            raise message_inputs.MessageError("a part holds a number that JSON cannot hold; correct it") from None
    raise message_inputs.MessageError(
        "a part is neither text, data nor a file; addresses are not fetched, send the file itself"
    )
