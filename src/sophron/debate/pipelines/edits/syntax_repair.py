"""Syntax repair: only punctuation and indentation may change."""

from __future__ import annotations

import difflib
import re

TOKEN = re.compile(r"#[^\n]*|\w+|'[^'\n]*'|\"[^\"\n]*\"|[^\w\s]")
PUNCTUATION = frozenset("()[]{}:,;")
ADDED = {"pass"}
MEANING = re.compile(r"[-+*/%@<>=!|&^~]|\b(not|and|or|if|elif|else|while|assert|raise|return|except|lambda)\b")


def allows_syntax(before: str, after: str) -> bool:
    """Return whether only punctuation and `pass` changed, and on lines where punctuation groups no formula and no test.

    A statement that moved in or out of a block counts as changed on its line.
    """
    old, new = before.splitlines(), after.splitlines()
    for tag, begin, end, first, final in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal" and not _punctuation(old[begin:end], new[first:final]):
            return False
    return True


def _punctuation(old: list[str], new: list[str]) -> bool:
    if _words(old) != [word for word in _words(new) if word not in ADDED]:
        return False
    lines = [line for line in old if line.strip() and line not in new]
    return all(not MEANING.search(line) or _appended(line, new) for line in lines)


def _appended(line: str, new: list[str]) -> bool:
    """Whether a line came back with nothing but punctuation behind it."""
    stem = line.rstrip()
    return any(each.startswith(stem) and set(each[len(stem) :]) <= PUNCTUATION | {" "} for each in new)


def _words(lines: list[str]) -> list[str]:
    found = [token for line in lines for token in TOKEN.findall(line)]
    return [token for token in found if token not in PUNCTUATION and not token.startswith("#")]
