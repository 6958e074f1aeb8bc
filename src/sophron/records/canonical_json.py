"""Canonical JSON (RFC 8785) and digests over it: the content identity of everything."""

import hashlib
from pathlib import Path
from typing import Any

CHUNK = 1 << 20


def canonical_bytes(value: Any) -> bytes:
    """`value` as canonical JSON.

    Raises ValueError where JSON cannot hold it: NaN, infinities, integers beyond 2**53, keys that are no strings.
    """
    import rfc8785

    return rfc8785.dumps(value)


def digest(value: Any) -> str:
    """Hex sha256 of the canonical JSON of `value`."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def file_digest(path: Path) -> str:
    """Hex sha256 of a file's bytes."""
    sha = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            sha.update(chunk)
    return sha.hexdigest()
