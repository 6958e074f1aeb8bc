"""Digests: the content identity of a JSON value (RFC 8785), of a file, and of a step.

The identity of a step is its rule, unformatted shell line, stage digest and wildcards; never paths, threads or
resources. Every step computes its own before it begins, so that what it calls here is standard library only.
"""

import hashlib
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

IDENTITY_LENGTH = 64
SHELL_FIELD = re.compile(r"\{[^{}]+\}")


def canonical_bytes(value: Any) -> bytes:
    """Return `value` as canonical JSON.

    Raises ValueError if JSON cannot hold it: NaN, infinities, integers beyond 2**53, keys that are not strings.
    """
    import rfc8785

    return rfc8785.dumps(value)


def digest(value: Any) -> str:
    """Return the hex sha256 of the canonical JSON of `value`."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def file_digest(path: Path, *, missing_ok: bool = False) -> str:
    """Return the hex sha256 of a file's bytes; with `missing_ok`, of nothing if there is no such file."""
    if missing_ok and not path.is_file():
        return hashlib.sha256().hexdigest()
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def step_identity(rule: str, shell: str, digest: str, wildcards: Mapping[str, str]) -> str:
    """Return the hex sha256 of the canonical JSON of the four parts.

    All parts are strings with ASCII keys, for which this `json.dumps` is RFC 8785 (a test compares the two).
    """
    parts = [rule, shell, digest, dict(sorted(wildcards.items()))]
    text = json.dumps(parts, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def step_name(rule: str, wildcards: Mapping[str, str]) -> str:
    """Return the name of a step in records and messages, e.g. `produce-3`."""
    return "-".join([rule, *wildcards.values()])


def signed_digest(signed: str | Mapping[str, str], wildcards: Mapping[str, str]) -> str:
    """Return the digest that a step must have.

    signed: one, or those by `wildcard=value`, if a wildcard names the agent.
    """
    if isinstance(signed, str):
        return signed
    return next((signed[key] for key in (f"{name}={value}" for name, value in wildcards.items()) if key in signed), "")


def is_listed(steps_file: Path, wanted: str) -> bool:
    """Return whether the sorted list of identities holds `wanted`, by bisection (18 reads for 200,000 steps)."""
    record = IDENTITY_LENGTH + 1
    with steps_file.open("rb") as stream:
        low, high = 0, stream.seek(0, 2) // record
        while low < high:
            middle = (low + high) // 2
            stream.seek(middle * record)
            found = stream.read(IDENTITY_LENGTH).decode("ascii", "replace")
            if found == wanted:
                return True
            low, high = (middle + 1, high) if found < wanted else (low, middle)
    return False


def fits_shell_line(shell: str, argv: Sequence[str]) -> bool:
    """Return whether `argv` (without the program) can be a formatted form of the signed, unformatted shell line.

    Word for word: a `{field}` stands for any text inside its word, for no further words (our rules pass no lists).
    So a host that overrides the shell line of one of our rules is found by the step itself.
    """
    words = shlex.split(shell)[1:]
    return len(words) == len(argv) and all(map(_fits, words, argv))


def _fits(word: str, given: str) -> bool:
    """What lies between two fields is taken at its first place: linear, where a pattern would try all places."""
    begin, *inner = SHELL_FIELD.split(word)
    if not inner or not given.startswith(begin):
        return given == begin
    *between, end = inner
    position = len(begin)
    for part in between:
        found = given.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return given.endswith(end) and position + len(end) <= len(given)
