"""Works from recorded web searches that an agent was given or told of: a file beside its answer, which has its digest.

What an agent cites may rest on them. They are handed on as files, so that to resolve a citation needs no network.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sophron.agents.tools.literature import CitedWork
from sophron.records import documents
from sophron.records.files import write_json
from sophron.records.typed_json import from_json, to_json

ROLE = "found_works"
"""Input by which an agent is told of works that others found; name of the file beside an answer, too."""
SCHEMA = "found-works"


def once(works: Iterable[CitedWork]) -> list[CitedWork]:
    """The works in their order, each DOI once."""
    by_doi: dict[str, CitedWork] = {}
    for work in works:
        by_doi.setdefault(work.doi.lower(), work)
    return list(by_doi.values())


def write(works: Sequence[CitedWork], folder: Path) -> Path:
    """Keep works in `folder`; UserError where they are not in the form of the schema."""
    path = folder / f"{ROLE}.json"
    documents.validate(documents.Document({"works": to_json(list(works))}, path), SCHEMA)
    write_json(path, {"works": to_json(once(works))})
    return path


def read(files: Mapping[str, Path]) -> list[CitedWork]:
    """The works beside an answer, none where there is no such file. files: of its step, by name."""
    if ROLE not in files:
        return []
    document = documents.Document(documents.load_json(files[ROLE]), files[ROLE])
    documents.validate(document, SCHEMA)
    return [from_json(CitedWork, work) for work in document.data["works"]]
