"""Tenants of an endpoint and their bearer tokens: made at random, kept as digests, compared in constant time."""

import hmac
import os
import re
import secrets
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from sophron.records import documents
from sophron.records.errors import UserError

ENVIRONMENT = "env"
VARIABLE = "SOPHRON_A2A_TOKENS"
SHORTEST = 32
NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")


@dataclass(frozen=True)
class Tenants:
    """Who may call. digests: name -> sha256 of the token, in hexadecimal digits."""

    digests: dict[str, str]

    def of(self, token: str) -> str | None:
        """Return the name of the tenant whose token this is, or None.

        All digests are compared, each in constant time, so that the time tells nothing. A plain sha256 is enough: a
        token is 256 random bits, which no list of passwords holds.
        """
        given, found = token_digest(token), None
        for name, digest in self.digests.items():
            if hmac.compare_digest(digest, given):
                found = name
        return found


def token_digest(token: str) -> str:
    """Return what is kept of a token."""
    return sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def load(where: str) -> Tenants:
    """Load tenants from a file, or, for `env`, from SOPHRON_A2A_TOKENS (`name=token`, blanks between), which is unset.

    Raise UserError if there are none, if one is malformed or shorter than 32 characters, or if two share one.
    """
    if where == ENVIRONMENT:
        digests = _of_environment()
    else:
        document = documents.load_yaml(Path(where))
        documents.validate(document, "build/tenants")
        digests = {name: entry["sha256"] for name, entry in document.data["tenants"].items()}
    if not digests:
        raise UserError(f"{where}: names no tenant; add one: sophron build token NAME --tokens FILE")
    if len(set(digests.values())) != len(digests):
        raise UserError(f"{where}: two tenants have the same token; make another one: sophron build token NAME")
    return Tenants(digests)


def add(path: Path, name: str) -> str:
    """Make a token for the tenant `name` in the file `path`, instead of an earlier one; the token, shown this once."""
    from sophron.records.files import write_text

    if not NAME.fullmatch(name):
        raise UserError(f'"{name}" is no name of a tenant; take small letters, digits and -, a letter first')
    digests = load(str(path)).digests if path.is_file() else {}
    token = secrets.token_urlsafe(32)
    digests[name] = token_digest(token)
    lines = [f"  {one}: {{sha256: {digests[one]}}}" for one in sorted(digests)]
    write_text(path, "\n".join(["tenants:", *lines, ""]))
    return token


def _of_environment() -> dict[str, str]:
    digests = {}
    for pair in os.environ.pop(VARIABLE, "").split():
        name, _, token = pair.partition("=")
        if not NAME.fullmatch(name) or len(token) < SHORTEST:
            raise UserError(
                f"{VARIABLE}: an entry is not NAME=TOKEN with a token of {SHORTEST} characters or more; make one: "
                "python -c 'import secrets; print(secrets.token_urlsafe(32))'"
            )
        digests[name] = token_digest(token)
    return digests
