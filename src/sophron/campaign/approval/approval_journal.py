"""Putting a signed approval into force, through a journal that survives a kill.

The journal holds only what is signed (record, signature, spec text); what is to be moved follows from it. So a
journal that somebody else wrote does nothing, and a half applied one can always be finished.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sophron.campaign.approval import amendment_draft, invalidation, known_signers
from sophron.campaign.planning import host_plan
from sophron.campaign.spec import resource_requests
from sophron.campaign.spec.spec import SPEC_NAME, Spec, signed_spec
from sophron.records import approvals, documents, events, old_names, signatures, typed_json
from sophron.records.approvals import DRIVER_LOCK, ApprovalRecord
from sophron.records.digests import file_digest
from sophron.records.errors import Refused, UserError
from sophron.records.files import FileLock, LockHeldError, create_bytes, read_bytes, read_text, write_json, write_text
from sophron.records.typed_json import from_json, to_json


@dataclass(frozen=True)
class Journal:
    """A signed approval on its way into force. record: the exact signed text.

    config_texts: config file of a host workflow -> its new text, whose digest is signed.
    """

    record: str
    signature: str
    spec_text: str
    signers_text: str
    config_texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> ApprovalRecord:
        """The record that was signed. RecordError, a ValueError, for text that is none."""
        return from_json(ApprovalRecord, json.loads(self.record))


def begin(root: Path, journal: Journal) -> None:
    """Write the journal, then apply it. From the first write on, the approval is in force whatever happens.

    Raises Refused before that if the approval log is not whole.
    """
    approvals.check_log(root)
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
    journal = _read(root)
    try:
        approval = approvals.signed(root, journal.record.encode(), journal.signature, _path(root))
    except Refused as error:
        raise Refused(f"{_path(root)}: is not validly signed; remove it and look: sophron review ({error})") from None
    known_signers.check_keys(root, approval.record.campaign)
    last = approvals.newest(root)
    if last is not None and last.hash not in (approval.hash, approval.record.previous):
        raise Refused(f"{_path(root)}: does not follow the approval in force; remove it and look: sophron review")
    _apply(root, journal)
    return True


def restore_gate(root: Path) -> None:
    """Write a lost gate file again from the newest record of the log, which is still in force.

    Snakemake removes the outputs of every job that it is told to force (`-F`), and the gate file is one. Raises
    Refused, and writes nothing, if that record is not in force now, or not the last one that this user knows.
    """
    gate = approvals.gate_path(root)
    records = approvals.logged(root)
    if gate.is_symlink() or gate.exists() or _path(root).exists() or not records:
        return
    approvals.check_log(root)
    data, signature = read_bytes(records[-1]), read_text(records[-1].with_suffix(".sig"))
    approval = approvals.signed(root, data, signature, records[-1])
    approvals.check_in_force(approval)
    known_signers.check(approval)
    _write_gate(root, data.decode(), signature)


def _write_gate(root: Path, record: str, signature: str) -> None:
    write_json(approvals.gate_path(root), {"record": record, "signature": signature})


def _read(root: Path) -> Journal:
    """The journal on disk. UserError where it is none, or where its texts are not those that its record names."""
    try:
        journal = Journal(**documents.load_json(_path(root)))
        record = journal.content
        config = (record.amendment and record.amendment.config) or {}
        names = [(record.spec_file, journal.spec_text), (record.signers, journal.signers_text)]
        names += [(config[name], text) for name, text in journal.config_texts.items()]
        sound = all(hashlib.sha256(text.encode()).hexdigest() == name for name, text in names)
    except (TypeError, ValueError, KeyError, AttributeError):
        sound = False
    if not sound:
        raise UserError(f"{_path(root)}: is not a signed journal any more; remove it and sign again: sophron approve")
    return journal


def _path(root: Path) -> Path:
    return root / approvals.FOLDER / approvals.JOURNAL_NAME


def _apply(root: Path, journal: Journal) -> None:
    record = journal.content
    _log(root, journal)
    if record.amendment and record.previous:
        name = hashlib.sha256(journal.record.encode()).hexdigest()
        old, new = signed_spec(root, record.previous), signed_spec(root, name)
        previous = typed_json.load(approvals.signed_record(root, record.previous), ApprovalRecord)
        before = old_names.agents_now(previous.agents)
        agents = [rule for rule, digest in before.items() if record.agents.get(rule) != digest]
        invalidation.set_aside(root, record.amendment, old, new, agents, host=_stale(root, previous, record, new))
        by, time = f"amendment to version {record.version}", record.amendment.timestamp
        resource_requests.end_overlays(root, old.mechanical_blocks, new.mechanical_blocks, by=by, timestamp=time)
    for name, text in journal.config_texts.items():
        workdir = root / host_plan.signed(root, record.host).workdir
        write_text((workdir / name).resolve(), text)
    if file_digest(root / SPEC_NAME, missing_ok=True) != record.spec_file:
        write_text(root / SPEC_NAME, journal.spec_text)
    _tell(root, journal)
    _write_gate(root, journal.record, journal.signature)
    amendment_draft.drop_draft(root)
    _path(root).unlink()


def _stale(root: Path, previous: ApprovalRecord, record: ApprovalRecord, new: Spec) -> list[Path]:
    """Outputs of a host workflow that the amendment makes invalid."""
    if not (new.host and record.host and previous.host):
        return []
    found = host_plan.stale_outputs(root, previous, host_plan.signed(root, record.host))
    return [path for path in sorted(found.values()) if not path.is_relative_to(root.resolve())]  # ours are known


def _log(root: Path, journal: Journal) -> None:
    folder = root / approvals.FOLDER / approvals.LOG
    data = journal.record.encode()
    taken = approvals.logged(root)
    if any(read_bytes(path) == data for path in taken):
        return
    name = _free_name(folder, taken, journal.signature)
    write_text(folder / f"{name}.sig", journal.signature)
    write_text(folder / f"{name}.{SPEC_NAME}", journal.spec_text)
    write_text(folder / f"{name}.{signatures.SIGNERS_NAME}", journal.signers_text)
    create_bytes(folder / f"{name}.json", data)


def _free_name(folder: Path, taken: Sequence[Path], signature: str) -> str:
    """The number after the highest one: a record is never written over, whatever of the log was lost."""
    number = max((int(path.stem) for path in taken), default=0) + 1
    while (left := folder / f"{number:04d}.sig").is_file() and left.read_text() != signature:
        number += 1
    return f"{number:04d}"


def _tell(root: Path, journal: Journal) -> None:
    record = journal.content
    name = hashlib.sha256(journal.record.encode()).hexdigest()
    told, _ = events.read(root)
    if any(event["event"] == "approved" and event.get("record") == name for event in told):
        return
    amendment = record.amendment
    if amendment:
        events.append(root, "sophron", "amended", **to_json(amendment))
        for stage in amendment.invalidated_stages:
            events.append(root, "sophron", "invalidated", stage=stage, version=amendment.version - 1)
    events.append(root, "sophron", "approved", version=record.version, approver=record.approver, record=name)
