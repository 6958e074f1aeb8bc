"""Tasks, and agents at them, whose turns are scripted: by the stage that a request is about, in order."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import toy
from loopback_peer import Turn

from sophron.kinds.task import task_campaign

DONE = json.dumps({"status": "done", "summary": "It is there.", "reason": ""})
MODEL = {"by_name": {name: {"backend": "anthropic"} for name in ("task-worker", "task-reviewer")}}


def shell(*lines: str) -> Turn:
    """A turn that runs lines in the shell of the task."""
    return Turn("", tools=tuple(("task_shell", {"line": line}) for line in lines))


def write(path: str, text: str) -> Turn:
    """A turn that writes a file."""
    return Turn("", tools=(("task_write", {"path": path, "text": text}),))


def impossible(reason: str) -> Turn:
    """The answer of a worker that gives up."""
    return Turn(json.dumps({"status": "impossible", "summary": "Nothing was done.", "reason": reason}))


def judged(*met: bool, reason: str = "It is so.") -> Turn:
    """The answer of a reviewer."""
    found = [
        {"sentence": number, "met": one, "evidence": "looked", "reason": reason} for number, one in enumerate(met, 1)
    ]
    return Turn(json.dumps({"judgements": found}))


class Script:
    """Turns of each worker and reviewer, by a text of their task; what was asked is kept.

    A request is known by its number of turns, so that one that is asked again gets the same turn.
    """

    def __init__(self, **turns: list[Turn]) -> None:
        self.turns = {key: list(value) for key, value in turns.items()}
        self.asked: list[dict] = []
        self._begun: dict[str, list[str]] = {}
        self._lock = threading.Lock()

    def __call__(self, body: dict) -> Turn:
        """Return the next turn of the conversation that a request is of."""
        with self._lock:
            self.asked.append(dict(body))
            text = json.dumps(body["messages"][0])
            who = "review" if 'agent \\"task-reviewer' in json.dumps(body["system"]) else "work"
            key = next(
                one
                for one in self.turns
                if f"Marker {one.removeprefix('review_')}." in text and one.startswith("review_") == (who == "review")
            )
            return self.turns[key].pop(0)

    def said(self) -> str:
        """Return all that agents were told."""
        return json.dumps(self.asked)


def markdown(folder: Path, name: str, expectation: list[str], todo: str = "Do it.", **files: str) -> Path:
    """Write a task in Markdown; `Marker <name>.` is in its text."""
    path = folder / name
    path.mkdir(parents=True)
    sentences = "\n".join(f"- {one}" for one in expectation)
    (path / "top.md").write_text(f"## To-do\n\nMarker {name}. {todo}\n\n## Expectation\n\n{sentences}\n")
    for file, text in files.items():
        (path / file.replace("__", ".")).write_text(text)
    return path


def campaign(tmp_path: Path, monkeypatch, collection: Path, **wanted: object) -> toy.Campaign:
    """Make and sign the campaign of the tasks below a folder."""
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    toy.plan_here(monkeypatch)
    root = tmp_path / "campaign"
    task_campaign.prepare(collection, root, task_campaign.Wanted(MODEL, **{"reviewer": True, **wanted}))
    made = toy.Campaign(root, toy.make_key(tmp_path / "key"))
    made.sign()
    return made


def ended(made: toy.Campaign, stage: str) -> dict:
    """Return the result of a stage."""
    return json.loads((made.root / "results" / stage / "outcome.json").read_text())["result"]


def history(made: toy.Campaign, stage: str) -> list[dict]:
    """Return the attempts of a stage."""
    return json.loads((made.root / "results" / stage / "history.json").read_text())


def start(made: toy.Campaign) -> subprocess.Popen:
    """Start Snakemake in a process of its own, to be killed."""
    command = [sys.executable, "-m", "snakemake", *toy.BASICS, "--keep-going"]
    return subprocess.Popen(
        command, cwd=made.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
