"""Bind the sentences of an expectation to programs, by a grammar and never by a model.

A sentence is a row of clauses; each must be of a known form. One clause that is not makes the whole sentence
UNVERIFIED: a part that passes must not stand for the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sophron.records.typed_json import left_out

CheckName = Literal[
    "exists", "size", "image", "json", "keys", "range", "columns", "rows", "contains", "prints", "succeeds", "unchanged"
]


@dataclass(frozen=True)
class Check:
    """What one program checks.

    file: relative to the work folder; names: keys or columns, or files that may change; key: of a number in `file`.
    least, most: bounds, which `open_least` and `open_most` leave out; text: to be contained or printed; command: a line
    for a shell.
    """

    check: CheckName
    file: str = left_out("")
    names: tuple[str, ...] = left_out(())
    key: str = left_out("")
    least: float | None = left_out(None)
    most: float | None = left_out(None)
    open_least: bool = left_out(default=False)
    open_most: bool = left_out(default=False)
    text: str = left_out("")
    command: str = left_out("")


@dataclass(frozen=True)
class Expectation:
    """A sentence of an expectation. line: in its file; checks: none if it is UNVERIFIED; why: the clause at fault."""

    text: str
    line: int
    checks: tuple[Check, ...]
    why: str = ""


BYTES = {"b": 1, "byte": 1, "bytes": 1, "kb": 1024, "kib": 1024, "mb": 1024**2, "mib": 1024**2, "gb": 1024**3}
"""Units of sizes, always the larger meaning: more than 1 KB is more than 1024 bytes."""

_NUMBER = r"[-+]?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
_FILE = r"(?:the )?(?:(?:file|image|plot|table) )?(?:`(?P<file>[\w][\w./ *-]*)`|(?P<bare>[\w][\w./-]*\.[A-Za-z]\w*))"
_FILE_OR_SAME = rf"(?:{_FILE}|it)?"
_NAME = r"(?:`[^`]+`|\"[^\"]+\"|[\w][\w.-]*[\w]|\w)"
_NAMES = rf"(?P<names>{_NAME}(?:(?:,? and |, ?){_NAME})*)"
_COMMAND = r"(?:running |the command )?`(?P<command>[^`]+)`"
_TEXT = r"(?:\"(?P<quoted>[^\"]+)\"|`(?P<ticked>[^`]+)`)"
_KEY = r"(?P<key>`[^`]+`|[A-Za-z_][\w.]*)"
_WHERE = rf"(?: in {_FILE})?"
_END = r"(?=\s*(?:[;,.](?:\s|$)|\band\b|$))"
_SEPARATOR = re.compile(r"\s*(?:[;,.]\s*and\b|[;,.]|\band\b)?\s*")
_SIGNS = {"∈": " in ", "≥": ">=", "≤": "<=", "\u2013": "-", "\u2212": "-", "“": '"', "”": '"', "\u00a0": " "}

_OPEN_LEAST = (">", "above", "is above", "greater than", "is greater than", "more than", "larger than", "exceeds")
_LEAST = (">=", "at least", "is at least", "not less than")
_OPEN_MOST = ("<", "below", "is below", "less than", "is less than", "smaller than", "under")
_MOST = ("<=", "at most", "is at most", "not more than")
_EQUAL = ("==", "=", "equals", "is equal to", "is exactly", "exactly")
_COMPARED = "|".join(
    re.escape(word) for word in sorted((*_OPEN_LEAST, *_LEAST, *_OPEN_MOST, *_MOST, *_EQUAL), key=len, reverse=True)
)


def bind(text: str, line: int) -> Expectation:
    """Return a sentence with the checks that it comes to; none if a clause of it is of no known form."""
    plain = text
    for sign, instead in _SIGNS.items():
        plain = plain.replace(sign, instead)
    plain = " ".join(re.sub(r"\*\*|__", "", plain).split())
    checks: list[Check] = []
    subject, place = "", 0
    while place < len(plain):
        found = _longest(plain, place)
        if found is None:
            return Expectation(text, line, (), plain[place : place + 80])
        match, make = found
        subject = _file(match) or subject
        made = list(make(match, subject))
        if any(one.file == "" and one.check in _OF_FILES for one in made):
            return Expectation(text, line, (), f"{plain[place : place + 60]}: of which file?")
        checks += made
        after = _SEPARATOR.match(plain, match.end())
        place = after.end() if after else match.end()
    return Expectation(text, line, tuple(checks), "" if checks else plain[:80])


def _longest(text: str, place: int) -> tuple[re.Match[str], Callable[[re.Match[str], str], Iterator[Check]]] | None:
    """The form that matches most of the text from `place` on."""
    found = [(match, make) for form, make in _FORMS if (match := form.match(text, place)) and match.end() > place]
    return max(found, key=lambda pair: pair[0].end(), default=None)


def _file(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return (groups.get("file") or groups.get("bare") or "").strip()


def _split(names: str) -> tuple[str, ...]:
    return tuple(re.sub(r"^[`\"]|[`\"]$", "", one) for one in re.findall(_NAME, re.sub(r"\band\b", ",", names)))


def _exists(match: re.Match[str], file: str) -> Iterator[Check]:
    yield Check("exists", file)
    if match["names"]:
        yield Check("keys" if match["what"].startswith("key") else "columns", file, names=_split(match["names"]))


def _named(match: re.Match[str], file: str) -> Iterator[Check]:
    yield Check("keys" if match["what"].lower().startswith("key") else "columns", file, names=_split(match["names"]))


def _valid(match: re.Match[str], file: str) -> Iterator[Check]:
    kind = match["kind"].lower()
    if kind == "json":
        yield Check("json", file)
    elif kind in ("csv", "table"):
        yield Check("rows", file, least=1)
    else:
        yield Check("image", file, text="" if kind in ("image", "plot") else kind.replace("jpg", "jpeg"))


def _size(match: re.Match[str], file: str) -> Iterator[Check]:
    number = float(match["number"].replace("_", "")) * BYTES[match["unit"].lower()]
    yield _bounded(Check("size", file), match["compared"], number)


def _range(match: re.Match[str], file: str) -> Iterator[Check]:
    low, high = (float(match[name].replace("_", "")) for name in ("low", "high"))
    yield Check(
        "range",
        file,
        key=match["key"].strip("`"),
        least=low,
        most=high,
        open_least=match.groupdict().get("left") == "(",
        open_most=match.groupdict().get("right") == ")",
    )


def _compare(match: re.Match[str], file: str) -> Iterator[Check]:
    number = float(match["number"].replace("_", ""))
    yield _bounded(Check("range", file, key=match["key"].strip("`")), match["compared"], number)


def _bounded(check: Check, compared: str, number: float) -> Check:
    """A check with the bounds that a comparison sets."""
    word = compared.lower()
    if word in (*_OPEN_LEAST, *_LEAST):
        return replace(check, least=number, open_least=word in _OPEN_LEAST)
    if word in (*_OPEN_MOST, *_MOST):
        return replace(check, most=number, open_most=word in _OPEN_MOST)
    return replace(check, least=number, most=number)


def _rows(match: re.Match[str], file: str) -> Iterator[Check]:
    number = float(match["number"].replace("_", ""))
    yield _bounded(Check("rows", file), match["compared"] or "exactly", number)


def _contains(match: re.Match[str], file: str) -> Iterator[Check]:
    yield Check("contains", file, text=match["quoted"] or match["ticked"])


def _prints(match: re.Match[str], _: str) -> Iterator[Check]:
    yield Check("prints", command=match["command"], text=match["quoted"] or match["ticked"])


def _succeeds(match: re.Match[str], _: str) -> Iterator[Check]:
    yield Check("succeeds", command=match["command"])


def _only(match: re.Match[str], _: str) -> Iterator[Check]:
    yield Check("unchanged", names=_split(match["names"]))


def _subject(_: re.Match[str], __: str) -> Iterator[Check]:
    yield from ()


def _untouched(_: re.Match[str], file: str) -> Iterator[Check]:
    yield Check("unchanged", file)


_OF_FILES = ("exists", "size", "image", "json", "keys", "range", "columns", "rows", "contains")


def _form(
    pattern: str, make: Callable[[re.Match[str], str], Iterator[Check]]
) -> tuple[re.Pattern[str], Callable[..., Iterator[Check]]]:
    return re.compile(pattern + _END, re.IGNORECASE), make


_FORMS: Sequence[tuple[re.Pattern[str], Callable[..., Iterator[Check]]]] = (
    (re.compile(rf"{_FILE}:(?=\s)"), _subject),
    _form(
        rf"{_FILE} (?:exists|is there|is present|is (?:created|written|saved))"
        rf"(?:,? (?:with|and has) (?:the )?(?P<what>keys?|columns?) {_NAMES})?",
        _exists,
    ),
    _form(rf"{_FILE_OR_SAME} ?(?:has|with|contains|and has) (?:the )?(?P<what>keys?|columns?) {_NAMES}", _named),
    _form(
        rf"{_FILE_OR_SAME} ?(?:is )?(?:an? )?valid (?P<kind>PNG|JPE?G|JSON|CSV|image|plot|table)(?: image| file)?",
        _valid,
    ),
    _form(
        rf"{_FILE_OR_SAME} ?(?:is |has )?(?P<compared>{_COMPARED}) ?(?P<number>{_NUMBER}) ?(?P<unit>{'|'.join(BYTES)})",
        _size,
    ),
    _form(
        rf"{_KEY} (?:is )?(?:in|within) (?P<left>[\[(]) ?(?P<low>{_NUMBER}), ?(?P<high>{_NUMBER}) ?(?P<right>[\])])"
        rf"{_WHERE}",
        _range,
    ),
    _form(rf"{_KEY} (?:is )?between (?P<low>{_NUMBER}) and (?P<high>{_NUMBER}){_WHERE}", _range),
    _form(rf"{_KEY} ?(?P<compared>{_COMPARED}) ?(?P<number>{_NUMBER}){_WHERE}", _compare),
    _form(
        rf"{_FILE_OR_SAME} ?has (?:(?P<compared>{_COMPARED}) )?(?P<number>{_NUMBER}) (?:data )?(?:rows|lines of data)",
        _rows,
    ),
    _form(rf"{_FILE_OR_SAME} ?contains (?:the (?:text|line|word|string) )?{_TEXT}", _contains),
    _form(rf"{_COMMAND} (?:prints|outputs|shows) (?:the (?:text|line) )?{_TEXT}", _prints),
    _form(
        rf"{_COMMAND} (?:succeeds|passes|runs without errors?|exits (?:with(?: code)? )?0|ends with(?: code)? 0)",
        _succeeds,
    ),
    _form(rf"only {_NAMES} (?:is|are|was|were|has been|have been) (?:changed|modified|edited)", _only),
    _form(rf"{_FILE} (?:is|was|has) (?:unchanged|not (?:been )?(?:changed|modified|edited))", _untouched),
)
