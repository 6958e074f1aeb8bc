"""Passages of the documentation, ranked against a question by BM25 (the full-text index of SQLite, in memory)."""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

from sophron.records import strict_yaml
from sophron.records.files import resource

TABLE = "CREATE VIRTUAL TABLE passages USING fts5(page, heading, text, tokenize='porter unicode61')"
RANKED = """
SELECT page, heading, text, -bm25(passages, 2.0, 4.0, 1.0) FROM passages WHERE passages MATCH ?
ORDER BY bm25(passages, 2.0, 4.0, 1.0)
"""
WORDS = "search_words.yaml"
"""Page -> words that a stranger has for what it is about."""
WORD = re.compile(r"\w+")
DECAY = 0.5
"""What each further passage of a page adds to its score, to the power of its place: a page on a subject has several."""
WEIGHTS = {"docs/explanation/": 0.7, "docs/explanation/blind-trials.md": 0.5}
"""Who asks mostly wants to do something, not to know why; and the page of trials has words of all questions on it."""
STOPWORDS = frozenset(
    """a about after again all also am an and any are as at be because been but by can could did do does doing each for
    from had has have how i if in into is it its itself just like may me might my myself no not now of off on only or
    our out own rather say says should so some such take than that the their them then there these they thing this to
    too until up use using very want was we were what when where which while who why will with without would you
    your""".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Passage:
    """A stretch of a page. page: its path, as in `docs/how-to/slurm.md`; heading: its own and those above it."""

    page: str
    heading: str
    text: str


def search(question: str, most: int, each: int = 1) -> list[Passage]:
    """Return passages that say most of the question's words, of `most` pages, best first; none if no word is found.

    each: most passages of a page.
    """
    found = WORD.findall(question.lower())
    words = [word for word in found if word not in STOPWORDS] or found
    if not words:
        return []
    scores: dict[str, list[float]] = {}
    texts: dict[str, list[Passage]] = {}
    for *row, score in index().execute(RANKED, (" OR ".join(f'"{word}"' for word in words),)):
        scores.setdefault(row[0], []).append(score)
        texts.setdefault(row[0], []).extend([Passage(*row)] if row[1] else [])
    ranked = sorted(scores, key=lambda page: _page_score(page, scores[page]), reverse=True)
    first = {one.page: one for one in reversed([*passages(resource("docs"))])}
    return [passage for page in ranked[:most] for passage in (texts[page] or [first[page]])[:each]]


def _page_score(page: str, scores: Sequence[float]) -> float:
    weight = prod(value for begin, value in WEIGHTS.items() if page.startswith(begin))
    return weight * sum(score * DECAY**place for place, score in enumerate(scores))


def index() -> sqlite3.Connection:
    """Return the full-text index of the documentation, made anew; a page's words of strangers have no heading."""
    made = sqlite3.connect(":memory:")
    made.execute(TABLE)
    rows = ((one.page, one.heading, one.text) for one in passages(resource("docs")))
    made.executemany("INSERT INTO passages VALUES (?, ?, ?)", rows)
    words = strict_yaml.parse(resource("docs", WORDS).read_bytes(), WORDS)[0]
    made.executemany("INSERT INTO passages VALUES (?, '', ?)", ((f"docs/{page}", said) for page, said in words.items()))
    return made


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
