"""Works from recorded web searches that an agent was given or told of: a file beside its answer, which has its digest.

What an agent cites may rest on them. They are handed on as files, so that to resolve a citation needs no network.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sophron.records import atomic, documents

ROLE = "found_works"
"""Input by which an agent is told of works that others found; name of the file beside an answer, too."""
SCHEMA = "found-works"
Work = Mapping[str, str]
"""`doi` and `about`."""


def once(works: Iterable[Work]) -> list[Work]:
    """The works in their order, each DOI once."""
    found: dict[str, Work] = {}
    for work in works:
        found.setdefault(work["doi"].lower(), work)
    return list(found.values())


def write(works: Sequence[Work], folder: Path) -> Path:
    """Keep works in `folder`; UserError where they are not in the form of the schema."""
    path = folder / f"{ROLE}.json"
    documents.validate(documents.Document({"works": list(works)}, path), SCHEMA)
    atomic.write_json(path, {"works": once(works)})
    return path


def read(files: Mapping[str, Path]) -> list[Work]:
    """The works beside an answer, none where there is no such file. files: of its step, by name."""
    if ROLE not in files:
        return []
    document = documents.Document(documents.load_json(files[ROLE]), files[ROLE])
    documents.validate(document, SCHEMA)
    works: list[Work] = document.data["works"]
    return works
