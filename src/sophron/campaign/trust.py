"""What this user's own configuration remembers of a campaign: trusted keys, and the last approval (rollback shows)."""

import base64
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sophron.records import documents
from sophron.records.approvals import FOLDER, Approval, logged
from sophron.records.atomic import write_json
from sophron.records.canonical import file_digest
from sophron.records.errors import Refused, UserError
from sophron.records.files import read_text
from sophron.records.locks import FileLock
from sophron.records.signatures import SIGNERS_NAME


def _path() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or Path("~", ".config")
    try:
        return Path(base).expanduser() / "sophron" / "trust.json"
    except RuntimeError:
        raise UserError("this account has no home folder; set HOME, or XDG_CONFIG_HOME, to a folder of yours") from None


def _read() -> dict[str, Any]:
    path = _path()
    content: dict[str, Any] = documents.load_json(path) if path.is_file() else {}
    return content


def _key(root: Path, campaign: str) -> str:
    return f"{campaign} {root.resolve()}"


def keys_in(root: Path) -> set[str]:
    """The public keys (`type base64`) that the campaign's list of signers holds now."""
    path = root / FOLDER / SIGNERS_NAME
    keys = set()
    for line in read_text(path).splitlines() if path.is_file() else []:
        words = line.split()
        for index, word in enumerate(words):
            if word.startswith(("ssh-", "ecdsa-", "sk-")) and index + 1 < len(words):
                keys.add(f"{word} {words[index + 1]}")
    return keys


def fingerprints(root: Path) -> list[str]:
    """`type SHA256:fingerprint` of each trusted key, as ssh-keygen and code hosts show it."""
    shown = []
    for key in sorted(keys_in(root)):
        kind, _, body = key.partition(" ")
        sha = hashlib.sha256(base64.b64decode(body)).digest()
        shown.append(f"{kind} SHA256:{base64.b64encode(sha).decode().rstrip('=')}")
    return shown


def remember(approval: Approval) -> None:
    """Note an approval that was just signed here, with the keys it trusts."""
    entry = {"last": approval.hash, "version": approval.record["version"]}
    _note(approval.root, approval.record["campaign"], entry)


def remember_keys(root: Path, campaign: str) -> None:
    """Note the keys that a campaign's list of signers holds now, as its trusted signer is about to sign it."""
    _note(root, campaign, {})


def _note(root: Path, campaign: str, entry: Mapping[str, Any]) -> None:
    with FileLock(_path().with_suffix(".lock")):
        content = _read()
        before = content.get(_key(root, campaign), {})
        content[_key(root, campaign)] = before | entry | {"keys": sorted(keys_in(root))}
        write_json(_path(), content)


def known_keys(root: Path, campaign: str) -> set[str] | None:
    """The keys this user trusted for a campaign when it was last signed here; None where it never was."""
    entry = _read().get(_key(root, campaign))
    return set(entry["keys"]) if entry else None


def check_keys(root: Path, campaign: str) -> None:
    """Refuse a list of signers that holds a key which this user, who knows the campaign, never trusted."""
    known = known_keys(root, campaign)
    if known is not None and not keys_in(root) <= known:
        raise Refused(
            "the list of trusted signers has a key that you never trusted; remove it from approvals/allowed_signers"
        )


def check(approval: Approval) -> None:
    """Refuse a campaign whose signers or history are not those that this user knows. A new machine knows nothing."""
    check_keys(approval.root, approval.record["campaign"])
    entry = _read().get(_key(approval.root, approval.record["campaign"]), {})
    if entry.get("last", approval.hash) not in history(approval):
        raise Refused(
            f"this is not the last approval you signed here (version {entry['version']}): the folder was rolled back; "
            "restore it, or sign what is here now: sophron approve"
        )


def history(approval: Approval) -> list[str]:
    """Hashes of the approvals that lead to this one, itself first, as far as the approval log goes."""
    records = {}
    for path in logged(approval.root):
        record = documents.load_json(path)
        records[file_digest(path)] = record.get("previous") if isinstance(record, dict) else None
    chain, previous = [approval.hash], approval.record["previous"]
    while previous and previous not in chain:
        chain.append(previous)
        previous = records.get(previous)
    return chain
