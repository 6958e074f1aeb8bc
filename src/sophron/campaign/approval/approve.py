"""Signing: the statement that a person looks at, and the record that is signed and put into force.

Also whether a draft could be signed at all, and what a renewal after an upgrade signs again.
"""

import getpass
import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sophron.campaign.approval import amendment_draft, approval_journal, known_signers
from sophron.campaign.approval.approval_journal import Journal
from sophron.campaign.planning import host_config, host_plan
from sophron.campaign.planning.campaign_agents import Digests, Template
from sophron.campaign.planning.plan import Plan, PlannedStep, host_workdir, make
from sophron.campaign.spec import criteria_review, scope_exclusions
from sophron.campaign.spec.pitfalls import Findings, ProbeSpec, hits
from sophron.campaign.spec.spec import DRAFT_SPEC_NAME, SPEC_NAME, Spec, load, signed_spec
from sophron.records import approvals, clock, documents, files, old_names, process_identity, signatures
from sophron.records.approvals import FOLDER
from sophron.records.digests import PARTS, changed_files, code_digests
from sophron.records.errors import Refused, UserError, shown
from sophron.records.files import read_text, write_text
from sophron.records.typed_json import to_json

SHOWN_DIGITS = 12


@dataclass(frozen=True)
class Proposal:
    """What would be signed now. statement: the exact text shown; plan: what it stands for.

    findings: what the probes say of its spec, None if they were not asked; signed: the spec that a draft amends.
    """

    root: Path
    plan: Plan
    statement: str
    amendment: amendment_draft.Draft | None
    findings: Findings | None = None
    signed: Spec | None = None

    @property
    def digest(self) -> str:
        """Hex sha256 of the shown bytes."""
        return hashlib.sha256(self.statement.encode()).hexdigest()


def propose(root: Path, snakefile: Path | None = None, probe: ProbeSpec | None = None) -> Proposal:
    """Return the proposal for what is in the folder: a first plan, the same plan again, or a drafted amendment.

    probe: runs the pitfall probes; a proposal without their findings cannot be signed.
    Raises UserError for a spec that was changed without a draft.
    """
    drafted = amendment_draft.read_draft(root)
    in_force = approvals.newest(root)
    if drafted and (in_force is None or drafted.base != in_force.hash):
        raise UserError("the draft amends an approval that is no longer in force; draft it again: sophron amend")
    spec = load(root / approvals.FOLDER / DRAFT_SPEC_NAME if drafted else root / SPEC_NAME)
    if in_force and not drafted and spec.digest != in_force.record.spec:
        raise UserError(
            f"{root / SPEC_NAME}: was changed since version {in_force.record.version} was signed; "
            "draft the change: sophron amend --rationale 'why'"
        )
    changed = amendment_draft.agents_changed(root, spec, in_force.record.agents) if in_force else []
    if changed and not drafted:
        told = "; ".join(map(amendment_draft.another_agent, changed))
        raise UserError(f"{told} than was signed; draft the change: sophron amend --rationale 'why'")
    old = signed_spec(root, in_force.hash) if in_force and drafted else None
    plan = make(root, spec, snakefile, drafted.config if drafted else None)
    host = host_plan.changes(root, in_force.record, plan.host) if in_force else []
    if host and not drafted:
        raise UserError(f"{'; '.join(host)}: not as signed; draft the change: sophron amend --rationale 'why'")
    if drafted and old and in_force:
        changes = [
            *amendment_draft.differences(old.data, spec.data),
            *amendment_draft.config_changes(root, in_force.record, drafted.config),
            *map(amendment_draft.another_agent, changed),
            *host,
        ]
        rules = host_plan.stale_rules(root, in_force.record, plan.host)
        _check_draft(drafted, spec, changes, amendment_draft.invalidated(old, spec, changed, rules))
    statement = plan.statement(root) | {
        "previous": in_force.hash if in_force else None,
        "amendment": _amendment(drafted, _config_texts(root, spec, drafted)) if drafted else None,
        "trusted": known_signers.fingerprints(root),
        "revoked": sorted(known_signers.revoked_in(root)),
    }
    text = json.dumps(statement, indent=2, sort_keys=True) + "\n"
    return Proposal(root, plan, text, drafted, None if probe is None else probe(spec), old)


def _config_texts(root: Path, spec: Spec, drafted: amendment_draft.Draft | None) -> dict[str, str]:
    """Return config file of the host workflow -> its text once the draft is signed, of those that the draft edits."""
    if drafted is None or spec.host is None:
        return {}
    workdir = host_workdir(root, spec.host)
    return {name: host_config.edited(workdir / name, edits) for name, edits in drafted.config.items()}


def _amendment(drafted: amendment_draft.Draft, config: Mapping[str, str]) -> dict[str, object]:
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in config.items()}
    return ({"config": digests} if digests else {}) | {
        "version": drafted.version,
        "changes": drafted.changes,
        "rationale": drafted.rationale,
        "invalidated_stages": drafted.invalidated_stages,
    }


def _check_draft(drafted: amendment_draft.Draft, spec: Spec, changes: list[str], invalidated: list[str]) -> None:
    """What a draft says of itself must be so: it is shown and signed, and whoever wrote it may not be trusted."""
    said = (drafted.version, drafted.changes, drafted.invalidated_stages)
    if said != (spec.version, changes, invalidated):
        raise UserError("the draft does not say what it changes; draft it again: sophron amend")


def closed(proposal: Proposal) -> list[str]:
    """Return why the gate must stay closed, one sentence each.

    Empty if it may be signed. This is the gate's condition. A renewal signs a spec that was signed already, and whose
    results may be there: what is known against it since is shown to the person who renews, and closes nothing.
    """
    if is_renewal(proposal):
        return proposal.plan.excess()
    spec = proposal.plan.spec
    reasons = [
        f"the assumption {name} is UNVERIFIED; verify it and say so in {SPEC_NAME}" for name in spec.unverified()
    ]
    return reasons + _unread(spec) + faults(proposal)


def faults(proposal: Proposal) -> list[str]:
    """Of these reasons, those that only another spec would cure: no person's word does."""
    spec = proposal.plan.spec
    refused = [finding.sentence for finding in scope_exclusions.excluded(spec.data)]
    return refused + criteria_review.closed(spec) + proposal.plan.excess() + _pitfalls(proposal)


def _unread(spec: Spec) -> list[str]:
    """One sentence for each stage with free engine text that no person has vouched for."""
    return [
        f"{spec.document.where(['stages', stage, 'definition', 'fragments'])}: free engine text is UNVERIFIED; read in "
        f"the review what it overrides, then add to method.assumptions one with the id {needed}, status verified"
        for stage, needed in spec.unread_fragments().items()
    ]


def _pitfalls(proposal: Proposal) -> list[str]:
    if proposal.findings is None:
        return ["the probes of its pitfalls were not run; look at it: sophron review"]
    return hits(proposal.findings)


def refusal(reasons: Sequence[str]) -> str:
    """Return the reasons for which the gate stays closed, one item each."""
    return reasons[0] if len(reasons) == 1 else "\n  - ".join(["the gate stays closed:", *reasons])


def sign(proposal: Proposal, key: Path, approver: str | None = None) -> approvals.ApprovalRecord:
    """Sign a proposal with an SSH key and put it into force; the record. The caller holds `locks.signing`.

    Raises Refused while the gate must stay closed, and for a key that is not trusted, is revoked or has expired.
    """
    if reasons := closed(proposal):
        raise Refused(refusal(reasons))
    root, campaign = proposal.root, proposal.plan.spec.campaign
    known_signers.check_keys(root, campaign)
    signers_path = root / approvals.FOLDER / signatures.SIGNERS_NAME
    signers = read_text(signers_path) if signers_path.is_file() else _first_signer(key, approver, campaign)
    principal = _principal(signers, key, approver)
    _refuse_new_signer_alone(root, key)
    time = clock.isoformat()
    record: dict[str, Any] = json.loads(proposal.statement)
    if record["amendment"]:
        record["amendment"] |= {"approved_by": principal, "timestamp": time}
    record |= {"approver": principal, "time": time, "nonce": secrets.token_hex(16), "shown": proposal.digest}
    record["signers"] = hashlib.sha256(signers.encode()).hexdigest()
    text = json.dumps(record, indent=2, sort_keys=True) + "\n"
    signature = signatures.sign(text.encode(), key, campaign)
    if not signers_path.is_file():
        write_text(signers_path, signers)
    signatures.verify(
        text.encode(), signature, approvals=root / approvals.FOLDER, approver=principal, campaign=campaign
    )
    spec_text = read_text(proposal.plan.spec.document.path)
    if hashlib.sha256(spec_text.encode()).hexdigest() != record["spec_file"]:
        raise UserError(f"{proposal.plan.spec.document.path}: was changed meanwhile; look again: sophron review")
    proposal.plan.store(root)
    known_signers.remember_keys(root, campaign)
    config = _config_texts(root, proposal.plan.spec, proposal.amendment)
    approval_journal.begin(root, Journal(text, signature, spec_text, signers, config))
    in_force = approvals.signed_gate(root)
    known_signers.remember(in_force)
    return in_force.record


def _first_signer(key: Path, approver: str | None, campaign: str) -> str:
    """The first approval of a campaign trusts its own key."""
    return signer_line(
        approver or f"{getpass.getuser()}@{process_identity.host()}", signatures.public_key(key), campaign
    )


def _principal(signers: str, key: Path, approver: str | None) -> str:
    """The name under which this key is trusted."""
    public = signatures.public_key(key)
    for line in signers.splitlines():
        words = line.split()
        if public in " ".join(words) and (approver is None or words[0] == approver):
            return words[0]
    raise Refused(
        f"{key}: is not among the trusted signers of this campaign; a trusted one adds it: sophron signer add"
    )


def signer_line(name: str, public: str, campaign: str) -> str:
    """Return a line of `allowed_signers` that trusts a key for one campaign alone."""
    if not name or any(not sign.isprintable() or sign.isspace() or sign in ',"*?!#' for sign in name):
        raise UserError(f'"{shown(name)}" cannot name a signer; use letters, digits, ".", "-", "_" and "@"')
    return f'{name} namespaces="{signatures.namespace(campaign)}" {public}\n'


def _refuse_new_signer_alone(root: Path, key: Path) -> None:
    """A key that came into the list since the last approval cannot be the one that approves the list."""
    in_force = approvals.newest(root)
    if in_force is None:
        return
    signed = read_text(approvals.signed_file(root, in_force.hash, signatures.SIGNERS_NAME))
    if signatures.public_key(key) not in signed:
        raise Refused(
            f"{key}: was not trusted when the last approval was signed; a signer trusted then must sign first"
        )


# Renewing an approval after an upgrade: the plan is the same to the letter, and only the harness is another one


SAME_IN_RENEWAL = {
    "spec": "definitions, criteria and assumptions",
    "plan": "steps, templates and ceilings",
    "rules": "shell lines",
    "agents": "agents",
    "envelope": "envelope",
    "service_ceilings": "ceilings of verify, accept, report and agents",
    "resources": "resources that a job may ask for",
    "kind_folder": "kind",
    "loaded": "the campaign's own workflow",
    "shell": "shell prefix",
}
"""Key of a statement -> what it stands for. A renewed approval says the same in each of them."""
RENEWAL_REMEDY = "look at it and sign it as what it is: sophron review, sophron approve"


def changed_code(proposal: Proposal) -> dict[str, list[str]]:
    """Part -> files of it that are not those of the approval in force; empty before the first one."""
    in_force = approvals.newest(proposal.root)
    if in_force is None or not isinstance(in_force.record.code, Mapping):
        return {}
    before, now = approvals.signed_files(proposal.root, in_force.record), proposal.plan.files(proposal.root)
    digests = code_digests(now)
    parts = [part for part in PARTS if digests[part] != in_force.record.code.get(part)]
    return {part: changed_files(before, now, [part]) for part in parts}


def renewal_summary(proposal: Proposal) -> str:
    """What is the same and what changed, for the person who renews. UserError where more than the harness changed."""
    in_force = approvals.newest(proposal.root)
    if in_force is None or proposal.amendment is not None:
        raise UserError(f"--renew: there is no approval that says the same; {RENEWAL_REMEDY}")
    changed, renamed = changed_code(proposal), is_renamed(in_force.record)
    now = json.loads(proposal.statement) | (_before(proposal.plan) if renamed else {})
    other = _others(to_json(in_force.record), now) + [part for part in changed if part != "harness" and not renamed]
    if other:
        raise UserError(f"--renew: more than the harness changed ({', '.join(other)}); {RENEWAL_REMEDY}")
    head = f"The same as in version {in_force.record.version}, signed by {in_force.record.approver}:"
    said = "\n  ".join([head, *SAME_IN_RENEWAL.values()]) + "\n"
    if known := faults(proposal):
        said += "\n  ".join(["A new plan would be refused for what is known since:", *known]) + "\n"
    if renamed:
        counts = ", ".join(f"{len(names)} in {part}" for part, names in changed.items())
        return f"{said}Agents, their rules and the modules were renamed since, with the files of the code: {counts}."
    return said + "\n  ".join(["Changed in the harness:", *(changed.get("harness") or ["nothing"])])


def is_renewal(proposal: Proposal) -> bool:
    """Whether an upgrade is all that the proposal signs: of the harness alone, or one that renamed what is signed."""
    in_force = approvals.newest(proposal.root)
    if in_force is None or proposal.amendment is not None:
        return False
    return is_renamed(in_force.record) or list(changed_code(proposal)) == ["harness"]


def is_renamed(record: approvals.ApprovalRecord) -> bool:
    """Whether what an approval signs had other names then."""
    return record.names < old_names.GENERATION


def carry_over(workdir: Path) -> None:
    """Have Snakemake's records of what renamed rules made name their present shell lines, or it would make it again."""
    for path in (workdir / ".snakemake" / "metadata").rglob("*"):
        record = documents.load_record(path) if path.is_file() else {}
        line = record.get("code")
        if isinstance(line, str) and (now := old_names.shell_now(line)) != line:
            files.write_json(path, {**record, "code": now})


def _before(plan: Plan) -> dict[str, object]:
    """What a plan says in the names of the first generation, in which each expert had rules of its own."""
    steps = tuple(sorted(map(_step_before, plan.steps), key=lambda step: step.identity))
    old = replace(plan, steps=steps, templates=tuple(one for template in plan.templates for one in _apart(template)))
    agents = {name: digest for rule, signed in plan.agents.items() for name, _, digest in _each(rule, signed)}
    return {"plan": old.hash, "rules": old.rules, "agents": agents}


def _step_before(step: PlannedStep) -> PlannedStep:
    wildcards = dict(step.wildcards)
    expert = wildcards.pop("expert", "")
    name = old_names.STEPS.get(f"{step.rule}-{expert}" if expert else step.rule, step.rule)
    return replace(step, rule=name, shell=old_names.shell_before(step.shell, expert), wildcards=wildcards)


def _apart(template: Template) -> Iterator[Template]:
    ranges = {name: values for name, values in template.ranges.items() if name != "expert"}
    for name, expert, digest in _each(template.rule, template.digest):
        shell = old_names.shell_before(template.shell, expert)
        yield replace(template, rule=name, shell=shell, digest=digest, ranges=ranges)


def _each(rule: str, signed: Digests) -> Iterator[tuple[str, str, str]]:
    """(rule of before, expert, digest) of each agent of a rule."""
    if isinstance(signed, str):
        yield old_names.STEPS.get(rule, rule), "", signed
    else:
        for key, digest in signed.items():
            expert = key.partition("=")[2]
            yield old_names.STEPS[f"{rule}-{expert}"], expert, digest


def _others(before: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    return [text for key, text in SAME_IN_RENEWAL.items() if before.get(key) != now[key]]


# A draft is tried before it is offered: can it be planned, does it keep to its limits, is a pitfall in it


def draft_faults(root: Path, probe: ProbeSpec) -> list[str]:
    """Return why the draft that waits could not be signed whatever a person verified, one sentence each.

    A campaign that is part of another pipeline has no Snakefile of its own to plan with, and if it does not say which
    pipeline that is, nothing is known of it here.
    """
    if not can_plan(root):
        return []
    try:
        return faults(propose(root, probe=probe))
    except UserError as error:
        return [str(error)]


def can_plan(root: Path) -> bool:
    """Return whether the draft that waits says with which Snakefile it is planned."""
    return (root / "Snakefile").is_file() or load(root / FOLDER / DRAFT_SPEC_NAME).host is not None


def spec_faults(root: Path, text: str, probe: ProbeSpec) -> list[str]:
    """Return the same for the text of a spec that is not in place yet; `root` has a Snakefile."""
    path = root / FOLDER / amendment_draft.CANDIDATE_NAME
    write_text(path, text)
    try:
        spec = load(path)
        return faults(Proposal(root, make(root, spec), "", None, probe(spec)))
    except UserError as error:
        return [str(error)]
    finally:
        path.unlink()
