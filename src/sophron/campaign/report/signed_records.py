"""Hold what a campaign keeps of its approvals and amendments against what was signed and what lies there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from sophron.campaign.approval import invalidation
from sophron.campaign.report.compare_values import MISSING, Pair, pairs
from sophron.campaign.spec.spec import SPEC_NAME, load, signed_spec
from sophron.records import approvals, documents, old_names
from sophron.records.digests import digest, file_digest
from sophron.records.errors import Refused, UserError
from sophron.records.signatures import SIGNERS_NAME

Found = tuple[Path, list[Pair]]
"""A file, and pairs of what it says or is, and what that should be."""


def signatures(root: Path) -> Iterator[Found]:
    """Yield each record of the approval log with whether its signature holds, and the files that it names."""
    for path in approvals.logged(root):
        yield path, [("signature", "valid", _signature(root, path))]
    for path, record in _records(root):
        for name, signed in ((SPEC_NAME, record.spec_file), (SIGNERS_NAME, record.signers)):
            kept = path.with_name(f"{path.stem}.{name}")
            yield kept, [("sha256 as it was signed", signed, file_digest(kept, missing_ok=True) or MISSING)]
    for path in sorted((root / approvals.FOLDER / approvals.PLANS).glob("*.*")):
        yield path, [("sha256, its name", path.stem, file_digest(path))]


def in_force(root: Path) -> Iterator[Found]:
    """Yield the gate file and `campaign.yaml`, held against the last approval of the log."""
    if not approvals.logged(root):
        return
    log = root / approvals.FOLDER / approvals.LOG
    try:
        newest = approvals.newest(root)
    except (Refused, OSError) as error:
        yield log, [("chain of approvals", "whole", str(error))]
        return
    if newest is None:
        return
    yield approvals.gate_path(root), [("approval", newest.hash, _gate(root))]
    spec = root / SPEC_NAME
    yield spec, [("digest of the spec", newest.record.spec, digest(documents.load_yaml(spec).data))]


def set_aside(root: Path) -> Iterator[Found]:
    """Yield the manifest of each amendment, with what it would say today. UserError, Refused if nobody can tell."""
    amended = {f"v{record.version - 1}": (path, record) for path, record in reversed(list(_records(root)))}
    for folder in sorted((root / "invalidated").glob("v*")):
        manifest = folder / invalidation.MANIFEST
        recorded = documents.load_json(manifest) if manifest.is_file() else MISSING
        if folder.name not in amended:
            yield manifest, [("superseded_version", folder.name, "no version that was amended")]
            continue
        yield manifest, pairs(_by_file(recorded), _by_file(_manifest(root, folder, *amended[folder.name])))


def _manifest(root: Path, folder: Path, path: Path, record: approvals.ApprovalRecord) -> dict[str, object]:
    """What the manifest of the amendment in a record, which lies at `path`, would say of what lies in the folder."""
    previous, amendment = str(record.previous), record.amendment
    before = approvals.signed_record(root, previous)
    signed = old_names.agents_now(approvals.parse(before.read_bytes(), before).agents)
    agents = [rule for rule, one in signed.items() if record.agents.get(rule) != one]
    stages = list(amendment.invalidated_stages) if amendment else []
    new = load(path.with_name(f"{path.stem}.{SPEC_NAME}"))
    return invalidation.manifest(folder, stages, signed_spec(root, previous), new, agents)


def _by_file(manifest: object) -> object:
    """The manifest with its files by name, so that one that is lost is not taken for all that follow it."""
    if not isinstance(manifest, Mapping):
        return manifest
    return {**manifest, "files": {str(one["file"]): one for one in manifest["files"]}}


def _records(root: Path) -> Iterator[tuple[Path, approvals.ApprovalRecord]]:
    """Path and content of each record that can be read, oldest first."""
    for path in approvals.logged(root):
        try:
            yield path, approvals.parse(path.read_bytes(), path)
        except Refused:
            continue


def _signature(root: Path, path: Path) -> str:
    try:
        approvals.signed(root, path.read_bytes(), path.with_suffix(".sig").read_text(), path, revocation=False)
    except (Refused, UserError, OSError, ValueError) as error:
        return str(error)
    return "valid"


def _gate(root: Path) -> str:
    try:
        return approvals.signed_gate(root).hash
    except (Refused, UserError, OSError, ValueError) as error:
        return str(error)
