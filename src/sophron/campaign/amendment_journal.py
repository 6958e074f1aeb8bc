"""Putting a signed approval into force, through a journal that survives a kill.

The journal holds only what is signed (record, signature, spec text); what is to be moved follows from it. So a
journal that somebody else wrote does nothing, and a half applied one can always be finished.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sophron.campaign import draft, results
from sophron.campaign.locks import DRIVER_LOCK
from sophron.campaign.spec import SPEC_NAME, Spec, load
from sophron.records import approvals, documents, events, signatures
from sophron.records.atomic import move, write_bytes, write_json, write_text
from sophron.records.canonical import file_digest
from sophron.records.errors import UserError
from sophron.records.locks import FileLock, LockHeldError

LOG = "log"


@dataclass(frozen=True)
class Journal:
    """A signed approval on its way into force. record: the exact signed text."""

    record: str
    signature: str
    spec_text: str
    signers_text: str

    @property
    def content(self) -> Mapping[str, Any]:
        """The record as plain data."""
        content: Mapping[str, Any] = json.loads(self.record)
        return content


def begin(root: Path, journal: Journal) -> None:
    """Write the journal, then apply it. From the first write on, the approval is in force whatever happens."""
    write_json(_path(root), asdict(journal))
    _apply(root, journal)


def finish(root: Path) -> bool:
    """Finish what a kill left; whether there was anything. Another process that is at it is left alone."""
    if not _path(root).is_file():
        return False
    try:
        with FileLock(root / DRIVER_LOCK, blocking=False):
            return finish_locked(root)
    except LockHeldError:
        return False


def finish_locked(root: Path) -> bool:
    """`finish` for a process that holds the campaign already."""
    if not _path(root).is_file():
        return False
    try:
        journal = Journal(**documents.load_json(_path(root)))
    except TypeError:
        raise UserError(
            f"{_path(root)}: is not a journal any more; remove it and sign again: sophron approve"
        ) from None
    record = journal.content
    signatures.verify(
        journal.record.encode(),
        journal.signature,
        approvals=root / approvals.FOLDER,
        approver=str(record["approver"]),
        campaign=str(record["campaign"]),
    )
    if hashlib.sha256(journal.spec_text.encode()).hexdigest() != record["spec_file"]:
        raise UserError(f"{_path(root)}: its spec is not the signed one; remove it and sign again: sophron approve")
    _apply(root, journal)
    return True


def _path(root: Path) -> Path:
    return root / approvals.FOLDER / approvals.JOURNAL_NAME


def _apply(root: Path, journal: Journal) -> None:
    record = journal.content
    amendment = record["amendment"]
    if amendment:
        _invalidate(root, record)
    _log(root, journal)
    if (root / SPEC_NAME).read_bytes() != journal.spec_text.encode():
        write_text(root / SPEC_NAME, journal.spec_text)
    _tell(root, journal)
    write_json(approvals.gate_path(root), {"record": journal.record, "signature": journal.signature})
    draft.drop(root)
    _path(root).unlink()


def _log(root: Path, journal: Journal) -> None:
    folder = root / approvals.FOLDER / LOG
    data = journal.record.encode()
    taken = sorted(folder.glob("[0-9]*.json"))
    if any(path.read_bytes() == data for path in taken):
        return
    name = f"{len(taken) + 1:04d}"
    write_text(folder / f"{name}.sig", journal.signature)
    write_text(folder / f"{name}.{SPEC_NAME}", journal.spec_text)
    write_text(folder / f"{name}.{signatures.SIGNERS_NAME}", journal.signers_text)
    write_bytes(folder / f"{name}.json", data)


def signed_text(root: Path, record_hash: str, name: str) -> str:
    """A file as it was when the record with this hash was signed (`campaign.yaml` or `allowed_signers`)."""
    for path in (root / approvals.FOLDER / LOG).glob("[0-9]*.json"):
        if file_digest(path) == record_hash:
            return path.with_name(f"{path.stem}.{name}").read_text(encoding="utf-8")
    raise UserError(
        f"{root / approvals.FOLDER / LOG}: the signed {name} is not in the approval log; restore the folder"
    )


def _tell(root: Path, journal: Journal) -> None:
    record = journal.content
    name = hashlib.sha256(journal.record.encode()).hexdigest()
    told, _ = events.read(root)
    if any(event["event"] == "approved" and event.get("record") == name for event in told):
        return
    amendment = record["amendment"]
    if amendment:
        events.append(root, "sophron", "amended", **amendment)
        for stage in amendment["invalidated_stages"]:
            events.append(root, "sophron", "invalidated", stage=stage, version=amendment["version"] - 1)
    events.append(root, "sophron", "approved", version=record["version"], approver=record["approver"], record=name)


def _invalidate(root: Path, record: Mapping[str, Any]) -> None:
    """Move what the amended stages left to `invalidated/v<superseded version>/`; nothing is deleted."""
    superseded = record["amendment"]["version"] - 1
    stages = record["amendment"]["invalidated_stages"]
    if not stages:
        return
    old = _superseded_spec(root, record["previous"])
    target = root / "invalidated" / f"v{superseded}"
    for source in _left_by(root, old, stages):
        inside = source.relative_to(root) if source.is_relative_to(root) else Path("outside", *source.parts[1:])
        if not (target / inside).exists():
            move(source, target / inside)
    paths = sorted(path for path in target.rglob("*") if path.is_file() and path.name != "manifest.json")
    entries = [
        {"file": str(path.relative_to(target)), "sha256": file_digest(path), "bytes": path.stat().st_size}
        for path in paths
    ]
    manifest = {"superseded_version": superseded, "invalidated_stages": stages, "files": entries}
    write_json(target / "manifest.json", manifest)


def _superseded_spec(root: Path, previous: str) -> Spec:
    for path in (root / approvals.FOLDER / LOG).glob("[0-9]*.json"):
        if file_digest(path) == previous:
            return load(path.with_name(f"{path.stem}.{SPEC_NAME}"))
    raise UserError(f"{root / approvals.FOLDER / LOG}: the superseded approval is not in the log; restore the folder")


def _left_by(root: Path, spec: Spec, stages: list[str]) -> list[Path]:
    """Everything that the steps of these stages left: outputs, verdicts, scratch, and the report over them."""
    found: set[Path] = set()
    for stage in (one for one in spec.stages if one.name in stages):
        for wildcards in spec.steps(stage.name):
            step = results.step_name(stage.name, wildcards)
            found.update((root / "scratch").glob(f"*/{step}"))
            outcome = results.published(root, step)
            if outcome is None:
                continue
            found.update(outcome.parent / name for name in [outcome.name, *stage.outputs.values()])
            folder = outcome.parents[len(wildcards)]
            found.update(folder / name for name in ("verdict.json", "accepted.json", "passed"))
            found.update(folder.parent / name for name in ("report.html", "ro-crate-metadata.json"))
            found.add(results.record_folder(root, step) / results.PUBLISHED_NAME)
    # Notes of where things lie are moved last: a kill in between must find the rest again.
    return sorted((path for path in found if path.exists()), key=lambda path: path.name == results.PUBLISHED_NAME)
