"""The Specify dialogue: one question a turn, every turn on disk, until there is a draft of campaign.yaml or a refusal.

Superscientist, A.1. The dialogue lives in `design/`: `request.md` (what the scientist wants), `turns.json` (what was
asked and answered), `answer-<n>.json` (the agent's turns). It ends in a draft and a spoken approval, which is kept
beside the signed one and replaces it nowhere.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sophron.campaign.scaffold import kind_catalogue
from sophron.interfaces import JsonObject
from sophron.interfaces.engine import Engine
from sophron.interfaces.kind import EnvironmentFailure
from sophron.records import clock, documents, entry_points, files
from sophron.records.errors import UserError
from sophron.records.files import read_text
from sophron.records.typed_json import from_json, to_json

REFUSALS_NAME = "refusals.json"
FOLDER, REQUEST_NAME, TURNS_NAME, SPOKEN_NAME = "design", "request.md", "turns.json", "spoken-approval.json"
MOST_TURNS = 20
STYLE_KEYS = ("pair_style", "compute")
NO_DRAFT = "There was no draft at this turn."
NO_KIND_IS_NEAR = "None shares words with the request. Ask for the quantity, or look up the kind that you think of."


@dataclass(frozen=True)
class Turn:
    """One question of the agent, by its number, and what the human answered."""

    question: int
    asked: str
    answered: str
    time: str


def begin(root: Path, request: str) -> None:
    """Write down what is wanted. UserError if there is another dialogue already."""
    path = root / FOLDER / REQUEST_NAME
    if path.is_file() and read_text(path) != request:
        raise UserError(f"{path}: holds another request; move the folder {FOLDER} away to begin anew")
    if not request.strip():
        raise UserError(f"{path}: the request is empty; say what is to be computed")
    files.write_text(path, request)


def turns(root: Path) -> list[Turn]:
    """Return what was asked and answered so far, oldest first."""
    path = root / FOLDER / TURNS_NAME
    return [from_json(Turn, turn) for turn in documents.load_json(path)] if path.is_file() else []


def add_answer(root: Path, question: int, asked: str, answer: str) -> None:
    """Add the human's answer to the dialogue."""
    entry = Turn(question, asked, answer, clock.isoformat())
    files.write_json(root / FOLDER / TURNS_NAME, to_json([*turns(root), entry]))


def note_refusals(root: Path, refusals: Sequence[str], draft: JsonObject) -> bool:
    """Keep why the draft of this turn could not be signed, for its agent; False if it was told before."""
    turn = len(turns(root)) + 1
    if _refusals(root):
        return False
    files.write_json(root / FOLDER / REFUSALS_NAME, {"turn": turn, "refusals": list(refusals), "draft": dict(draft)})
    return True


def _refusals(root: Path) -> str:
    """Return the draft of this turn and why it could not be signed; empty if none was made and tried."""
    path = root / FOLDER / REFUSALS_NAME
    content = documents.load_record(path) if path.is_file() else {}
    if content.get("turn") != len(turns(root)) + 1:
        return ""
    faults, draft = content["refusals"], content.get("draft")
    said = "\n".join(f"- {fault}" for fault in faults)
    return f"{said}\n\nThe draft:\n{json.dumps(draft, ensure_ascii=False)}" if draft else said


def inputs(root: Path) -> JsonObject:
    """Return what the design agent is told at its next turn. The clock is no part of it."""
    path = root / FOLDER / REQUEST_NAME
    if not path.is_file():
        raise UserError(f"{path}: there is no request; begin with: sophron design {root} --from FILE")
    dialogue = [{"question": turn.question, "asked": turn.asked, "answered": turn.answered} for turn in turns(root)]
    return {
        **_constants(root, read_text(path), [turn.answered for turn in turns(root)]),
        "request": read_text(path),
        "turns": dialogue,
        "refusals": _refusals(root) or NO_DRAFT,
    }


def _constants(root: Path, request: str, answers: Sequence[str]) -> JsonObject:
    """Return what is the same at each turn. A request chooses the nearest kinds; answers do if it names none."""
    near = kind_catalogue.nearest(request) or kind_catalogue.nearest(" ".join(answers))
    return {
        "kinds": kind_catalogue.kind_lines(),
        "spec": kind_catalogue.spec_text(),
        "nearest": "\n\n".join(kind_catalogue.kind_text(name, request) for name in near) or NO_KIND_IS_NEAR,
        "pitfalls": kind_catalogue.pitfall_lines(root, near) or "none",
        "machine": "\n".join(map(_installed, kind_catalogue.engines(near))) or "Nothing is known.",
    }


def _installed(engine_name: str) -> str:
    engine: Engine = entry_points.load("sophron.engines", engine_name)
    try:
        return f"{engine.title}: {engine.installed() or 'nothing is known'}"
    except EnvironmentFailure as failure:
        return f"{engine.title}: not on this machine ({failure.reason})"


def engine_faults(draft: JsonObject) -> list[str]:
    """Return what a drafted spec wants and the engine of this machine lacks, a sentence each."""
    kind, styles = str(draft.get("kind")), list(dict.fromkeys(_styles(draft)))
    faults = []
    for name in kind_catalogue.engines([kind] if kind in entry_points.names("sophron.kinds") else []):
        engine: Engine = entry_points.load("sophron.engines", name)
        with suppress(EnvironmentFailure):
            faults += [f"{engine.title} on this machine has no style {style}" for style in engine.lacks(styles)]
    return faults


def _styles(data: Any) -> Iterator[str]:
    """Yield the engine's styles that a spec names, under whichever key they stand."""
    if isinstance(data, Mapping):
        yield from (str(data[key]) for key in STYLE_KEYS if key in data)
    inner = data.values() if isinstance(data, Mapping) else data if isinstance(data, list) else ()
    for part in inner:
        yield from _styles(part)


def answer_path(root: Path, number: int) -> Path:
    """Return where the answer of the agent's turn `number` belongs."""
    return root / FOLDER / f"answer-{number}.json"


def has_draft(root: Path) -> bool:
    """Return whether the newest turn is a draft, so that nothing is asked."""
    path = answer_path(root, len(turns(root)) + 1)
    return path.is_file() and documents.load_json(path)["answer"]["status"] == "draft"


def leader(root: Path) -> str | None:
    """Return the backend that gave the newest turn; None before the first."""
    number = len(turns(root)) + 1
    path = next((path for path in map(partial(answer_path, root), (number, number - 1)) if path.is_file()), None)
    return None if path is None else str(documents.load_json(path)["backend"])


def keep_spoken_approval(root: Path, words: str, draft: JsonObject) -> Path:
    """Keep what the human said to the draft, with the draft it was said to; where it is kept."""
    path = root / FOLDER / SPOKEN_NAME
    files.write_json(path, {"said": words, "time": clock.isoformat(), "draft": dict(draft)})
    return path
