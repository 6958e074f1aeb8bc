"""Measure verbatim overlap between two texts: runs of words, counted so that padding cannot dilute them.

Shingles after Broder, On the resemblance and containment of documents, 10.1109/SEQUEN.1997.666900; here the covered
words are counted and not their share, because an agent's text may be as long as it likes.
"""

import re
import unicodedata
from collections.abc import Iterable

WORD = re.compile(r"[^\W_]+")
Shingle = tuple[str, ...]


def words(text: str) -> list[str]:
    """Return the words of a text: compatible forms made equal, lower case, accents and invisible characters left out.

    Marks of comments, lists and emphasis are not words, so a passage is the same in Markdown, YAML and Python.
    """
    plain = unicodedata.normalize("NFKD", text)
    kept = "".join(sign for sign in plain if unicodedata.category(sign) not in ("Cf", "Mn"))
    return WORD.findall(kept.casefold())


def shingles(texts: Iterable[str], length: int) -> frozenset[Shingle]:
    """Return all runs of `length` words in any of `texts`."""
    found: set[Shingle] = set()
    for text in texts:
        said = words(text)
        found.update(tuple(said[start : start + length]) for start in range(len(said) - length + 1))
    return frozenset(found)


def shared_words(text: str, known: frozenset[Shingle], length: int) -> list[str]:
    """Return the words of `text` that lie in runs of `length` words which `known` holds too, in their order."""
    said = words(text)
    covered = [False] * len(said)
    for start in range(len(said) - length + 1):
        if tuple(said[start : start + length]) in known:
            covered[start : start + length] = [True] * length
    return [word for word, inside in zip(said, covered, strict=True) if inside]
