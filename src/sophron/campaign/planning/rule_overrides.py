"""What a host may not override: shell lines, params and inputs of Sophron's rules, as a forced dry run shows them."""

from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path
from typing import Any, Protocol

from sophron.campaign.planning import agent_rules
from sophron.campaign.planning.agent_rules import SERVICE_RULES, Digests
from sophron.campaign.spec.spec import Spec
from sophron.records.digests import signed_digest
from sophron.records.errors import UserError


class Shown(Protocol):
    """What is looked at of a planned step."""

    @property
    def rule(self) -> str:
        """Name of its rule."""

    @property
    def shell(self) -> str:
        """Unformatted shell line."""

    @property
    def digest(self) -> str:
        """Value of its one param."""

    @property
    def stage(self) -> str:
        """The stage it belongs to."""

    @property
    def wildcards(self) -> Mapping[str, str]:
        """Its wildcards."""


def refuse(steps: Iterable[Shown], root: Path, spec: Spec) -> None:
    """A host may move outputs and lower resources; params, shell lines and inputs of our rules stay ours."""
    shells: dict[str, str] = {}
    digests = _own_digests(root, spec)
    for step in steps:
        if shells.setdefault(step.rule, step.shell) != step.shell or not step.shell.startswith("sophron "):
            raise UserError(
                f"the rule {step.rule} has another shell line than Sophron's; use it without overriding shell"
            )
        if not step.shell.endswith("--digest {params.digest}"):
            raise UserError(f"the rule {step.rule} does not end in its digest; use it without overriding shell")
        if step.digest != signed_digest(digests.get((step.rule, step.stage), ""), step.wildcards):
            raise UserError(f"the rule {step.rule} has another digest than its stage; use it without overriding params")


def refuse_inputs(lines: Iterable[Mapping[str, Any]], spec: Spec) -> None:
    """Every step waits for the gate and for the outcome of each step that it builds on or judges.

    lines: of the dry run. If a step takes up what comes behind a checkpoint, it may wait for more.
    """
    for line in lines:
        rule, waits = line["rule"], line["outcomes"]
        wanted = _outcomes(spec, rule, line["wildcards"])
        open_ended = rule in spec.agent_rules or (rule not in SERVICE_RULES and bool(spec.stage(rule).builds_on))
        if not line["gated"] or waits < wanted or (waits > wanted and not open_ended):
            raise UserError(f"the rule {rule} has other inputs than Sophron's; use it without overriding input")


def _outcomes(spec: Spec, rule: str, wildcards: Mapping[str, str]) -> int:
    """How many outcomes a step waits for; of steps behind a checkpoint a dry run knows none."""
    if rule == "verify":
        return len(spec.steps(wildcards["stage"]))
    if rule in SERVICE_RULES or rule in spec.agent_rules:
        return 0
    wanted = 0
    for name in spec.stage(rule).depends_on:
        gathered = [key for key in spec.stage(name).wildcards if key not in wildcards]
        wanted += prod(len(spec.ranges[key]) for key in gathered)
    return wanted


def _own_digests(root: Path, spec: Spec) -> dict[tuple[str, str], Digests]:
    """(rule, stage) -> the digest that the spec has for it."""
    digests: dict[tuple[str, str], Digests] = {("report", "report"): spec.report_digest()}
    digests |= {(rule, "report"): agent_rules.digest_of(root, spec, rule) for rule in agent_rules.PLANNED}
    for stage in (one.name for one in spec.stages):
        digests[stage, stage] = digests["accept", stage] = spec.definition_digest(stage)
        digests["verify", stage] = spec.criteria_digest(stage)
    for rule in spec.agent_rules:
        digests[rule, spec.owner(rule)] = agent_rules.digests_of(root, spec, rule)
    return digests
