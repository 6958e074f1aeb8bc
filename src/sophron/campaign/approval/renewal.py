"""Renewing an approval after an upgrade: the plan is the same to the letter, and only the harness is another one."""

import json
from collections.abc import Mapping

from sophron.campaign.approval.approve import Proposal
from sophron.records import approvals, code_digest
from sophron.records.errors import UserError
from sophron.records.typed_json import to_json

SAME = {
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
REMEDY = "look at it and sign it as what it is: sophron review, sophron approve"


def changed_code(proposal: Proposal) -> dict[str, list[str]]:
    """Part -> files of it that are not those of the approval in force; empty before the first one."""
    in_force = approvals.newest(proposal.root)
    if in_force is None or not isinstance(in_force.record.code, Mapping):
        return {}
    before, now = approvals.signed_files(proposal.root, in_force.record), proposal.plan.files(proposal.root)
    digests = code_digest.digests(now)
    parts = [part for part in code_digest.PARTS if digests[part] != in_force.record.code.get(part)]
    return {part: code_digest.changed(before, now, [part]) for part in parts}


def summary(proposal: Proposal) -> str:
    """What is the same and what changed, for the person who renews. UserError where more than the harness changed."""
    in_force = approvals.newest(proposal.root)
    if in_force is None or proposal.amendment is not None:
        raise UserError(f"--renew: there is no approval that says the same; {REMEDY}")
    changed = changed_code(proposal)
    other = _others(to_json(in_force.record), json.loads(proposal.statement)) + [
        part for part in changed if part != "harness"
    ]
    if other:
        raise UserError(f"--renew: more than the harness changed ({', '.join(other)}); {REMEDY}")
    head = f"The same as in version {in_force.record.version}, signed by {in_force.record.approver}:"
    names = changed.get("harness") or ["nothing"]
    return "\n  ".join([head, *SAME.values()]) + "\n" + "\n  ".join(["Changed in the harness:", *names])


def _others(before: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    return [text for key, text in SAME.items() if before.get(key) != now[key]]
