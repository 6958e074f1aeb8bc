"""The bibliography as a tool, and the works that a text may cite.

Method notes by DOI, in our own words; a RATIONALE cites them, Layer-1 resolves it. Works from recorded web searches are
handed on as a file beside an answer, so that to resolve a citation needs no network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from sophron.agents.documents.answers import CITED_ROLE
from sophron.interfaces.model_backend import Tool
from sophron.records import documents
from sophron.records.files import resource, write_json
from sophron.records.typed_json import from_json, to_json

NOTES_NAME = "literature.yaml"
MOST = 8
"""Notes in one answer."""
TOOL = Tool(
    "literature",
    f"The {MOST} method notes of the bibliography that share most words with `query` (method, quantity, host, author "
    "or DOI), best first. What it has may be cited.",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["query"],
        "properties": {"query": {"type": "string", "minLength": 1, "maxLength": 300}},
    },
)


@dataclass(frozen=True)
class CitedWork:
    """What a text may cite: its DOI, and authors, year and title in a line."""

    doi: str
    about: str


@dataclass(frozen=True)
class Note(CitedWork):
    """One entry of the bibliography. topics: words to find it by; note: what it says for a method of ours."""

    topics: tuple[str, ...]
    note: str


DOI = re.compile(r"10\.\d{4,9}/[^\s,;\"'<>\[\]]+")


def load() -> list[Note]:
    """Return the notes; UserError if the file is not valid."""
    document = documents.load_yaml(resource("workflow", "agents", NOTES_NAME))
    documents.validate(document, "literature")
    return [from_json(Note, note) for note in document.data["notes"]]


def cited(text: str) -> list[str]:
    """Return the DOIs in a text, in order, without what closes a sentence or a parenthesis."""
    return [_trimmed(each) for each in DOI.findall(text)]


def unresolved(text: str, *known: Sequence[CitedWork]) -> list[str]:
    """Return the DOIs in a text that none of `known` has: the notes, works that a web search found."""
    dois = {work.doi.lower() for works in known for work in works}
    return [doi for doi in cited(text) if doi.lower() not in dois]


def search(query: str, notes: list[Note], most: int = MOST) -> list[Note]:
    """Return the notes that share most words with `query`, best first, in their order where equal."""
    words = set(re.findall(r"[a-z0-9-]{3,}", query.lower()))
    ranked = [(len(words & set(re.findall(r"[a-z0-9-]{3,}", str(asdict(note)).lower()))), note) for note in notes]
    return [note for score, note in sorted(ranked, key=lambda each: -each[0]) if score][:most]


def answer(query: str) -> str:
    """Return the answer of the tool: one paragraph a note, its DOI first."""
    notes = search(query, load())
    return "\n\n".join(f"{note.doi}: {note.about}. {note.note}" for note in notes) or "[no note shares a word]"


def _trimmed(doi: str) -> str:
    doi = doi.rstrip(".:")
    while doi.endswith(")") and doi.count(")") > doi.count("("):
        doi = doi[:-1].rstrip(".:")
    return doi


CITED_SCHEMA = "found-works"


def unique_works(works: Iterable[CitedWork]) -> list[CitedWork]:
    """Return the works in their order, each DOI once."""
    by_doi: dict[str, CitedWork] = {}
    for work in works:
        by_doi.setdefault(work.doi.lower(), work)
    return list(by_doi.values())


def write_cited(works: Sequence[CitedWork], folder: Path) -> Path:
    """Keep works in `folder`; UserError if they are not in the form of the schema."""
    path = folder / f"{CITED_ROLE}.json"
    documents.validate(documents.Document({"works": to_json(list(works))}, path), CITED_SCHEMA)
    write_json(path, {"works": to_json(unique_works(works))})
    return path


def read_cited(files: Mapping[str, Path]) -> list[CitedWork]:
    """Return the works beside an answer, none if there is no such file. files: of its step, by name."""
    if CITED_ROLE not in files:
        return []
    document = documents.Document(documents.load_json(files[CITED_ROLE]), files[CITED_ROLE])
    documents.validate(document, CITED_SCHEMA)
    return [from_json(CitedWork, work) for work in document.data["works"]]
