"""Putting a signed approval into force, through a journal that survives a kill.

The journal holds only what is signed (record, signature, spec text); what is to be moved follows from it. So a
journal that somebody else wrote does nothing, and a half applied one can always be finished.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from sophron.campaign.approval import known_signers
from sophron.campaign.execution import outcome_store
from sophron.campaign.spec import amendment_draft, stage_resources
from sophron.campaign.spec.spec import SPEC_NAME, Spec, load
from sophron.interfaces.kind import StageKind
from sophron.records import approvals, documents, events, old_names, signatures, typed_json
from sophron.records.approvals import DRIVER_LOCK, Amendment, ApprovalRecord
from sophron.records.digests import file_digest
from sophron.records.errors import Refused, UserError
from sophron.records.file_lock import FileLock, LockHeldError
from sophron.records.files import create_bytes, move, read_bytes, read_text, write_json, write_text
from sophron.records.typed_json import from_json, to_json

REPORT = (*outcome_store.REPORT_NAMES, "signed")


@dataclass(frozen=True)
class Journal:
    """A signed approval on its way into force. record: the exact signed text."""

    record: str
    signature: str
    spec_text: str
    signers_text: str

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
        names = {journal.content.spec_file: journal.spec_text, journal.content.signers: journal.signers_text}
        sound = all(hashlib.sha256(text.encode()).hexdigest() == name for name, text in names.items())
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
        before = old_names.agents_now(typed_json.load(_signed_record(root, record.previous), ApprovalRecord).agents)
        agents = [rule for rule, digest in before.items() if record.agents.get(rule) != digest]
        _set_aside(root, record.amendment, old, new, agents)
        by, time = f"amendment to version {record.version}", record.amendment.timestamp
        stage_resources.end_overlays(root, old.mechanical_blocks, new.mechanical_blocks, by=by, timestamp=time)
    if file_digest(root / SPEC_NAME, missing_ok=True) != record.spec_file:
        write_text(root / SPEC_NAME, journal.spec_text)
    _tell(root, journal)
    _write_gate(root, journal.record, journal.signature)
    amendment_draft.drop(root)
    _path(root).unlink()


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


def signed_text(root: Path, record_hash: str, name: str) -> str:
    """A file as it was when the record with this hash was signed (`campaign.yaml` or `allowed_signers`)."""
    return read_text(signed_file(root, record_hash, name))


def signed_file(root: Path, record_hash: str, name: str) -> Path:
    """Where the log keeps a file as it was when the record with this hash was signed."""
    record = _signed_record(root, record_hash)
    found = record.with_name(f"{record.stem}.{name}")
    if not found.is_file():
        raise UserError(f"{found}: is not in the approval log any more; restore the folder")
    return found


def _signed_record(root: Path, record_hash: str) -> Path:
    """Where the log keeps the record with this hash."""
    for path in approvals.logged(root):
        if file_digest(path) == record_hash:
            return path
    raise UserError(
        f"{root / approvals.FOLDER / approvals.LOG}: a signed record is not in the approval log; restore the folder"
    )


def signed_spec(root: Path, record_hash: str) -> Spec:
    """The spec as it was signed with the record of this hash."""
    return load(signed_file(root, record_hash, SPEC_NAME))


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


def _set_aside(root: Path, amendment: Amendment, old: Spec, new: Spec, agents: list[str]) -> None:
    """Move what the amended stages and agents left to `invalidated/v<superseded version>/`; nothing is deleted.

    Old verdicts of stages that are only judged anew go there too: a missing verdict is made again whatever else
    runs, while Snakemake does not look at the params of a step behind another one that runs.
    """
    stages = amendment.invalidated_stages
    verdicts = [name for name in _judged_anew(old, new) if name not in stages]
    if not stages and not verdicts and not agents:
        return
    target = root / "invalidated" / f"v{old.version}"
    for source in _left_by(root, old, stages) + _verdicts_of(root, old, verdicts) + _answers_of(root, agents):
        inside = source.relative_to(root) if source.is_relative_to(root) else Path("outside", *source.parts[1:])
        if not (target / inside).exists():
            move(source, target / inside)
    paths = sorted(path for path in target.rglob("*") if path.is_file() and path.name != "manifest.json")
    entries = [
        {"file": str(path.relative_to(target)), "sha256": file_digest(path), "bytes": path.stat().st_size}
        for path in paths
    ]
    manifest = {"superseded_version": old.version, "invalidated_stages": stages, "repeated_verdicts": verdicts}
    manifest["amended_agents"] = agents
    write_json(target / "manifest.json", manifest | {"files": entries})


def _judged_anew(old: Spec, new: Spec) -> list[str]:
    """Stages of both specs whose criteria changed, or the steps that they are judged by."""
    both = [stage.name for stage in new.stages if stage in old.stages]
    return [
        name
        for name in both
        if old.criteria_digest(name) != new.criteria_digest(name) or old.steps(name) != new.steps(name)
    ]


def _left_by(root: Path, spec: Spec, stages: list[str]) -> list[Path]:
    """Everything that the steps of these stages left: outputs, verdicts, scratch, and the report over them.

    Steps are found by their records: an earlier version may have had more of them.
    """
    found: set[Path] = set()
    for stage in (one for one in spec.stages if one.name in stages):
        for folder in (root / "scratch").glob("*/*"):
            if _is_of(stage, folder.name) and folder.is_dir():
                found.add(folder)
        for step, outcome in _noted(root, stage):
            found.update(outcome.parent / name for name in [outcome.name, *stage.outputs.values()])
            common = outcome.parents[len(stage.wildcards)]
            found.update(common / name for name in ("verdict.json", "accepted.json", "passed"))
            found.update(common.parent / name for name in REPORT)
            found.add(outcome_store.record_folder(root, step) / outcome_store.PUBLISHED_NAME)
        found.update(_left_by_loop(root, stage))
    # Notes of where things lie are moved last: a kill in between must find the rest again.
    return sorted((path for path in found if path.exists()), key=lambda path: path.name == outcome_store.PUBLISHED_NAME)


def outputs(root: Path, spec: Spec, stage: str) -> list[Path]:
    """The results and verdicts of a stage that an amendment which invalidates it moves away."""
    notes = (root / "records", root / "scratch")
    left = (path for path in _left_by(root, spec, [stage]) if path.is_file())
    return [path for path in left if path.name not in REPORT and not any(map(path.is_relative_to, notes))]


def _left_by_loop(root: Path, stage: StageKind) -> Iterator[Path]:
    """What the parts of a stage and its agents left."""
    for unit in map(stage.unit, stage.parts):
        yield from (folder for folder in (root / "scratch").glob("*/*") if _is_of(unit, folder.name))
        for step, outcome in _noted(root, unit):
            yield from (outcome.parent / name for name in [outcome.name, *unit.outputs.values()])
            yield outcome_store.record_folder(root, step) / outcome_store.PUBLISHED_NAME
    for asked in stage.agents:
        yield from _answers_of(root, [asked.rule])


def _verdicts_of(root: Path, spec: Spec, stages: list[str]) -> list[Path]:
    """The verdicts of these stages. What was accepted stays: what builds on it is not judged anew."""
    found: set[Path] = set()
    for stage in (one for one in spec.stages if one.name in stages):
        for _, outcome in _noted(root, stage):
            common = outcome.parents[len(stage.wildcards)]
            found.update(common / name for name in ("verdict.json", "passed"))
    return sorted(path for path in found if path.exists())


def _answers_of(root: Path, agents: list[str]) -> list[Path]:
    """The answers of agent steps by rule with what their tools left, and the report, which quotes them."""
    found: set[Path] = set()
    for rule in (name for asked in agents for name in old_names.rules(asked)):
        for folder in (*(root / "records").glob(rule), *(root / "records").glob(f"{rule}-*")):
            answer = outcome_store.noted(root, folder.name)
            if answer is not None:
                names = (*outcome_store.REPORT_NAMES, *outcome_store.beside(root, folder.name))
                found.update([answer, *(answer.with_name(name) for name in names)])
    return sorted(path for path in found if path.exists())


def _noted(root: Path, stage: StageKind) -> Iterator[tuple[str, Path]]:
    """Name and outcome path of every step of a stage that was ever finished."""
    for folder in sorted((root / "records").glob(f"{stage.name}*")):
        outcome = outcome_store.noted(root, folder.name) if _is_of(stage, folder.name) else None
        if outcome is not None:
            yield folder.name, outcome


def _is_of(stage: StageKind, name: str) -> bool:
    return name == stage.name or name.startswith(f"{stage.name}-")
