"""The plan: the sorted step identities of a forced dry run, with bounds, ceilings and envelope.

It is a function of spec, code and inputs only: made by a Snakemake of its own that reads no profile, gets one core,
and looks at no result. Steps that only a failure or a question calls for enter as templates.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from sophron.campaign import agent_steps, draft
from sophron.campaign.agent_steps import Template
from sophron.campaign.spec import Spec
from sophron.records.atomic import write_text
from sophron.records.canonical import digest
from sophron.records.code import code_digest
from sophron.records.errors import UserError
from sophron.records.steps import identity, step_name

SERVICE_RULES = ("verify", "accept", "report", *agent_steps.PLANNED)
SERVICE_CORE_HOURS = 10 / 60


@dataclass(frozen=True)
class PlannedStep:
    """One step: its rule, unformatted shell line, digest, wildcards; identity is made of these four."""

    rule: str
    shell: str
    digest: str
    wildcards: Mapping[str, str]

    @property
    def identity(self) -> str:
        """Hex sha256 of the four parts."""
        return identity(self.rule, self.shell, self.digest, self.wildcards)

    @property
    def stage(self) -> str:
        """The stage it belongs to; `report` for the report and the agent that writes its caveats."""
        return "report" if self.rule in agent_steps.PLANNED else self.wildcards.get("stage", self.rule)

    @property
    def name(self) -> str:
        """Name in records and messages."""
        return step_name(self.rule, self.wildcards)


@dataclass(frozen=True)
class Plan:
    """What is reviewed and signed. steps: sorted by identity; root: the campaign's folder."""

    spec: Spec
    steps: tuple[PlannedStep, ...]
    templates: tuple[Template, ...] = ()
    root: Path | None = None

    @cached_property
    def listing(self) -> str:
        """The sorted identities, one a line: what a step bisects."""
        return "".join(f"{step.identity}\n" for step in self.steps)

    @cached_property
    def listing_hash(self) -> str:
        """Hex sha256 of the listing."""
        return hashlib.sha256(self.listing.encode()).hexdigest()

    @property
    def rules(self) -> dict[str, str]:
        """Rule -> unformatted shell line."""
        return {step.rule: step.shell for step in self.steps}

    @property
    def hash(self) -> str:
        """The plan hash: over identities, templates and ceilings."""
        return digest({"steps": self.listing_hash, "templates": self._templates, "ceilings": self.ceilings})

    @property
    def _templates(self) -> dict[str, dict[str, Any]]:
        return {template.rule: template.statement for template in self.templates}

    @cached_property
    def agents(self) -> dict[str, str]:
        """Rule -> digest of the agent behind it, for every agent step, planned or template."""
        planned = {step.rule: step.digest for step in self.steps if step.rule in agent_steps.PLANNED}
        return planned | {template.rule: template.digest for template in self.templates}

    def calls(self) -> dict[str, float]:
        """Upper bounds of model calls, tokens and dollars of all agent steps."""
        bounds = Counter(step.rule for step in self.steps if step.rule in agent_steps.PLANNED)
        bounds.update({template.rule: template.bound for template in self.templates})
        return agent_steps.calls(self.root, self.spec, bounds)

    @property
    def ceilings(self) -> dict[str, dict[str, int]]:
        """Stage -> most that one try may reserve."""
        stages = self.spec.data["stages"]
        return {name: dict(block["mechanical"]["ceilings"]) for name, block in stages.items()}

    def counts(self) -> dict[tuple[str, str], int]:
        """(stage, rule) -> number of steps, in the order of the stage graph."""
        counted = Counter((step.stage, step.rule) for step in self.steps)
        order = [stage.name for stage in self.spec.stages]
        place = {name: index for index, name in enumerate(order)}
        return dict(sorted(counted.items(), key=lambda item: (place.get(item[0][0], len(order)), item[0][1])))

    def core_hours(self) -> dict[str, float]:
        """Stage -> upper bound of core-hours: ceilings x attempts, services included."""
        bound: dict[str, float] = {}
        for (stage, rule), count in self.counts().items():
            each = SERVICE_CORE_HOURS if rule in SERVICE_RULES else self.spec.mechanical(stage).core_hours()
            bound[stage] = bound.get(stage, 0.0) + count * each
        return bound

    def envelope(self) -> dict[str, Any]:
        """The limits of the spec, as they are signed."""
        zero = {"model_calls": 0, "tokens": 0, "dollars": 0, "trials": 0}
        return zero | dict(self.spec.data["limits"])

    def excess(self) -> list[str]:
        """Sentences that say where the plan's upper bounds go beyond the limits."""
        limits, hours = self.envelope(), sum(self.core_hours().values())
        faults = []
        if len(self.steps) > limits["steps"]:
            faults.append(
                f"limits.steps: the plan has {len(self.steps)} steps, the limit is {limits['steps']}; raise it"
            )
        if hours > limits["core_hours"]:
            faults.append(
                f"limits.core_hours: the ceilings add up to {hours:.2f} core-hours, the limit is "
                f"{limits['core_hours']}; raise it or lower the ceilings"
            )
        return faults + [
            f"limits.{key}: the agent steps may take {need:g}, the limit is {limits[key]}; raise it, or lower theirs"
            for key, need in self.calls().items()
            if need > limits[key]
        ]

    @property
    def kind_folder(self) -> str | None:
        """Where a kind of another distribution keeps its code, which is signed like ours."""
        rules = Path(self.spec.kind.rules)
        return str(rules.parent) if rules.is_absolute() else None

    def statement(self, root: Path) -> dict[str, Any]:
        """What an approval says, apart from who signed when: equal plans give equal statements."""
        return {
            "campaign": self.spec.campaign,
            "version": self.spec.version,
            "spec": self.spec.digest,
            "spec_file": hashlib.sha256(self.spec.document.path.read_bytes()).hexdigest(),
            "plan": self.hash,
            "steps": self.listing_hash,
            "code": code_digest(root, self.kind_folder),
            "kind_folder": self.kind_folder,
            "rules": self.rules,
            "templates": self._templates,
            "agents": self.agents,
            "ceilings": self.ceilings,
            "envelope": self.envelope(),
        }

    def store(self, root: Path) -> None:
        """Put the listing where steps look for it; its name is its hash."""
        write_text(root / "approvals" / "plans" / f"{self.listing_hash}.steps", self.listing)


def make(root: Path, spec: Spec, snakefile: Path | None = None) -> Plan:
    """The plan of a campaign, by a forced dry run in a process of its own.

    snakefile: the host's, where the campaign is part of another pipeline. Raises UserError.
    """
    found = dry_run(
        root, snakefile or root / "Snakefile", forced=True, drafted=spec.document.path.name != "campaign.yaml"
    )
    lines = found.steps
    steps = [PlannedStep(**{key: line[key] for key in ("rule", "shell", "digest", "wildcards")}) for line in lines]
    ours = [step for step in steps if step.rule != "gate"]
    _refuse_overrides(ours, _own_digests(root, spec))
    _refuse_other_inputs(lines, spec)
    if not ours:
        raise UserError(f"{snakefile or root}: the workflow has no step of this campaign; import its rules")
    templates = tuple(agent_steps.templates(root, spec, found.rules))
    return Plan(spec, tuple(sorted(ours, key=lambda step: step.identity)), templates, root)


class DryRun(NamedTuple):
    """What a dry run shows of Sophron's rules.

    steps: one entry a step, with the reason in an unforced one; rules: unformatted shell line of each agent rule.
    """

    steps: list[dict[str, Any]]
    rules: dict[str, str]


def dry_run(root: Path, snakefile: Path, *, forced: bool, drafted: bool = False) -> DryRun:
    """Run `sophron.campaign.dry_run` in a process of its own."""
    environment = {key: value for key, value in os.environ.items() if key != "SNAKEMAKE_PROFILE"}
    environment.pop(draft.VARIABLE, None)
    if drafted:
        environment[draft.VARIABLE] = "1"
    command = [sys.executable, "-m", "sophron.campaign.dry_run", str(snakefile)] + (["--forced"] if forced else [])
    workdir = root if snakefile.parent == root else snakefile.parent
    if workdir.name == "workflow":
        workdir = workdir.parent
    done = subprocess.run(command, cwd=workdir, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = [line for line in done.stderr.splitlines() if line.strip()]
        raise UserError(f"{snakefile}: the dry run failed: {_short(reason)}")
    return DryRun(**json.loads(done.stdout.splitlines()[-1]))


def _short(lines: list[str]) -> str:
    text = next((line for line in reversed(lines) if "Error" in line or "error" in line or "sophron" in line), "")
    return " ".join((text or " ".join(lines[-3:])).split())[:300]


def _refuse_overrides(steps: list[PlannedStep], digests: Mapping[tuple[str, str], str]) -> None:
    """A host may move outputs and lower resources; params, shell lines and inputs of our rules stay ours."""
    shells: dict[str, str] = {}
    for step in steps:
        if shells.setdefault(step.rule, step.shell) != step.shell or not step.shell.startswith("sophron "):
            raise UserError(
                f"the rule {step.rule} has another shell line than Sophron's; use it without overriding shell"
            )
        if not step.shell.endswith("--digest {params.digest}"):
            raise UserError(f"the rule {step.rule} does not end in its digest; use it without overriding shell")
        if step.digest != digests.get((step.rule, step.stage)):
            raise UserError(f"the rule {step.rule} has another digest than its stage; use it without overriding params")


def _refuse_other_inputs(lines: list[dict[str, Any]], spec: Spec) -> None:
    """Every step waits for the gate and for the outcome of each step that it builds on or judges."""
    for line in lines:
        rule, wildcards = line["rule"], line["wildcards"]
        if rule == "gate":
            continue
        wanted = 0
        if rule == "verify":
            wanted = len(spec.steps(wildcards["stage"]))
        elif rule not in SERVICE_RULES:
            for name in spec.stage(rule).depends_on:
                gathered = [key for key in spec.stage(name).wildcards if key not in wildcards]
                wanted += prod(len(spec.ranges[key]) for key in gathered)
        if not line["gated"] or line["outcomes"] != wanted:
            raise UserError(f"the rule {rule} has other inputs than Sophron's; use it without overriding input")


def _own_digests(root: Path, spec: Spec) -> dict[tuple[str, str], str]:
    """(rule, stage) -> the digest that the spec has for it."""
    digests = {("report", "report"): spec.report_digest()}
    digests |= {(rule, "report"): agent_steps.digest_of(root, spec, rule) for rule in agent_steps.PLANNED}
    for stage in (one.name for one in spec.stages):
        digests[stage, stage] = digests["accept", stage] = spec.definition_digest(stage)
        digests["verify", stage] = spec.criteria_digest(stage)
    return digests
