"""Make a stranger's text safe to print, log or hand on: no control characters, hidden marks or forged lines.

A spec, a file name, a program's output or a model's answer may come from anywhere. Terminal escapes could rewrite what
was printed above them, direction overrides could show a digit string backwards, characters without width could make two
names look alike, line separators could forge a log line. One rule says what is hidden; a caller chooses whether it is
dropped (`one_line`, `lines`: for people) or written as an escape (`escape`, `escape_lines`: where it must be noticed).
Standard library only: the gate's messages pass through here.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

# CSI and OSC sequences and two-character escapes (ECMA-48), whole: their parameters are letters and digits.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-~]?"
)
_BREAKS = "\t\n\r\v\f\x85\u2028\u2029"
_LINE_ENDS = re.compile(r"\r\n|[\n\r\v\f\x85\u2028\u2029]")
# Marks that print nothing although Unicode calls them letters or symbols: fillers, joiners and variation selectors.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U000e0100-\U000e01ef]"
)
_ORDINARY = re.compile(r"[ -~]*")
_ORDINARY_LINES = re.compile(r"[ -~\n\t]*")
MAX_MARKS = 3


def one_line(value: object, most: int | None = None) -> str:
    """Return `value` on one line, blanks joined, what is hidden dropped; cut at `most` characters."""
    return _cut(" ".join(_visible(str(value)).split()), most)


def lines(value: object) -> list[str]:
    """Return `value` line by line, with its inner blanks, each line cleaned as `one_line` does."""
    return [_visible(line.expandtabs(4)).rstrip() for line in _LINE_ENDS.split(str(value))]


def escape(text: str, most: int | None = None) -> str:
    """Return `text` on one line, hidden characters and unusual blanks as escapes; cut at `most` characters."""
    if _ORDINARY.fullmatch(text):
        return _cut(text, most)
    return _cut("".join(sign if seen else ascii(sign)[1:-1] for sign, seen in _judged(text)), most)


def escape_lines(text: str, most: int) -> str:
    """Return `text` with its lines and tabs, other hidden characters as escapes; cut at `most`, which it then says.

    So nothing in it can paint a terminal, reorder what a reader sees, or hide a sentence (zero width, tags).
    """
    cut = text if len(text) <= most else f"{text[:most]}\n[cut: {len(text) - most} more characters]"
    if _ORDINARY_LINES.fullmatch(cut):
        return cut
    judged = _judged(cut.replace("\r\n", "\n"))
    # Blanks other than the plain one are not "printable" to Python; between words they are harmless.
    return "".join(
        sign if seen or sign in "\n\t" or unicodedata.category(sign) == "Zs" else ascii(sign)[1:-1]
        for sign, seen in judged
    )


def hides(value: object) -> bool:
    """Return whether anything in plain data would be left out when it is shown; ordinary line ends and tabs are not."""
    return any(len(_visible(raw)) != len(raw) for raw in strings(value))


def strings(value: object) -> Iterator[str]:
    """Yield all texts in plain data, keys of mappings too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from strings(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from strings(inner)


def _visible(raw: str) -> str:
    """`raw` without escape sequences and hidden characters; breaks and blanks of any kind are plain blanks."""
    if _ORDINARY.fullmatch(raw):
        return raw
    kept = []
    for sign, seen in _judged(_ESCAPES.sub("", raw)):
        if seen:
            kept.append(sign)
        elif sign in _BREAKS or unicodedata.category(sign) == "Zs":
            kept.append(" ")
    return "".join(kept)


def _judged(raw: str) -> Iterator[tuple[str, bool]]:
    """Each character and whether it is seen: controls, formats, surrogates and unassigned ones are not printable."""
    marks = 0
    for sign in raw:
        marks = marks + 1 if unicodedata.category(sign) in ("Mn", "Me") else 0
        yield sign, sign.isprintable() and marks <= MAX_MARKS and not _BLANK.match(sign)


def _cut(text: str, most: int | None) -> str:
    return text if most is None or len(text) <= most else text[: most - 3] + "..."
