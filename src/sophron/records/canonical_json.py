"""Canonical JSON (RFC 8785) and digests over it: the content identity of everything."""

import hashlib
from pathlib import Path
from typing import Any


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
