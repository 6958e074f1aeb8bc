"""Secrets taken out of whatever is written: values of key variables, headers that carry keys, shapes of known keys.

Values are known in base64, hex and URLs too. The rest is best effort: a key that is split, reversed, or spelt otherwise
passes. What keeps keys out of an agent's reach is the sandbox and the environment of its step.
"""

import base64
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from sophron.records import secret_keys

MARK = "[redacted]"
SHORTEST = 8  # a shorter value would be found in ordinary words and numbers
SECRET_FIELDS = frozenset(
    {"authorization", "proxy-authorization", "x-api-key", "api-key", "apikey", "api_key", "cookie", "set-cookie"}
)
HEADERS = re.compile(
    r"(?i)(?:authorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic)\s+|(?:x-)?api-key[\"']?\s*[:=]\s*[\"']?)"
    r"(?!\[redacted\])([^\s\"',;\\]{4,})"
)
USERINFO = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#:@]*:([^\s/?#@]+)@")  # the password in an address
HEADER_HINTS = ("authorization", "api-key")
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([\"\\/bfnrt]))")
PLAIN = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
HALF = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair: JSON can say it, and no file of UTF-8 can hold it."""
DEEPEST = 4  # JSON in JSON in JSON: a tool's argument that holds a quoted answer


def half_characters(value: Any) -> list[str]:
    """Return what speaks against plain data that holds half characters; nothing if it holds none."""
    match = HALF.search(json.dumps(value, ensure_ascii=False))
    return [f"it has half a character, \\u{ord(match[0]):04x}; write whole ones"] if match else []


def whole(text: str) -> str:
    """Return `text` with a replacement for each half character."""
    return HALF.sub("\N{REPLACEMENT CHARACTER}", text)


class Redactor:
    """Takes secrets out of text and plain data. names: variables that hold keys whatever they are called.

    The environment is read once. Redacting twice changes nothing more.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        always = set(names)
        values = {value for name, value in os.environ.items() if name in always or secret_keys.NAME.search(name)}
        # The longest first: one key may begin with another.
        forms = {form for value in filter(_is_secret, values) for form in _forms(value)}
        self._values = sorted(forms, key=len, reverse=True)

    def text(self, text: str) -> str:
        """Return `text` without secrets, also where JSON escapes are written inside them."""
        if len(text) < SHORTEST:
            return text
        spans: list[tuple[int, int]] = []
        for decoded, places in _levels(text):
            spans += [(places[start], places[end]) for start, end in self._find_spans(decoded)]
        for start, end in reversed(_merge(spans)):
            text = text[:start] + MARK + text[end:]
        return text

    def plain(self, value: Any) -> Any:
        """Return plain data without secrets, and without numbers that JSON cannot hold (these become text)."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self._field(str(key), inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.plain(inner) for inner in value]
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)
        return value

    def _field(self, key: str, value: Any) -> Any:
        return MARK if key.lower() in SECRET_FIELDS and isinstance(value, str) else self.plain(value)

    def _find_spans(self, text: str) -> Iterator[tuple[int, int]]:
        for value in self._values:
            start = text.find(value)
            while start >= 0:
                yield start, start + len(value)
                start = text.find(value, start + len(value))
        if any(hint in text for hint in secret_keys.HINTS):
            yield from (match.span() for match in secret_keys.SHAPES.finditer(text))
        if "://" in text:
            yield from (match.span(1) for match in USERINFO.finditer(text))
        lowered = text.lower()
        if any(hint in lowered for hint in HEADER_HINTS):
            yield from (match.span(1) for match in HEADERS.finditer(text))


def _is_secret(value: str) -> bool:
    """Return whether a value may be a key: not a number (MAX_TOKENS), and long enough."""
    try:
        float(value)
    except ValueError:
        return len(value) >= SHORTEST
    return False


def _forms(value: str) -> Iterator[str]:
    """Yield a value as it is, in URLs, in hex, and in base64 wherever it begins in what was encoded."""
    data = value.encode("utf-8", "surrogateescape")
    yield from (value, quote(data, safe=""), data.hex(), data.hex().upper())
    for before in range(3):
        # Characters that bits of a neighbour go into are left out at both ends.
        first, last = -(-8 * before // 6), 8 * (before + len(data)) // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(b"\0" * before + data).decode()[first:last]


def _levels(text: str) -> Iterator[tuple[str, list[int] | range]]:
    """Yield `text`, then unescaped once, twice, ...; each with the places of its characters and end in `text`."""
    places: list[int] | range = range(len(text) + 1)
    for _ in range(DEEPEST):
        yield text, places
        if not ESCAPE.search(text):
            return
        text, places = _unescape(text, places)


def _unescape(text: str, places: list[int] | range) -> tuple[str, list[int]]:
    parts: list[str] = []
    places_found: list[int] = []
    at = 0
    for match in ESCAPE.finditer(text):
        parts.append(text[at : match.start()])
        places_found += places[at : match.start()]
        code, sign = match.groups()
        parts.append(chr(int(code, 16)) if code else PLAIN.get(sign, sign))
        places_found.append(places[match.start()])
        at = match.end()
    parts.append(text[at:])
    places_found += places[at:]
    return "".join(parts), places_found


def _merge(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
