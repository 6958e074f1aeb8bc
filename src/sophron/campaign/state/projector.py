"""The projector: workflow-state.json, progress.log and init.sh, made from the events and from nothing else.

`project` is called by every step when it starts and ends, by the verbs and by the logger. It reads the events that
came since the last call and is cheap, whatever lies behind. The three files can be deleted: they come again.
"""

import json
import os
import shlex
import sys
from pathlib import Path

from sophron.campaign.state import reducer
from sophron.campaign.state.campaign_state import Record, fresh, plain
from sophron.records import events, files, templates
from sophron.records.files import FileLock, resource

NAME = "workflow-state.json"
LOG_NAME = "progress.log"
INIT_NAME = "init.sh"
OF_HOSTS = {"host"}
"""Fields that only the state of a host workflow's campaign has."""
LOCK = Path("records", "projector.lock")


def project(root: Path) -> Record:
    """Bring the three files of the campaign at `root` up to date with its events; the state.

    If there is no event (a copy of the three files, a campaign that nobody touched), nothing is written.
    """
    if not (root / events.FILE).exists():
        return stored(root) or fresh()
    state = stored(root)
    if state is not None and _is_current(root, state):
        return state
    with FileLock(root / LOCK):
        return _project(root)


def _is_current(root: Path, state: Record) -> bool:
    """Whether the three files are there and hold all events: then there is nothing to write and nothing to wait for."""
    log, known = root / LOG_NAME, (root / events.FILE).stat().st_size == state["projected_bytes"]
    return known and (root / INIT_NAME).exists() and log.exists() and log.stat().st_size >= state["log_bytes"]


def stored(root: Path) -> Record | None:
    """Return what workflow-state.json holds; None if it is absent or damaged."""
    path = root / NAME
    try:
        state = files.read_json(path) if path.exists() else None
    except ValueError:
        return None
    return state if isinstance(state, dict) and state.keys() - OF_HOSTS == fresh().keys() else None


def _project(root: Path) -> Record:
    state = stored(root)
    length = (root / events.FILE).stat().st_size
    cut = state is not None and log_size(root) < state["log_bytes"]
    if state is None or cut or length < state["projected_bytes"]:
        state = fresh()
    news, offset = events.read(root, state["projected_bytes"])
    if offset == state["projected_bytes"] and (root / INIT_NAME).exists():
        return state
    lines = [line for event in news for line in reducer.apply(state, event)]
    state["log_bytes"] = rewrite_log(root, lines) if cut else extend_log(root, lines, state["log_bytes"])
    state["projected_bytes"] = offset
    _replace(root / NAME, serialise(state))
    if any(event["event"] == "spec_loaded" for event in news) or not (root / INIT_NAME).exists():
        write_init(root, state["workflow_id"] or root.name)
    return state


def serialise(state: Record) -> bytes:
    """Return the state as JSON, one line a field of campaign and stage: readable, and quick at 10,000 steps."""
    fields = []
    for key, value in state.items():
        if key == "stages" and value:
            text = "[\n  {" + "\n  }, {".join(map(_stage_text, value)) + "\n  }]"
        else:
            text = json.dumps(value, allow_nan=False)
        fields.append(f" {json.dumps(key)}: {text}")
    return ("{\n" + ",\n".join(fields) + "\n}\n").encode()


def _stage_text(stage: Record) -> str:
    return ",".join(f"\n    {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in stage.items())


def _replace(path: Path, data: bytes) -> None:
    """Atomic, but not synced: it costs 8 ms a step, and after a power cut a damaged state is projected anew."""
    temporary = path.with_name(f".{path.name}.tmp")  # one writer: the lock is held
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
    temporary.replace(path)


# progress.log: no line twice and none lost, whenever a kill comes. A projector that died between the log and
# workflow-state.json leaves lines in the log that its successor derives again: it recognises them in the log's tail and
# goes on after them.


def log_size(root: Path) -> int:
    """Return the bytes of progress.log; 0 if there is none."""
    try:
        return (root / LOG_NAME).stat().st_size
    except FileNotFoundError:
        return 0


def extend_log(root: Path, lines: list[str], since: int) -> int:
    """Append those of `lines` that do not stand beyond byte `since` of the log yet; the log's new size in bytes.

    The caller holds the projector's lock. A line that somebody else put into the log stays where it is.
    """
    path = root / LOG_NAME
    if not lines:
        return log_size(root)
    with path.open("a+b", buffering=0) as stream:
        stream.seek(since)
        missing = _missing(stream.read(), [line.encode() + b"\n" for line in lines])
        if missing:
            stream.write(missing)  # opened for appending: always at the end
        return stream.seek(0, 2)


def rewrite_log(root: Path, lines: list[str]) -> int:
    """Make the log anew from all its lines, where it was cut short; its size in bytes."""
    files.write_text(root / LOG_NAME, "".join(f"{line}\n" for line in lines))
    return log_size(root)


def _missing(tail: bytes, lines: list[bytes]) -> bytes:
    """What to append to a log that ends in `tail`, so that it holds `lines` in their order."""
    found = 0
    for present in tail.splitlines(keepends=True):
        if found < len(lines) and present == lines[found]:
            found += 1
    torn = tail[tail.rfind(b"\n") + 1 :]
    if torn and found < len(lines) and lines[found].startswith(torn):
        return lines[found][len(torn) :] + b"".join(lines[found + 1 :])
    return (b"\n" if torn and found < len(lines) else b"") + b"".join(lines[found:])


# init.sh: what a fresh shell needs to go on (Superscientist, appendix B.3)


def render_init(campaign: str, prefix: str) -> str:
    """Return the script for the Python installation at `prefix`."""
    path = resource("campaign", "templates", "init.sh.j2")
    return templates.render(path, campaign=plain(campaign), prefix=shlex.quote(prefix))


def write_init(root: Path, campaign: str) -> None:
    """Put init.sh into the campaign, for the Python that runs now; an equal one is left alone."""
    path, text = root / INIT_NAME, render_init(campaign, sys.prefix)
    if not path.exists() or files.read_bytes(path) != text.encode():
        files.write_text(path, text)
        path.chmod(path.stat().st_mode | 0o111)
