"""The mailbox: requests as files, and answers as files that a person or another program writes.

`mailbox/<id>/request.json` and `request.md` hold the request, `answer.json` the answer: one JSON object that fits the
request's schema. The id comes from the request alone, so a step that is started again finds the answer that was
written meanwhile.
"""

from pathlib import Path
from typing import Any, NamedTuple

from sophron.agents.documents.answers import parsed
from sophron.agents.documents.model_request import readable, request_data, request_digest
from sophron.agents.documents.redact import Redactor
from sophron.interfaces.model_backend import Request
from sophron.records.documents import load_json
from sophron.records.errors import UserError, shown
from sophron.records.files import write_json, write_text

FOLDER = "mailbox"
REQUEST = "request.json"
READABLE = "request.md"
ANSWER = "answer.json"


class Entry(NamedTuple):
    """One request in the mailbox. folder: where it lies."""

    id: str
    folder: Path

    @property
    def request(self) -> Any:
        """The request as plain data."""
        return load_json(self.folder / REQUEST)

    @property
    def answered(self) -> bool:
        """Whether an answer lies there."""
        return (self.folder / ANSWER).is_file()


def post(root: Path, request: Request, redactor: Redactor) -> Entry:
    """Put a request into the mailbox of the campaign at `root`, unless it is there."""
    entry = _entry(root, f"{request.step}-{request.turn}-{request_digest(request)[:12]}")
    if not (entry.folder / REQUEST).is_file():
        data = redactor.plain(request_data(request))
        write_text(entry.folder / READABLE, "\n".join(readable(data)) + "\n")
        write_json(entry.folder / REQUEST, data)
    return entry


def entries(root: Path) -> list[Entry]:
    """Return all requests, sorted by id."""
    return [_entry(root, path.parent.name) for path in sorted((root / FOLDER).glob(f"*/{REQUEST}"))]


def find(root: Path, name: str) -> Entry:
    """Return the request with this id, or the only one that begins so; UserError if there is none."""
    known = entries(root)
    matches = [entry for entry in known if entry.id == name] or [entry for entry in known if entry.id.startswith(name)]
    if len(matches) == 1:
        return matches[0]
    what = "several requests begin" if matches else "no request begins"
    raise UserError(f'{root / FOLDER}: {what} with "{shown(name)}"; see: sophron mailbox list {root}')


def answer(entry: Entry, text: str) -> None:
    """Put `text` as the answer; UserError with the first fault if it does not fit, and nothing is written."""
    value, fault = checked(entry.request["schema"], text)
    if fault:
        raise UserError(f"the answer to {entry.id} is not valid: {fault}; correct it and give it again")
    write_json(entry.folder / ANSWER, value)


def checked(schema: Any, text: str) -> tuple[Any, str | None]:
    """Return the answer in `text`, and the first thing that speaks against it."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    value, faults = parsed(text)
    if faults:
        return value, faults[0]
    worst = best_match(Draft202012Validator(schema).iter_errors(value))
    return value, None if worst is None else f"{worst.json_path}: {shown(worst.message, 300)}"


def set_aside(entry: Entry, reason: str) -> Path:
    """Move an answer that does not fit out of the way, with the reason beside it; its new place."""
    number = 1 + sum(1 for _ in entry.folder.glob("answer.invalid-*.json"))
    aside = entry.folder / f"answer.invalid-{number}.json"
    write_text(aside.with_suffix(".txt"), reason + "\n")
    (entry.folder / ANSWER).rename(aside)
    return aside


def withdraw(root: Path, step: str) -> int:
    """Set the answers that a step was given aside, so that its next try waits for new ones; how many there were."""
    answers = [entry for entry in entries(root) if entry.answered and entry.request["step"] == step]
    for entry in answers:
        number = 1 + sum(1 for _ in entry.folder.glob("answer.withdrawn-*.json"))
        (entry.folder / ANSWER).rename(entry.folder / f"answer.withdrawn-{number}.json")
    return len(answers)


def _entry(root: Path, name: str) -> Entry:
    return Entry(name, root / FOLDER / name)
