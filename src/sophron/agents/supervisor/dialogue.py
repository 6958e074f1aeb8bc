"""A dialogue between an agent and a person: one question a turn, every turn on disk, until there is a draft.

Superscientist, A.1. It lives in a folder: `request.md` (what is wanted), `turns.json` (what was asked and answered),
`answer-<n>.json` (the agent's turns). A draft that its program refuses goes back to the agent once (`refusals.json`).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sophron.interfaces import JsonObject
from sophron.records import clock, documents, files
from sophron.records.errors import UserError
from sophron.records.files import read_text
from sophron.records.typed_json import from_json, to_json

REQUEST_NAME, TURNS_NAME, REFUSALS_NAME = "request.md", "turns.json", "refusals.json"
MOST_TURNS = 20
NO_DRAFT = "There was no draft at this turn."


@dataclass(frozen=True)
class Turn:
    """One question of the agent, by its number, and what the human answered."""

    question: int
    asked: str
    answered: str
    time: str


@dataclass(frozen=True)
class Dialogue:
    """The dialogue of `agent` below `root`, where its steps keep their records."""

    root: Path
    agent: str
    name: str

    @property
    def folder(self) -> Path:
        """Return where its turns lie."""
        return self.root / self.name

    @property
    def begun(self) -> bool:
        """Return whether somebody said what is wanted."""
        return (self.folder / REQUEST_NAME).is_file()

    def begin(self, request: str) -> None:
        """Write down what is wanted. UserError if there is another dialogue already."""
        path = self.folder / REQUEST_NAME
        if path.is_file() and read_text(path) != request:
            raise UserError(f"{path}: holds another request; move the folder {self.folder.name} away to begin anew")
        if not request.strip():
            raise UserError(f"{path}: the request is empty; say what is wanted")
        files.write_text(path, request)

    def request(self) -> str:
        """Return what is wanted. UserError if nobody said it."""
        path = self.folder / REQUEST_NAME
        if not path.is_file():
            raise UserError(f"{path}: there is no request; say what is wanted first")
        return read_text(path)

    def turns(self) -> list[Turn]:
        """Return what was asked and answered so far, oldest first."""
        path = self.folder / TURNS_NAME
        return [from_json(Turn, turn) for turn in documents.load_json(path)] if path.is_file() else []

    def add_answer(self, question: int, asked: str, answer: str) -> None:
        """Add the human's answer."""
        entry = Turn(question, asked, answer, clock.isoformat())
        files.write_json(self.folder / TURNS_NAME, to_json([*self.turns(), entry]))

    @property
    def number(self) -> int:
        """Return the number of the agent's turn that comes now, or waits for an answer."""
        return len(self.turns()) + 1

    @property
    def step(self) -> str:
        """Return the name of that turn as an agent step."""
        return f"{self.name}-{self.number}"

    def answer_path(self, number: int | None = None) -> Path:
        """Return where the answer of the agent's turn `number` belongs, by default of this one."""
        return self.folder / f"answer-{number or self.number}.json"

    def newest(self) -> JsonObject | None:
        """Return the answer of this turn, if the agent has given it."""
        path = self.answer_path()
        answer: JsonObject | None = documents.load_json(path)["answer"] if path.is_file() else None
        return answer

    def leader(self) -> str | None:
        """Return the backend that gave the newest turn; None before the first."""
        paths = (self.answer_path(number) for number in (self.number, self.number - 1) if number)
        path = next((path for path in paths if path.is_file()), None)
        return None if path is None else str(documents.load_json(path)["backend"])

    def note_refusals(self, refusals: Sequence[str], turn: JsonObject) -> bool:
        """Keep why the draft of this turn was refused, and the turn, for its agent; False if it was told before."""
        if self.refusals() != NO_DRAFT:
            return False
        note = {
            "turn": self.number,
            "refusals": list(refusals),
            "draft": {key: value for key, value in turn.items() if value},
        }
        files.write_json(self.folder / REFUSALS_NAME, note)
        return True

    def refusals(self) -> str:
        """Return this turn with its draft and why it was refused; NO_DRAFT if none was made and tried."""
        path = self.folder / REFUSALS_NAME
        content = documents.load_record(path) if path.is_file() else {}
        if content.get("turn") != self.number:
            return NO_DRAFT
        draft, said = content.get("draft"), "\n".join(f"- {fault}" for fault in content["refusals"])
        return f"{said}\n\nThe draft:\n{json.dumps(draft, ensure_ascii=False)}" if draft else said

    def state(self) -> JsonObject:
        """Return what its agent is told of it at this turn. The clock is no part of it."""
        said = [{"question": turn.question, "asked": turn.asked, "answered": turn.answered} for turn in self.turns()]
        return {"request": self.request(), "turns": said, "refusals": self.refusals()}
