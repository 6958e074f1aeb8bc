"""Passages of the documentation, ranked against a question by BM25 (the full-text index of SQLite, in memory)."""

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sophron.records.files import resource

TABLE = "CREATE VIRTUAL TABLE passages USING fts5(page, heading, text, tokenize='porter unicode61')"
RANKED = """
SELECT page, heading, text FROM passages WHERE passages MATCH ? ORDER BY bm25(passages, 2.0, 4.0, 1.0) LIMIT ?
"""


@dataclass(frozen=True)
class Passage:
    """A stretch of a page. page: its path, as in `docs/how-to/slurm.md`; heading: its own and those above it."""

    page: str
    heading: str
    text: str


def search(question: str, most: int) -> list[Passage]:
    """Return the passages that say most of the question's words, best first; none if no word is found."""
    words = re.findall(r"\w+", question)
    if not words:
        return []
    index = sqlite3.connect(":memory:")
    index.execute(TABLE)
    rows = ((one.page, one.heading, one.text) for one in passages(resource("docs")))
    index.executemany("INSERT INTO passages VALUES (?, ?, ?)", rows)
    quoted = " OR ".join(f'"{word}"' for word in words)
    return [Passage(*row) for row in index.execute(RANKED, (quoted, most))]


def passages(folder: Path) -> Iterator[Passage]:
    """Yield the passages of all Markdown pages below `folder`."""
    for path in sorted(folder.rglob("*.md")):
        yield from _parted(f"docs/{path.relative_to(folder).as_posix()}", path.read_text(encoding="utf-8"))


def _parted(page: str, text: str) -> Iterator[Passage]:
    """Yield one passage a heading of a page."""
    from markdown_it import MarkdownIt

    lines, tokens = text.splitlines(), MarkdownIt("commonmark").parse(text)
    places = [
        (token.map[0], int(token.tag[1]), tokens[number + 1].content)
        for number, token in enumerate(tokens)
        if token.type == "heading_open" and token.map
    ]
    above: dict[int, str] = {}
    for (start, level, title), (end, *_) in zip(places, [*places[1:], (len(lines), 0, "")], strict=True):
        above = {known: name for known, name in above.items() if known < level} | {level: title}
        if body := "\n".join(lines[start + 1 : end]).strip():
            yield Passage(page, " > ".join(above.values()), body)
