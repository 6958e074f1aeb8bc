"""What this user's own configuration remembers of a campaign: trusted keys, and the last approval (rollback shows)."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sophron.records import documents, files, signatures, typed_json
from sophron.records.approvals import FOLDER, Approval, logged
from sophron.records.digests import file_digest
from sophron.records.errors import Refused
from sophron.records.files import FileLock, write_json


@dataclass(frozen=True)
class KnownCampaign:
    """One campaign at one path, as this user knows it.

    keys, revoked: public keys (`type base64`) trusted and revoked then; last, version: the last approval that was
    signed here, by its hash, None if none was.
    """

    keys: Sequence[str] = ()
    revoked: Sequence[str] = ()
    last: str | None = typed_json.left_out()
    version: int | None = typed_json.left_out()


def _path() -> Path:
    return files.user_configuration() / "trust.json"


def _read() -> Mapping[str, KnownCampaign]:
    """`<campaign> <path>` -> what is known of it."""
    return typed_json.load(_path(), dict[str, KnownCampaign]) if _path().is_file() else {}


def _key(root: Path, campaign: str) -> str:
    return f"{campaign} {root.resolve()}"


def keys_in(root: Path) -> set[str]:
    """Return the public keys (`type base64`) that the campaign's list of signers holds now."""
    return signatures.keys_in(root / FOLDER / signatures.SIGNERS_NAME)


def revoked_in(root: Path) -> set[str]:
    """Return the public keys that the campaign's list of revoked ones holds now."""
    return signatures.keys_in(root / FOLDER / signatures.REVOKED_NAME)


def fingerprints(root: Path) -> list[str]:
    """Return `type SHA256:fingerprint` of each trusted key, as ssh-keygen and code hosts show it."""
    shown = []
    for key in sorted(keys_in(root)):
        kind, _, body = key.partition(" ")
        sha = hashlib.sha256(base64.b64decode(body)).digest()
        shown.append(f"{kind} SHA256:{base64.b64encode(sha).decode().rstrip('=')}")
    return shown


def remember(approval: Approval) -> None:
    """Note an approval that was just signed here, with the keys it trusts."""
    _note(approval.root, approval.record.campaign, last=approval.hash, version=approval.record.version)


def remember_keys(root: Path, campaign: str) -> None:
    """Note the keys that a campaign's lists hold now, trusted and revoked: its signer, or this user, knows them."""
    _note(root, campaign)


def _note(root: Path, campaign: str, **signed: Any) -> None:
    with FileLock(_path().with_suffix(".lock")):
        known = dict(_read())
        before = known.get(_key(root, campaign), KnownCampaign())
        revoked = sorted({*before.revoked, *revoked_in(root)})
        known[_key(root, campaign)] = replace(before, keys=sorted(keys_in(root)), revoked=revoked, **signed)
        write_json(_path(), typed_json.to_json(known))


def known_keys(root: Path, campaign: str) -> set[str] | None:
    """The keys this user trusted for a campaign when it was last signed here, or under another path if never here.

    A copied or moved folder is the same campaign. None if this user knows none of that id.
    """
    content = _read()
    entry = content.get(_key(root, campaign))
    entries = [entry] if entry else [other for key, other in content.items() if key.startswith(f"{campaign} ")]
    return {key for one in entries for key in one.keys} if entries else None


def check_keys(root: Path, campaign: str) -> None:
    """Refuse lists of keys that this user knows otherwise: with one more trusted, or with one less revoked."""
    known = known_keys(root, campaign)
    if known is not None and not keys_in(root) <= known:
        if _key(root, campaign) in _read():
            raise Refused(
                "the list of trusted signers has a key that you never trusted; remove it from approvals/allowed_signers"
            )
        raise Refused(
            f"you know the campaign {campaign} under another path, with other keys than approvals/allowed_signers has "
            "here; if you know whose they are, say so: sophron signer trust"
        )
    if not set(_read().get(_key(root, campaign), KnownCampaign()).revoked) <= revoked_in(root):
        raise Refused(
            "approvals/revoked_keys lacks a key that you revoked; restore it, or revoke it again: sophron signer revoke"
        )


def check(approval: Approval) -> None:
    """Refuse a campaign whose signers or history are not those that this user knows. A new machine knows nothing."""
    check_keys(approval.root, approval.record.campaign)
    known = _read().get(_key(approval.root, approval.record.campaign), KnownCampaign())
    if known.last is not None and known.last not in history(approval):
        raise Refused(
            f"this is not the last approval you signed here (version {known.version}): the folder was rolled back; "
            "restore it, or sign what is here now: sophron approve"
        )


def history(approval: Approval) -> list[str]:
    """Hashes of the approvals that lead to this one, itself first, as far as the approval log goes."""
    records = {}
    for path in logged(approval.root):
        record = documents.load_json(path)
        records[file_digest(path)] = record.get("previous") if isinstance(record, dict) else None
    chain, previous = [approval.hash], approval.record.previous
    while previous and previous not in chain:
        chain.append(previous)
        previous = records.get(previous)
    return chain
