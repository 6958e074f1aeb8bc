"""The gate: approval records on disk and `require_approved`, the one function that says whether a step may run.

Standard library only, and no look at the user's configuration, which compute nodes lack. The cost of a check is
one `ssh-keygen` and the reading of the code and of the list of step identities.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from sophron.records import SPEC_NAME, WHOLE_CHECK, core_hours, digests, process_identity, signatures
from sophron.records.digests import digest, file_digest
from sophron.records.errors import Refused, UserError
from sophron.records.files import read_bytes, read_json
from sophron.records.typed_json import from_json, left_out

FOLDER = "approvals"
LOG = "log"
PLANS = "plans"
GATE_NAME = "gate.json"
JOURNAL_NAME = "journal.json"
DRIVER_LOCK = Path("records") / "driver.lock"
"""Held by the one process that drives or signs; its note says who that is, and what it has checked (`stamp`)."""


class Claim(NamedTuple):
    """What a step says it is, taken from its own command line.

    argv: the words after the program name. cores, memory_mb, runtime_min: what was reserved for this try.
    """

    rule: str
    digest: str
    stage: str
    wildcards: Mapping[str, str] = MappingProxyType({})
    argv: Sequence[str] = ()
    cores: int = 1
    memory_mb: int = 0
    runtime_min: int = 0


@dataclass(frozen=True)
class SignedTemplate:
    """What is signed of a rule whose steps are bounded. ranges: wildcard -> its values; bound: most steps."""

    shell: str
    digest: Mapping[str, str] | str
    ranges: Mapping[str, Sequence[str]]
    bound: int


@dataclass(frozen=True)
class Amendment:
    """A signed change of the spec. version: the one that it makes; who signed it, and when.

    config: config file of a host workflow -> hex sha256 of what it holds from then on.
    """

    version: int
    changes: Sequence[str]
    rationale: str
    invalidated_stages: list[str]
    approved_by: str = ""
    timestamp: str = ""
    config: Mapping[str, str] | None = left_out()


@dataclass(frozen=True)
class ApprovalRecord:
    """The signed content of an approval; fields with a default are not in those of early versions.

    spec, plan: digests; spec_file, steps, files, signers: hex sha256 of campaign.yaml, of the list of step identities,
    of the list of the code's files, of the list of signers; code: digest of each part of the code; rules: rule ->
    unformatted shell line; agents: rule -> digest, or digests by
    `wildcard=value`; names: `old_names.GENERATION`; ceilings: by stage, of one try;
    host: sha256 of the plan of a host workflow; shell: what stands around every
    shell line; shown: digest of the statement that was looked at; previous: hash of the record before.
    """

    campaign: str
    version: int
    approver: str
    time: str
    spec: str
    spec_file: str
    steps: str
    signers: str
    code: Mapping[str, str] | str
    rules: Mapping[str, str]
    templates: Mapping[str, SignedTemplate]
    ceilings: Mapping[str, Mapping[str, int]]
    envelope: Mapping[str, float]
    previous: str | None
    amendment: Amendment | None = None
    plan: str = ""
    files: str = ""
    kind_folder: str | None = None
    loaded: Sequence[str] = ()
    host: str = left_out("")
    shell: Sequence[str] = ("", "")
    names: int = left_out(1)
    agents: Mapping[str, Mapping[str, str] | str] = field(default_factory=dict)
    service_ceilings: Mapping[str, int] = field(default_factory=dict)
    resources: Sequence[str] = ()
    trusted: Sequence[str] = ()
    revoked: Sequence[str] = ()
    shown: str = ""
    nonce: str = ""


class Approval(NamedTuple):
    """A valid approval. record: the signed content; hash: hex sha256 of the signed bytes."""

    record: ApprovalRecord
    hash: str
    root: Path


def gate_path(root: Path) -> Path:
    """Return the path of the gate file of a campaign."""
    return root / FOLDER / GATE_NAME


def campaign_root(gate: Path) -> Path:
    """Return the campaign folder that a gate file belongs to; Refused for a gate file that lies elsewhere."""
    absolute = Path.cwd() / gate
    if absolute.name != GATE_NAME or absolute.parent.name != FOLDER:
        raise Refused(f"{gate}: is not the gate file of a campaign; it must be {FOLDER}/{GATE_NAME} in its folder")
    return absolute.parent.parent


def _read_gate(root: Path) -> tuple[bytes, str]:
    gate = gate_path(root)
    if gate.is_symlink() or gate.parent.is_symlink():
        raise Refused(f"{gate}: is a symbolic link; remove the link and sign here: sophron approve")
    if not gate.is_file():
        where = "" if root == Path.cwd() else f" {os.path.relpath(root)}"  # a host's Snakefile lies elsewhere
        raise Refused(
            f"{root.name}: the plan is not approved yet; look at it and sign: sophron review{where}, "
            f"sophron approve{where}"
        )
    try:
        content = read_json(gate)
        return content["record"].encode(), str(content["signature"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Refused(f"{gate}: is not a gate file any more; sign again: sophron approve") from None


def signed_gate(root: Path) -> Approval:
    """Return the approval in the gate file, its signature checked, its content not yet compared with anything."""
    return signed(root, *_read_gate(root), gate_path(root))


def parse(data: bytes | str, where: Path) -> ApprovalRecord:
    """Return the approval record in `data`, signed or not; Refused if it is not one."""
    try:
        return from_json(ApprovalRecord, json.loads(data))
    except (ValueError, RecursionError):
        raise Refused(f"{where}: holds no approval record; sign again: sophron approve") from None


def signed(root: Path, data: bytes, signature: str, where: Path, *, revocation: bool = True) -> Approval:
    """Return the approval in `data`, its signature checked; Refused if it is not one, or not validly signed."""
    record = parse(data, where)
    signatures.verify(
        data,
        signature,
        approvals=root / FOLDER,
        approver=record.approver,
        campaign=record.campaign,
        signed_at=_keygen_time(record.time),
        revocation=revocation,
        meanwhile=digests.library_files,  # the code is read while ssh-keygen runs
    )
    return Approval(record, hashlib.sha256(data).hexdigest(), root)


def logged(root: Path) -> list[Path]:
    """Return the paths of the records in the approval log, oldest first."""
    return sorted((root / FOLDER / LOG).glob("[0-9]*.json"), key=lambda path: (len(path.name), path.name))


def signed_file(root: Path, record_hash: str, name: str) -> Path:
    """Where the log keeps a file as it was when the record with this hash was signed."""
    record = signed_record(root, record_hash)
    found = record.with_name(f"{record.stem}.{name}")
    if not found.is_file():
        raise UserError(f"{found}: is not in the approval log any more; restore the folder")
    return found


def signed_record(root: Path, record_hash: str) -> Path:
    """Where the log keeps the record with this hash."""
    for path in logged(root):
        if file_digest(path) == record_hash:
            return path
    raise UserError(f"{root / FOLDER / LOG}: a signed record is not in the approval log; restore the folder")


def newest(root: Path) -> Approval | None:
    """Return the last approval of the log, its signature checked; None before the first one.

    It is the one to go on from even if somebody removed the gate file, put an older one in its place, or
    revoked its key.
    """
    records = logged(root)
    if not records:
        gate = gate_path(root)
        if gate.is_symlink() or gate.exists():
            raise Refused(f"{root / FOLDER / LOG}: the approval log is missing though there is a gate file; restore it")
        return None
    check_log(root)
    try:
        signature = records[-1].with_suffix(".sig").read_text()
        return signed(root, records[-1].read_bytes(), signature, records[-1], revocation=False)
    except FileNotFoundError as error:
        raise Refused(f"{error.filename}: is missing; restore the approval log from your copy") from None


def check_log(root: Path) -> None:
    """Refuse an approval log in which a record does not follow the one before: lost ones, or a foreign one."""
    previous = None
    for path in logged(root):
        data = read_bytes(path)
        try:
            follows = json.loads(data)["previous"] == previous
        except (ValueError, KeyError, TypeError):
            follows = False
        if not follows and _is_signed(root, path, data):
            raise Refused(f"{path}: the record that it follows is missing; restore the approval log from your copy")
        if not follows:
            raise Refused(f"{path}: is not a signed record of this campaign; move it out of the approval log")
        previous = hashlib.sha256(data).hexdigest()


def _is_signed(root: Path, path: Path, data: bytes) -> bool:
    try:
        signed(root, data, path.with_suffix(".sig").read_text(), path, revocation=False)
    except (Refused, OSError, ValueError):
        return False
    return True


def _keygen_time(time: str) -> str:
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        raise Refused("the approval record has no valid time; sign again: sophron approve") from None
    return moment.astimezone(UTC).strftime("%Y%m%d%H%M%SZ")


def valid_approval(root: Path) -> Approval:
    """Return the approval in force: signed by a trusted key, for this spec, this code and these signers."""
    if (root / FOLDER / JOURNAL_NAME).exists():
        raise Refused(f"{root.name}: a signed amendment is half applied; finish it with: sophron review")
    approval = signed_gate(root)
    check_in_force(approval)
    return approval


def check_in_force(approval: Approval) -> None:
    """Refuse an approval that is not the newest of its log, or not for the spec, the code and the signers of now."""
    root, record = approval.root, approval.record
    records = logged(root)
    if not records or file_digest(records[-1], missing_ok=True) != approval.hash:
        check_log(root)
        raise Refused(
            f"{gate_path(root)}: is not the newest approval of this campaign's log; "
            "put the newest one back into force by signing it again: sophron approve"
        )
    if file_digest(root / FOLDER / signatures.SIGNERS_NAME, missing_ok=True) != record.signers:
        raise Refused("the list of trusted signers was changed since the approval; a trusted signer must sign again")
    forgotten = set(record.revoked) - signatures.keys_in(root / FOLDER / signatures.REVOKED_NAME)
    if forgotten:
        raise Refused(
            f"{root / FOLDER / signatures.REVOKED_NAME}: lacks a key that was revoked when the approval was signed; "
            "restore it from your copy, or revoke the key again: sophron signer revoke"
        )
    _check_spec(root, record)
    _check_code(root, record)


def _check_code(root: Path, record: ApprovalRecord) -> None:
    """Refuse files of the installation or of the campaign's own workflow that are not the signed ones."""
    if not isinstance(record.code, dict):
        raise Refused("the approval is an earlier Sophron's, which signed less; sign again: sophron review, approve")
    files = digests.read_code(root, record.kind_folder, record.loaded)
    now = digests.code_digests(files)
    parts = [part for part in digests.PARTS if now[part] != record.code.get(part)]
    if not parts:
        return
    changed = digests.changed_files(signed_files(root, record), files, parts)
    names = digests.first_names(changed) or "files that cannot be named"
    if parts == ["harness"]:
        raise Refused(
            f"the rules or the code changed since the approval, in the harness alone ({names}); "
            "see that the plan is the same and sign: sophron approve --renew"
        )
    raise Refused(
        f"the rules or the code changed since the approval ({' and '.join(parts)}: {names}); "
        "look at it and sign: sophron review, sophron approve"
    )


def signed_files(root: Path, record: ApprovalRecord) -> digests.CodeFiles:
    """Return the files of the code as they were signed; empty if nobody kept their list. It only names what changed."""
    path = root / FOLDER / PLANS / f"{record.files}.files"
    if file_digest(path, missing_ok=True) != record.files:
        return {}
    found: digests.CodeFiles = json.loads(path.read_bytes())
    return found


def _check_spec(root: Path, record: ApprovalRecord) -> None:
    path = root / SPEC_NAME
    if file_digest(path, missing_ok=True) == record.spec_file:
        return
    # Comments and layout may change freely; only then is the YAML reader worth its import.
    from sophron.records.documents import load_yaml

    data = load_yaml(path).data
    if isinstance(data, dict) and data.get("campaign") != record.campaign:
        raise Refused(f"the approval is for the campaign {record.campaign}, not for this one: sophron approve")
    if digest(data) != record.spec:
        raise Refused(f"campaign.yaml was changed since version {record.version} was signed: sophron amend")


def stamp(approval: Approval) -> dict[str, str]:
    """Return what a driver that has checked an approval notes in its lock, so that its steps need not check all."""
    return {"approval": approval.hash, "keys": _keys(approval.root)}


def in_force(root: Path) -> Approval:
    """Return the approval in force, as the driver of this machine checked it or else by a full check."""
    approval = _checked_by_driver(root)
    if approval is None:
        return valid_approval(root)
    _check_spec(root, approval.record)
    return approval


def _keys(root: Path) -> str:
    names = (signatures.SIGNERS_NAME, signatures.REVOKED_NAME)
    return "".join(file_digest(root / FOLDER / name, missing_ok=True) for name in names)


def _checked_by_driver(root: Path) -> Approval | None:
    """The approval in the gate file if the driver that runs on this machine has checked it and the code.

    None for a step that no such driver started: without hooks, of a host that does not call `begin`, typed by hand,
    on another node. It has to check for itself. An edit of the code while a driver runs shows at its next start, or
    once the fork server of a local run sees it.
    """
    if os.environ.get(WHOLE_CHECK):
        return None
    try:
        note = json.loads((root / DRIVER_LOCK).read_bytes())
        if not isinstance(note, dict) or "approval" not in note or not process_identity.alive(note):
            return None
        data, _ = _read_gate(root)
        approval = Approval(from_json(ApprovalRecord, json.loads(data)), hashlib.sha256(data).hexdigest(), root)
        return approval if stamp(approval).items() <= note.items() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def require_approved(claim: Claim, root: Path) -> Approval:
    """Let a step begin, or raise Refused with one sentence that says what changed and which command comes next."""
    approval = in_force(root)
    record = approval.record
    name = digests.step_name(claim.rule, claim.wildcards)
    template = record.templates.get(claim.rule)
    shell = template.shell if template else record.rules.get(claim.rule)
    if shell is None:
        raise Refused(f"the rule {claim.rule} is not in the signed plan: sophron review, sophron approve")
    if not digests.fits_shell_line(shell, claim.argv):
        raise Refused(f"the step {name} was called with another shell line than the signed one; use the rule as it is")
    _check_agent(claim, record, root)
    if template:
        _check_template(claim, name, template)
    else:
        _check_listed(claim, name, shell, record, root)
    _check_reserved(claim, name, record)
    _check_envelope(root, name, record)
    return approval


def _check_agent(claim: Claim, record: ApprovalRecord, root: Path) -> None:
    """An agent step whose agent is another one says so: its prompt, a skill, its schema, tools or model."""
    if claim.digest == digests.signed_digest(record.agents.get(claim.rule, claim.digest), claim.wildcards):
        return
    files = digests.read_code(root, record.kind_folder, record.loaded)
    names = digests.changed_files(signed_files(root, record), files, [digests.PROMPTS])
    raise Refused(another_agent(claim.rule, names))


def another_agent(rule: str, names: Sequence[str]) -> str:
    """Return the sentence for an agent that is not the signed one. names: prompts and skills that changed."""
    changed = f" ({digests.first_names(names)} changed)" if names else ""
    return (
        f"the agent behind {rule} has another digest than the signed one{changed}; "
        "draft the change: sophron amend --rationale 'why'"
    )


def _check_template(claim: Claim, name: str, template: SignedTemplate) -> None:
    """A step that was bounded, not listed: its agent or stage is the signed one, its wildcards are in their ranges."""
    if claim.digest != digests.signed_digest(template.digest, claim.wildcards):
        raise Refused(
            f"the step {name} has another digest than the signed one; what it stands for changed: sophron amend"
        )
    ranges = template.ranges
    if set(claim.wildcards) != set(ranges) or any(value not in ranges[key] for key, value in claim.wildcards.items()):
        raise Refused(f"the step {name} is beyond the {template.bound} that the plan has of {claim.rule}")


def _check_listed(claim: Claim, name: str, shell: str, record: ApprovalRecord, root: Path) -> None:
    listing = root / FOLDER / PLANS / f"{record.steps}.steps"
    if file_digest(listing, missing_ok=True) != record.steps:
        raise Refused(f"{listing}: the signed list of steps is missing or changed; sign again: sophron approve")
    if not digests.is_listed(listing, digests.step_identity(claim.rule, shell, claim.digest, claim.wildcards)):
        raise Refused(f"the step {name} is not in the signed plan: sophron review, sophron amend")


def _check_reserved(claim: Claim, name: str, record: ApprovalRecord) -> None:
    ceilings = record.ceilings.get(claim.stage, {})
    wanted = {"cores": claim.cores, "memory_mb": claim.memory_mb, "runtime_min": claim.runtime_min}
    for key, value in wanted.items():
        if key in ceilings and value > ceilings[key]:
            raise Refused(f"the step {name} reserves {key} {value}, above the signed ceiling {ceilings[key]}; lower it")


def _check_envelope(root: Path, name: str, record: ApprovalRecord) -> None:
    used, limit = core_hours.core_hours(root), record.envelope["core_hours"]
    if used >= limit:
        raise Refused(
            f"the step {name} would begin after {used:.3f} core-hours, beyond the signed envelope of {limit}; "
            "raise limits.core_hours with: sophron amend"
        )
