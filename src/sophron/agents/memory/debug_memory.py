"""What `sophron run` remembers of failures, and what of it the debug agent is told at the next one.

SciFi, section 3.3: memory of a task (here: a stage of this campaign), of a group of tasks (the campaign) and global
(this user's campaigns), and a history of the stage. Before each attempt a snapshot is taken, which is an input of the
debug rule, so that what an answer rests on is in the DAG and stays.
"""

import json
from pathlib import Path

from sophron.agents.documents.answers import DebugAnswer, Overlay
from sophron.agents.memory import agent_memory
from sophron.agents.memory.agent_memory import History, Memory, Status
from sophron.interfaces import JsonObject
from sophron.records import documents
from sophron.records.digests import file_digest
from sophron.records.errors import UserError
from sophron.records.files import user_state

FOLDER = "memory"
ROLES = ("stage", "campaign", "user", "history")
_LEVELS = {"stage": "task", "campaign": "group", "user": "global"}


def _sources(root: Path, stage: str) -> dict[str, Path]:
    """Map each role to its living file."""
    folder = root / "records" / FOLDER
    living = {"stage": folder / f"{stage}.md", "campaign": folder / "campaign.md", "user": _users()}
    return living | {"history": folder / f"{stage}.history.jsonl"}


def _users() -> Path:
    return user_state() / "memory.md"


def folder(root: Path, stage: str, attempt: int) -> Path:
    """Return where the snapshot for an attempt lies."""
    return root / "records" / "failures" / f"{stage}-{attempt}.memory"


def take(root: Path, stage: str, attempt: int) -> None:
    """Take the snapshot for an attempt at a failed stage; one that is there is kept, for its answer rests on it."""
    place = folder(root, stage, attempt)
    if not (place / agent_memory.INDEX).is_file():
        agent_memory.snapshot(_sources(root, stage), place)


def snapshot_inputs(root: Path, stage: str, attempt: int) -> JsonObject:
    """Return the snapshot as the agent gets it: `{memory: text, history: records}`, without times.

    A time says nothing about a cause, and would make the same failure a different request in a replay. Raises UserError
    where the snapshot is missing or somebody edited it.
    """
    place = folder(root, stage, attempt)
    index = documents.load_json(place / agent_memory.INDEX)
    paths = {role: _whole(place / index[role]["file"], index[role]["digest"]) for role in ROLES}
    blocks = []
    for role, level in _LEVELS.items():
        entries = Memory(paths[role], level).entries()
        blocks += [f"Of this {role}:"] + [f"- {entry.by}: {entry.text}" for entry in entries] if entries else []
    records = [
        {"iteration": record.iteration, "status": record.status, "decisions": list(record.decisions)}
        for record in History(paths["history"]).read()
    ]
    return {"memory": "\n".join(blocks) or "(nothing yet)", "history": records}


def _whole(path: Path, digest: str) -> Path:
    if not path.is_file() or file_digest(path) != digest:
        raise UserError(f"{path}: is not the snapshot that was taken; move its folder away and run again: sophron run")
    return path


def note_decision(root: Path, stage: str, attempt: int, answer: DebugAnswer) -> None:
    """Keep what the debug agent decided: the history gets the decision, the stage's memory what it wants remembered."""
    living = _sources(root, stage)
    status: Status = "stopped" if answer.action == "escalate" else "started"
    decisions = [f"{answer.action}: {answer.diagnosis}"]
    if answer.overlay:
        decisions.append(_change(answer.overlay))
    History(living["history"]).append(status, by=f"debug-{stage}-{attempt}", iteration=attempt, decisions=decisions)
    for text in answer.remember:
        Memory(living["stage"], "task").add(text, by=f"debug-{stage}-{attempt}")


def note_end(root: Path, campaign: str, stage: str, attempt: int, answer: DebugAnswer, *, passed: bool) -> None:
    """Keep how an attempt ended. What cured a stage is worth knowing in the campaign and in the user's others."""
    living, by = _sources(root, stage), f"debug-{stage}-{attempt}"
    History(living["history"]).append("pass" if passed else "fail", by=by, iteration=attempt)
    if passed and answer.overlay:
        text = f"{_change(answer.overlay)} cured {stage}: {answer.diagnosis}"
        Memory(living["campaign"], "group").add(text, by=by)
        Memory(living["user"], "global").add(text, by=f"{campaign} {by}")


def _change(overlay: Overlay) -> str:
    return f"{overlay.key} = {json.dumps(overlay.value)}"
