"""The projector: workflow-state.json, progress.log and init.sh, made from the events and from nothing else.

`project` is called by every step when it starts and ends, by the verbs and by the logger. It reads the events that
came since the last call and is cheap, whatever lies behind. The three files can be deleted: they come again.
"""

import json
import os
from pathlib import Path

from sophron.campaign.state import progress_log, reducer
from sophron.campaign.state.model import Record, fresh
from sophron.records import events, files
from sophron.records.file_lock import FileLock

NAME = "workflow-state.json"
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
    log, known = root / progress_log.NAME, (root / events.FILE).stat().st_size == state["projected_bytes"]
    return known and (root / "init.sh").exists() and log.exists() and log.stat().st_size >= state["log_bytes"]


def stored(root: Path) -> Record | None:
    """Return what workflow-state.json holds; None if it is absent or damaged."""
    path = root / NAME
    try:
        state = files.read_json(path) if path.exists() else None
    except ValueError:
        return None
    return state if isinstance(state, dict) and state.keys() == fresh().keys() else None


def _project(root: Path) -> Record:
    state = stored(root)
    length = (root / events.FILE).stat().st_size
    cut = state is not None and progress_log.size(root) < state["log_bytes"]
    if state is None or cut or length < state["projected_bytes"]:
        state = fresh()
    news, offset = events.read(root, state["projected_bytes"])
    if offset == state["projected_bytes"] and (root / "init.sh").exists():
        return state
    lines = [line for event in news for line in reducer.apply(state, event)]
    state["log_bytes"] = (
        progress_log.rewrite(root, lines) if cut else progress_log.extend(root, lines, state["log_bytes"])
    )
    state["projected_bytes"] = offset
    _replace(root / NAME, serialise(state))
    if any(event["event"] == "spec_loaded" for event in news) or not (root / "init.sh").exists():
        from sophron.campaign.state import init_script

        init_script.write(root, state["workflow_id"] or root.name)
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
