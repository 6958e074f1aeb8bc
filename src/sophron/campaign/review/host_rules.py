"""What a review shows of the rules of a host workflow: their jobs, parts and ceilings, and what nobody can sign."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sophron.campaign.planning import host_templates
from sophron.campaign.planning.host_plan import HostPlan
from sophron.campaign.planning.plan import host_workdir
from sophron.campaign.review.review import Review

DIGEST = 12
"""Characters shown of a digest."""


@dataclass(frozen=True)
class HostRule:
    """One rule that has jobs. parts: what it consists of; ceilings: of a first try; unsigned: what nobody can sign."""

    name: str
    jobs: int
    parts: Sequence[str]
    ceilings: str
    unsigned: Sequence[str]


@dataclass(frozen=True)
class HostRules:
    """All of them. unplanned: one sentence for each rule without a job; templates: lines that would bound such rules.

    sources: number of files that no rule makes; unsigned: what nobody can sign of the workflow; remark: for all.
    """

    rules: Sequence[HostRule]
    sources: int
    unplanned: Sequence[str]
    templates: Sequence[str]
    unsigned: Sequence[str]
    remark: str

    @property
    def jobs(self) -> int:
        """Jobs of all rules."""
        return sum(rule.jobs for rule in self.rules)


def of_review(review: Review) -> HostRules | None:
    """Return the rules of the host workflow that a campaign gates; None if it gates none."""
    plan, host = review.proposal.plan.host, review.spec.host
    if plan is None:
        return None
    signed = host.templates if host else {}
    workdir = host_workdir(review.proposal.root, host) if host else review.proposal.root
    bounds = {rule: f"at most {signed[rule].at_most} jobs" for rule in plan.unplanned if rule in signed}
    opaque = [f"values of {name} have no plain form: what is in them is not signed" for name in plan.opaque]
    return HostRules(
        _rules(plan),
        len(plan.sources),
        [f"{rule}: no job in the plan; {bounds.get(rule, 'refused if one comes')}" for rule in plan.unplanned],
        [host_templates.as_yaml(*item) for item in host_templates.proposed(plan, workdir, signed).items()],
        [*(f"not signed: {name}" for name in plan.unseen.get("", ())), *opaque],
        "Not seen by the gate: programs that shell lines and scripts call, and files that neither a rule nor "
        f"workflow.also names. The plan was made with Python {plan.python}, and runs with it.",
    )


def _rules(plan: HostPlan) -> list[HostRule]:
    counts = Counter(step.rule for step in plan.steps)
    return [
        HostRule(
            rule,
            counts[rule],
            [f"{name}: {_shown(value)}" for name, value in parts.items()],
            _ceilings(plan.ceilings.get(rule, {})),
            [f"not signed: {name}" for name in plan.unseen.get(rule, ())],
        )
        for rule, parts in plan.rules.items()
    ]


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text[:DIGEST] if isinstance(value, str) and len(value) == 64 and value.isalnum() else text


def _ceilings(ceilings: Mapping[str, int]) -> str:
    """What the first try of a job may reserve; what is not there has no ceiling."""
    open_ended = [key for key in ("cores", "memory_mb", "runtime_min") if key not in ceilings]
    shown = [f"{key} {ceilings[key]}" for key in sorted(ceilings)] + [f"{key} as it asks" for key in open_ended]
    return f"a first try at most: {', '.join(shown)}"
