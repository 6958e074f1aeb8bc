"""Scope exclusions: requests and specs that ask for what Sophron does not do (Superscientist, appendix F.2)."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sophron.records import documents
from sophron.records.errors import UserError, shown
from sophron.records.files import resource

# Not between the digits of 0.85, but where a list item or a paragraph begins.
SENTENCES = re.compile(r"[.!?;]\s+|\n\s*\n|\n\s*(?:[-*]|\d+[.)])\s+")
LONGEST_SENTENCE = 2000
LONGEST_QUOTE = 120


@dataclass(frozen=True)
class Exclusion:
    """One thing that is refused. patterns: each a group that must be found in one sentence, all of it."""

    id: str
    name: str
    what: str
    why: str
    patterns: tuple[tuple[re.Pattern[str], ...], ...]


@dataclass(frozen=True)
class Finding:
    """A sentence that asks for what `exclusion` refuses. quote: the sentence, one printable line."""

    exclusion: Exclusion
    quote: str

    @property
    def sentence(self) -> str:
        """What a person is told."""
        return f'"{self.quote}" asks for what is out of scope. {self.exclusion.what} {self.exclusion.why}'


@cache
def exclusions() -> tuple[Exclusion, ...]:
    """Return the installed `agents/scope.yaml`. A campaign cannot widen it. UserError if the file is not valid."""
    document = documents.load_yaml(resource("workflow", "agents", "scope.yaml"))
    return tuple(_exclusion(document, index) for index in range(len(document.data)))


def _exclusion(document: documents.Document, index: int) -> Exclusion:
    entry = document.data[index]
    try:
        patterns = tuple(tuple(re.compile(one, re.IGNORECASE) for one in together) for together in entry["patterns"])
    except re.error as error:
        where = document.where((index, "patterns"))
        raise UserError(f"{where}: holds no regular expression ({error}); correct it") from None
    return Exclusion(entry["id"], entry["name"], entry["what"], entry["why"], patterns)


def excluded(content: Any) -> list[Finding]:
    """Return everything out of scope in a text, or in the texts of plain data such as a spec; keys are not looked at.

    One finding an exclusion, in the order of the table. It is a matter of words: a sentence counts where it names an
    action and its object, and who hides the intent is not found. To say that something is not wanted can be refused,
    too; the quote shows which sentence to write otherwise.
    """
    sentences = list(_sentences(content))
    found = []
    for exclusion in exclusions():
        first = next((sentence for sentence in sentences if _asks(sentence, exclusion)), None)
        if first is not None:
            found.append(Finding(exclusion, shown(first, LONGEST_QUOTE)))
    return found


def _asks(sentence: str, exclusion: Exclusion) -> bool:
    return any(all(one.search(sentence) for one in together) for together in exclusion.patterns)


def _sentences(content: Any) -> Iterator[str]:
    for text in _texts(content):
        # Letters that only look different must not get past a pattern.
        plain = unicodedata.normalize("NFKC", text)
        for sentence in SENTENCES.split(plain):
            words = " ".join("".join(sign for sign in sentence if unicodedata.category(sign) != "Cf").split())
            for start in range(0, len(words), LONGEST_SENTENCE // 2):
                yield words[start : start + LONGEST_SENTENCE]


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for part in data.values():
            yield from _texts(part)
    elif isinstance(data, Sequence):
        for part in data:
            yield from _texts(part)
