"""Split a LAMMPS input into commands and words the way LAMMPS does: continuations, comments, quotes, substitution."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

VALUE = "\x01"
"""Stands for a number that LAMMPS puts in the place of `${name}`, `$x` or `$(formula)`."""

TRIPLE = '"""'
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
FORMAT = re.compile(r"(\s*%[-+ #0-9.]*l{0,2}[deEfgG])+\s*")
NAME = re.compile(r"\{(?P<long>\w+)\}|(?P<short>\w)")


def is_number(word: str) -> bool:
    """Return whether a word is a plain number."""
    return NUMBER.fullmatch(word) is not None


def is_format(word: str) -> bool:
    """Return whether a word is nothing but formats for numbers, such as ` %.10g`."""
    return FORMAT.fullmatch(word) is not None


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number of the first line, and text, of each command line, joined and without its comment.

    A trailing `&` joins the next line without a blank; an open triple quote joins it with a newline. As in LAMMPS
    that happens before comments are taken off, so that a comment may be continued.
    """
    pending, start = "", 0
    for number, line in enumerate(text.replace("\r", "\n").split("\n"), 1):
        start = start or number
        stripped = line.rstrip()
        if stripped.endswith("&"):
            pending += stripped[:-1]
            continue
        pending += line
        if pending.count(TRIPLE) % 2:
            pending += "\n"
            continue
        yield start, _without_comment(pending)
        pending, start = "", 0
    if pending:
        yield start, _without_comment(pending)


def _without_comment(line: str) -> str:
    position = 0
    while position < len(line):
        if line[position] == "#":
            return line[:position]
        position = _after_quote(line, position) or len(line)
    return line


def _after_quote(line: str, position: int) -> int | None:
    """Position behind the quoted text that begins at `position`, or behind one character; None if never closed."""
    quote = TRIPLE if line.startswith(TRIPLE, position) else line[position]
    if quote not in (TRIPLE, '"', "'"):
        return position + 1
    end = line.find(quote, position + len(quote))
    return None if end < 0 else end + len(quote)


def words(line: str) -> list[str] | None:
    """Return the words of a command line, quotes taken off; None if a quote is never closed.

    A quote counts at the start of a word only; the word ends where it closes.
    """
    found: list[str] = []
    position = 0
    while position < len(line):
        if line[position].isspace():
            position += 1
            continue
        end = _after_quote(line, position)
        if end is None:
            return None
        if end > position + 1:
            width = 3 if line.startswith(TRIPLE, position) else 1
            found.append(line[position + width : end - width])
        else:
            end = next((i for i in range(position, len(line)) if line[i].isspace()), len(line))
            found.append(line[position:end])
        position = end
    return found


def substituted(line: str, numeric: AbstractSet[str]) -> tuple[str, list[str]]:
    """The line with each substitution of a number replaced by `VALUE`, and the substitutions that may be no number.

    numeric: names of variables that hold numbers. A formula `$(...)` is a number, whatever stands in it.
    """
    parts: list[str] = []
    refused: list[str] = []
    position = 0
    while (dollar := line.find("$", position)) >= 0:
        parts.append(line[position:dollar])
        end = _formula_end(line, dollar + 1) if line.startswith("(", dollar + 1) else None
        name = NAME.match(line, dollar + 1)
        if end is not None and _plain_format(line[dollar + 2 : end - 1]):
            parts.append(VALUE)
        elif name is not None and (name["long"] or name["short"]) in numeric:
            end = name.end()
            parts.append(VALUE)
        else:
            end = end or (name.end() if name else dollar + 1)
            refused.append(line[dollar:end])
        position = end
    return "".join([*parts, line[position:]]), refused


def _formula_end(line: str, position: int) -> int | None:
    """Position behind the parenthesis that closes the one at `position`."""
    depth = 0
    for index in range(position, len(line)):
        depth += {"(": 1, ")": -1}.get(line[index], 0)
        if depth == 0:
            return index + 1
    return None


def _plain_format(formula: str) -> bool:
    """Whether the format after a formula's colon, if any, prints a number and nothing else."""
    _, colon, shown = formula.partition(":")
    return not colon or is_format(shown)
