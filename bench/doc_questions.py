"""How often `sophron ask` shows the right page first, and among three, for questions of readers of the README.

The questions, and the pages that answer them, are in `tests/data/doc_questions.yaml`. The search was tuned on those of
`first`; those of `second`, by another reader, and of `threads`, asked by users in issue threads, were looked at only
to be counted. `before` is plain BM25 over passages, without what the search adds to it.

    python bench/doc_questions.py
"""

import argparse
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from record import record

from sophron.records import doc_passages, strict_yaml

QUESTIONS = Path(__file__).parents[1] / "tests" / "data" / "doc_questions.yaml"
MOST = 12
Search = Callable[[str], list[str]]


def before(question: str) -> list[str]:
    """Return pages by their best passage under BM25, all words of the question counted."""
    words = " OR ".join(f'"{word}"' for word in doc_passages.WORD.findall(question))
    index: sqlite3.Connection = doc_passages.index()
    return list(dict.fromkeys(row[0] for row in index.execute(doc_passages.RANKED, (words,)) if row[1]))


def now(question: str) -> list[str]:
    """Return pages as `sophron ask` ranks them."""
    return [one.page for one in doc_passages.search(question, MOST)]


def counted(questions: Sequence[dict[str, list[str]]], search: Search) -> dict[str, object]:
    """Return how many questions have a right page first, and among three; and those that have none among three."""
    ranks = {}
    for one in questions:
        pages = search(str(one["question"]))
        ranks[str(one["question"])] = next((rank for rank, page in enumerate(pages, 1) if page in one["pages"]), None)
    first, three = (sum(rank is not None and rank <= most for rank in ranks.values()) for most in (1, 3))
    missed = [question for question, rank in ranks.items() if rank is None or rank > 3]
    return {"questions": len(ranks), "first": first, "among_three": three, "missed": missed}


def main() -> None:
    """Count, and write the record."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    sets = strict_yaml.parse(QUESTIONS.read_bytes(), str(QUESTIONS))[0]
    result: dict[str, object] = {}
    for name, questions in sets.items():
        known = [one for one in questions if one["pages"]]
        result[name] = {
            "asked": len(questions),
            "without_a_page": len(questions) - len(known),
            "before": counted(known, before),
            "now": counted(known, now),
        }
    print(record("doc_questions", result).read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
