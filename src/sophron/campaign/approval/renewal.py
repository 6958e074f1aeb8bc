"""Renewing an approval after an upgrade: the plan is the same to the letter, and only the harness is another one."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from sophron.campaign.approval.approve import Proposal
from sophron.campaign.planning.agent_rules import Digests, Template
from sophron.campaign.planning.plan import Plan, PlannedStep
from sophron.records import approvals, code_digest, documents, files, old_names
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
    changed, renamed = changed_code(proposal), is_renamed(in_force.record)
    now = json.loads(proposal.statement) | (_before(proposal.plan) if renamed else {})
    other = _others(to_json(in_force.record), now) + [part for part in changed if part != "harness" and not renamed]
    if other:
        raise UserError(f"--renew: more than the harness changed ({', '.join(other)}); {REMEDY}")
    head = f"The same as in version {in_force.record.version}, signed by {in_force.record.approver}:"
    said = "\n  ".join([head, *SAME.values()]) + "\n"
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
    return [text for key, text in SAME.items() if before.get(key) != now[key]]
