"""The plan: the sorted step identities of a forced dry run, with bounds, ceilings and envelope.

It is a function of spec, code and inputs only: made by a Snakemake of its own that reads no profile, gets one core,
and looks at no result. Steps that only a failure or a question calls for enter as templates.
"""

import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Protocol

import sophron
from sophron.campaign.planning import campaign_agents, host_config, host_plan, resource_limits
from sophron.campaign.planning.campaign_agents import SERVICE_RULES, AgentCost, Digests, Template
from sophron.campaign.planning.host_plan import HostPlan
from sophron.campaign.planning.snakemake_error import cause
from sophron.campaign.spec import question, resource_requests
from sophron.campaign.spec.spec import DRAFT_VARIABLE, SPEC_NAME, HostWorkflow, Spec
from sophron.records import approvals, old_names
from sophron.records.digests import (
    CodeFiles,
    code_digests,
    code_listing,
    digest,
    read_code,
    signed_digest,
    step_identity,
    step_name,
)
from sophron.records.errors import UserError
from sophron.records.files import read_bytes, write_text
from sophron.records.typed_json import from_json

SERVICE_CORE_HOURS = 10 / 60


@dataclass(frozen=True)
class PlannedStep:
    """One step: its rule, unformatted shell line, digest, wildcards; identity is made of these four.

    asked_by: the stage that an agent step of the kind belongs to; gated, outcomes: whether it waits for the gate, and
    for how many outcomes; reason: why it would run, as Snakemake says.
    """

    rule: str
    shell: str
    digest: str
    wildcards: Mapping[str, str]
    asked_by: str = ""
    gated: bool = False
    outcomes: int = 0
    reason: str = ""

    @property
    def identity(self) -> str:
        """Hex sha256 of the four parts."""
        return step_identity(self.rule, self.shell, self.digest, self.wildcards)

    @property
    def stage(self) -> str:
        """The stage it belongs to; `report` for the report and the agent that writes its caveats."""
        service = "report" if self.rule in campaign_agents.PLANNED else self.wildcards.get("stage", self.rule)
        return self.asked_by or service

    @property
    def name(self) -> str:
        """Name in records and messages."""
        return step_name(self.rule, self.wildcards)


@dataclass(frozen=True)
class Plan:
    """What is reviewed and signed. steps: sorted by identity; root: the campaign's folder.

    loaded: files that the workflow includes or imports from the campaign's folder or, relative to it, from elsewhere;
    shell: prefix and suffix that it gives to every shell line.
    """

    spec: Spec
    steps: tuple[PlannedStep, ...]
    templates: tuple[Template, ...] = ()
    root: Path | None = None
    loaded: tuple[str, ...] = ()
    shell: tuple[str, ...] = ("", "")
    host: HostPlan | None = None

    @cached_property
    def listing(self) -> str:
        """The sorted identities, one a line: what a step bisects."""
        hosts = self.host.listed() if self.host else set()
        return "".join(f"{identity}\n" for identity in sorted({*(step.identity for step in self.steps), *hosts}))

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
    def _templates(self) -> dict[str, dict[str, object]]:
        return {template.rule: template.statement for template in self.templates}

    @cached_property
    def agents(self) -> dict[str, campaign_agents.Digests]:
        """Rule -> digest of the agent behind it (`campaign_agents.digests_of`), of planned steps and templates."""
        rules = campaign_agents.planned_rules(self.spec)
        planned: dict[str, campaign_agents.Digests] = {}
        for step in self.steps:
            if step.rule in rules:
                asked = self.spec.agent_rules.get(step.rule)
                by = asked.by if asked else ""
                known = planned.get(step.rule, {})
                new = {f"{by}={step.wildcards[by]}": step.digest} if by else step.digest
                planned[step.rule] = {**known, **new} if isinstance(known, dict) and isinstance(new, dict) else new
        return planned | {template.rule: template.digest for template in self.templates if template.asks}

    @cached_property
    def agent_costs(self) -> list[AgentCost]:
        """What the agent steps cost, one entry a rule that asks a model; none where rules of thumb answer."""
        rules = campaign_agents.planned_rules(self.spec)
        bounds = Counter(step.rule for step in self.steps if step.rule in rules)
        bounds.update({template.rule: template.bound for template in self.templates if template.asks})
        return campaign_agents.rule_costs(self.root, self.spec, bounds)

    @property
    def ceilings(self) -> dict[str, dict[str, int]]:
        """Stage or part -> most that one try may reserve; `rule NAME` -> the same of a host's rule."""
        names = [*self.spec.data["stages"], *self.spec.parts]
        blocks = {name: self.spec.mechanical_block(name) for name in names}
        hosts = self.host.with_choices(self.spec) if self.host else {}
        return {
            name: dict(block["ceilings"])
            | {"gpus": resource_requests.most_gpus(block)}
            | ({"nodes": block["nodes"]} if block.get("nodes", 1) > 1 else {})
            for name, block in blocks.items()
        } | {f"{resource_limits.HOST_RULE}{rule}": dict(amounts) for rule, amounts in hosts.items()}

    @property
    def loops(self) -> list[Template]:
        """The templates of compute steps."""
        return [template for template in self.templates if not template.asks]

    def counts(self) -> dict[tuple[str, str], int]:
        """(stage, rule) -> number of steps, in the order of the stage graph."""
        counted = Counter((step.stage, step.rule) for step in self.steps)
        order = [stage.name for stage in self.spec.stages]
        place = {name: index for index, name in enumerate(order)}
        return dict(sorted(counted.items(), key=lambda item: (place.get(item[0][0], len(order)), item[0][1])))

    def core_hours(self) -> dict[str, float]:
        """Stage -> upper bound of core-hours: ceilings x attempts, services included."""
        bound: dict[str, float] = {}
        services = (*SERVICE_RULES, *self.spec.agent_rules)
        for (stage, rule), count in self.counts().items():
            each = SERVICE_CORE_HOURS if rule in services else self.spec.mechanical(stage).core_hours()
            bound[stage] = bound.get(stage, 0.0) + count * each
        for part in self.loops:
            bound[part.stage] = bound.get(part.stage, 0.0) + part.bound * self.spec.mechanical(part.rule).core_hours()
        return bound

    @property
    def most_steps(self) -> int:
        """The steps that are listed and those that loops may come to."""
        return len(self.steps) + sum(part.bound for part in self.loops)

    def bounds(self) -> dict[str, float]:
        """What the plan's steps may come to: their number, and their core-hours (rounded up to hundredths)."""
        hours = round(100 * sum(self.core_hours().values()), 6)
        return {"steps": self.most_steps, "core_hours": math.ceil(hours) / 100}

    def envelope(self) -> dict[str, float]:
        """What is signed, a hard cap each: the limits of the spec, and where it has none the plan's own bounds.

        Without limits on model calls a campaign whose agents ask a model may take the schema's defaults.
        """
        calls = campaign_agents.default_limits() if self.agent_costs else dict.fromkeys(campaign_agents.LIMIT_KEYS, 0)
        return {**calls, "trials": 0, **self.bounds(), **self.spec.data.get("limits", {})}

    def excess(self) -> list[str]:
        """Sentences that say where the plan's upper bounds, or the expected cost of its agents, exceed the limits."""
        limits, hours = self.envelope(), self.bounds()["core_hours"]
        faults = []
        if self.most_steps > limits["steps"]:
            most = " at most" if self.loops else ""
            faults.append(
                f"limits.steps: the plan has {self.most_steps} steps{most}, the limit is {limits['steps']}; raise it"
            )
        rounds = max((len(next(iter(part.ranges.values()), ())) for part in self.loops), default=0)
        if rounds > limits["trials"]:
            faults.append(f"limits.trials: a loop may take {rounds} rounds, the limit is {limits['trials']}; raise it")
        if hours > limits["core_hours"]:
            faults.append(
                f"limits.core_hours: the ceilings add up to {hours:.2f} core-hours, the limit is "
                f"{limits['core_hours']}; raise it or lower the ceilings"
            )
        expected = campaign_agents.total_cost(cost.expected for cost in self.agent_costs)
        return faults + [
            f"limits.{key}: the agent steps are expected to take {need:,.12g}, the limit is {limits[key]:,.12g}; "
            "raise it"
            for key, need in expected.items()
            if need > limits[key]
        ]

    @property
    def kind_folder(self) -> str | None:
        """Where a kind of another distribution keeps its code, which is signed like ours."""
        rules = Path(self.spec.kind.rules)
        return str(rules.parent) if rules.is_absolute() else None

    def files(self, root: Path) -> CodeFiles:
        """The code that the plan was made with."""
        return read_code(root, self.kind_folder, self.loaded)

    def statement(self, root: Path) -> dict[str, object]:
        """What an approval says, apart from who signed when: equal plans give equal statements."""
        return {
            "campaign": self.spec.campaign,
            "names": old_names.GENERATION,
            "version": self.spec.version,
            "spec": self.spec.digest,
            "spec_file": hashlib.sha256(read_bytes(self.spec.document.path)).hexdigest(),
            "plan": self.hash,
            "steps": self.listing_hash,
            "code": code_digests(self.files(root)),
            "files": code_listing(self.files(root))[0],
            "kind_folder": self.kind_folder,
            "loaded": list(self.loaded),
            "shell": list(self.shell),
            **({"host": self.host.digest} if self.host else {}),
            "rules": self.rules,
            "templates": self._templates,
            "agents": self.agents,
            "ceilings": self.ceilings,
            "service_ceilings": resource_limits.SERVICE_CEILINGS,
            "resources": sorted(resource_limits.RESOURCES),
            "envelope": self.envelope(),
        }

    def store(self, root: Path) -> None:
        """Put the lists of steps and of files where a check looks for them; the name of each is its hash."""
        folder = root / approvals.FOLDER / approvals.PLANS
        write_text(folder / f"{self.listing_hash}.steps", self.listing)
        if self.host:
            host_plan.store(root, self.host)
        name, text = code_listing(self.files(root))
        write_text(folder / f"{name}.files", text)


def make(
    root: Path, spec: Spec, snakefile: Path | None = None, config: Mapping[str, host_config.Edits] | None = None
) -> Plan:
    """The plan of a campaign, by a forced dry run in a process of its own.

    snakefile: the host's, where the campaign is part of another pipeline; config: edits of its config files. Raises
    UserError.
    """
    question.check_units(spec)
    drafted = "" if spec.document.path == root / SPEC_NAME else spec.document.path.name
    found = jobs_shown(root, spec, snakefile, forced=True, drafted=drafted, config=config)
    bounded = campaign_agents.looped_rules(spec)  # a dry run shows of them what comes before the first checkpoint
    ours = [
        replace(step, asked_by=spec.owner(step.rule) if step.rule in spec.agent_rules else "")
        for step in found.steps
        if step.rule not in ("gate", *bounded)
    ]
    refuse_overrides(ours, root, spec)
    refuse_other_inputs(ours, spec)
    if not ours and spec.host:
        raise UserError(
            f"{host_snakefile(root, spec)}: nothing asks for the stages of this campaign; its default target must be "
            "a rule without a body, such as `rule all` (default_target: True), with no other in workflow.arguments"
        )
    if not ours:
        raise UserError(
            f"{snakefile or root}: the workflow has no step of this campaign; import its rules, and let "
            "one of yours ask for a result of them"
        )
    templates = tuple(campaign_agents.templates(root, spec, found.rules))
    made = Plan(
        spec,
        tuple(sorted(ours, key=lambda step: step.identity)),
        templates,
        root,
        shell=tuple(found.shell),
        host=found.host,
    )
    own = spec.host is None and (snakefile is None or snakefile.resolve().parent == root.resolve())
    return replace(made, loaded=_loaded(root, found.files, made.kind_folder, own=own))


def _loaded(root: Path, files: Sequence[str], kind_folder: str | None, *, own: bool) -> tuple[str, ...]:
    """What is signed of the files that Snakemake and Python loaded, relative to the campaign's folder, sorted.

    Of a host's pipeline only what lies in the campaign's folder: its own rules are no part of the plan.
    """
    top, package = root.resolve(), Path(sophron.__file__).resolve().parent
    paths = {Path(path).resolve() for path in files} - {top / "Snakefile"}
    linked = [path.resolve() for path in package.iterdir() if path.is_dir()]
    elsewhere = [package, Path(sys.prefix).resolve(), *linked, *([Path(kind_folder).resolve()] if kind_folder else [])]
    found = [path for path in paths if not any(folder in path.parents for folder in elsewhere)]
    return tuple(sorted(os.path.relpath(path, top) for path in found if own or top in path.parents))


@dataclass(frozen=True)
class DryRun:
    """What a dry run shows of Sophron's rules.

    steps: in no particular order; rules: unformatted shell line of each rule that runs a
    stage or asks an agent; files: paths of what Snakemake included and Python imported from the workflow's folder;
    shell: prefix and suffix of every shell line; host: the jobs of a host workflow.
    """

    steps: Sequence[PlannedStep]
    rules: dict[str, str]
    files: Sequence[str] = ()
    shell: Sequence[str] = ("", "")
    host: HostPlan | None = None


def jobs_shown(
    root: Path,
    spec: Spec,
    snakefile: Path | None,
    *,
    forced: bool,
    drafted: str = "",
    config: Mapping[str, host_config.Edits] | None = None,
) -> DryRun:
    """Return what Snakemake would run: of a host whose rules are gated by the person's own command line.

    drafted: file name of a spec not in force; config: file -> edits of the host's config files that nobody made yet.
    """
    host = host_snakefile(root, spec)
    if host is None or spec.host is None:
        return dry_run(root, snakefile or root / "Snakefile", forced=forced, drafted=drafted)
    variables = {DRAFT_VARIABLE: drafted} if drafted else {}
    directory = host_workdir(root, spec.host)
    with _other_config(directory, spec.host.arguments, config or {}) as arguments:
        found = from_json(DryRun, host_plan.dry_run(directory, host, arguments, variables, forced=forced))
    if config and found.host:
        host_config.check_apart(found.host, [*config])
        found = replace(found, host=replace(found.host, config_files=_without_other(found.host.config_files)))
    return found


OTHER_CONFIG = "sophron-edited-config.json"


@contextmanager
def _other_config(
    directory: Path, arguments: Sequence[str], config: Mapping[str, host_config.Edits]
) -> Iterator[Sequence[str]]:
    """Give a command line that reads edited values, from a file that is there meanwhile."""
    if not config:
        yield arguments
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / OTHER_CONFIG
        path.write_text(json.dumps(host_config.merged(host_config.values(directory, [*config]), config)))
        yield host_config.with_config(arguments, path)


def _without_other(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if Path(name).name != OTHER_CONFIG)


def dry_run(root: Path, snakefile: Path, *, forced: bool, drafted: str = "") -> DryRun:
    """Run `sophron.campaign.snakefile.dry_run` in its own process. drafted: file name of a spec not in force."""
    if not snakefile.is_file():
        raise UserError(f"{snakefile}: not found; copy the Snakefile of a campaign that `sophron new` makes")
    environment = {key: value for key, value in os.environ.items() if key != "SNAKEMAKE_PROFILE"}
    environment.pop(DRAFT_VARIABLE, None)
    if drafted:
        environment[DRAFT_VARIABLE] = drafted
    command = [sys.executable, "-P", "-m", "sophron.campaign.snakefile.dry_run", str(snakefile)] + (
        ["--forced"] if forced else []
    )
    done = subprocess.run(
        command, cwd=workdir(root, snakefile), env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise UserError(f"{snakefile}: the dry run failed: {cause(done.stderr)}")
    return from_json(DryRun, json.loads(done.stdout.splitlines()[-1]))


def host_snakefile(root: Path, spec: Spec) -> Path | None:
    """Return the Snakefile of the host workflow that a campaign gates; None for a campaign with a workflow of ours."""
    return (root / spec.host.snakefile).resolve() if spec.host else None


def host_workdir(root: Path, host: HostWorkflow) -> Path:
    """Where Snakemake runs the host workflow that a campaign gates."""
    return (root / host.directory).resolve() if host.directory else workdir(root, (root / host.snakefile).resolve())


def workdir(root: Path, snakefile: Path | None) -> Path:
    """Where Snakemake runs. snakefile: the host's, where the campaign is part of another pipeline."""
    folder = root if snakefile is None else snakefile.parent
    return folder.parent if folder != root and folder.name == "workflow" else folder


# What a host may not override: shell lines, params and inputs of Sophron's rules, as a forced dry run shows them


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


def refuse_overrides(steps: Iterable[Shown], root: Path, spec: Spec) -> None:
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


def refuse_other_inputs(steps: Iterable[PlannedStep], spec: Spec) -> None:
    """Every step waits for the gate and for the outcome of each step that it builds on or judges.

    If a step takes up what comes behind a checkpoint, it may wait for more.
    """
    for step in steps:
        rule, waits = step.rule, step.outcomes
        wanted = _outcomes(spec, rule, step.wildcards)
        open_ended = rule in spec.agent_rules or (rule not in SERVICE_RULES and bool(spec.stage(rule).builds_on))
        if not step.gated or waits < wanted or (waits > wanted and not open_ended):
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
    digests |= {(rule, "report"): campaign_agents.digest_of(root, spec, rule) for rule in campaign_agents.PLANNED}
    for stage in (one.name for one in spec.stages):
        digests[stage, stage] = digests["accept", stage] = spec.definition_digest(stage)
        digests["verify", stage] = spec.criteria_digest(stage)
    for rule in spec.agent_rules:
        digests[rule, spec.owner(rule)] = campaign_agents.digests_of(root, spec, rule)
    return digests
