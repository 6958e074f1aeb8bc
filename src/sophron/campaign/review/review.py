"""The review: everything that a person looks at before signing, gathered once for the terminal and for the page."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from sophron.campaign.approval import approve, invalidation
from sophron.campaign.planning import campaign_agents, plan
from sophron.campaign.planning.campaign_agents import AgentCost
from sophron.campaign.planning.plan import PlannedStep
from sophron.campaign.skills import skill_source
from sophron.campaign.spec import question, resource_requests
from sophron.campaign.spec.pitfalls import Findings, ProbeSpec
from sophron.campaign.spec.resource_requests import Mechanical, Overlay
from sophron.campaign.spec.spec import DRAFT_SPEC_NAME, Spec
from sophron.sandbox import grants

REASON_LENGTH = 80


@dataclass(frozen=True)
class StagePlan:
    """What is planned for one stage. rules: rule -> number of steps; core_hours: upper bound, retries included.

    outputs: files of it that an amendment moves away; removed: whether the amended spec has it no more.
    """

    name: str
    rules: Mapping[str, int]
    core_hours: float
    mechanical: Mechanical | None
    outputs: int = 0
    removed: bool = False

    @property
    def steps(self) -> int:
        """Steps of all its rules."""
        return sum(self.rules.values())


@dataclass(frozen=True)
class Waiting:
    """Steps of a stage that would run now. rules: rule -> steps; reason: what Snakemake says, without file names."""

    stage: str
    rules: Mapping[str, int]
    reason: str

    @property
    def steps(self) -> int:
        """Steps of all its rules."""
        return sum(self.rules.values())


@dataclass(frozen=True)
class AgentPlan:
    """An agent behind one or more rules. who: what answers for it; grants: what it and its programs get, sentences."""

    name: str
    rules: Sequence[str]
    who: str
    tools: Sequence[str]
    grants: Sequence[str]


@dataclass(frozen=True)
class Limit:
    """One limit of the envelope: what is signed, expected (of model calls alone), and the plan's upper bound."""

    name: str
    signed: float
    expected: float | None
    most: float

    @property
    def unused(self) -> bool:
        """Whether nothing is granted and nothing is needed."""
        return not self.signed and not self.most


@dataclass(frozen=True)
class Assumption:
    """An assumption of the method. status: `verified` only if nothing here says otherwise."""

    id: str
    statement: str
    verified_by: str
    status: str


REFUTED = {"hit": "REFUTED by its own probe", "unknown": "not settled by its probe"}


@dataclass(frozen=True)
class Review:
    """All that is shown. now: what an unforced dry run shows; closed: why the gate cannot be signed, if so.

    lacking: what agents lack to be asked from here; it closes no gate.
    """

    proposal: approve.Proposal
    now: Sequence[PlannedStep]
    findings: Findings
    closed: Sequence[str]
    lacking: Sequence[str] = ()

    @property
    def spec(self) -> Spec:
        """The spec that would be signed."""
        return self.proposal.plan.spec

    @property
    def units_remark(self) -> str:
        """What a reader must know of the question's units, as a sentence; empty if results are in them."""
        return question.remark(self.spec)

    @cached_property
    def stages(self) -> list[StagePlan]:
        """The stages in the order of their graph, the report last."""
        hours = self.proposal.plan.core_hours()
        rules: dict[str, dict[str, int]] = {}
        for (stage, rule), count in self.proposal.plan.counts().items():
            rules.setdefault(stage, {})[rule] = count
        known = {stage.name for stage in self.spec.stages}
        return [
            StagePlan(name, own_first(by_rule), hours[name], self.spec.mechanical(name) if name in known else None)
            for name, by_rule in rules.items()
        ]

    @property
    def envelope(self) -> list[Limit]:
        """The limits that are signed; steps and core-hours come first."""
        made, costs = self.proposal.plan, self.agent_costs
        expected = campaign_agents.total_cost(cost.expected for cost in costs) if costs else {}
        most = made.bounds() | campaign_agents.total_cost(cost.worst for cost in costs)
        order = [*made.bounds(), *made.envelope()]
        limits = sorted(made.envelope().items(), key=lambda item: order.index(item[0]))
        return [Limit(name, limit, expected.get(name), most.get(name, 0)) for name, limit in limits]

    @property
    def agent_costs(self) -> list[AgentCost]:
        """What the steps of each agent rule cost; none where rules of thumb answer."""
        return self.proposal.plan.agent_costs

    @property
    def own_bounds(self) -> list[str]:
        """Limits that the spec does not state: the plan's own bound is signed."""
        return [name for name in self.proposal.plan.bounds() if name not in self.spec.data.get("limits", {})]

    @property
    def core_hours(self) -> float:
        """Upper bound of the whole plan."""
        return sum(stage.core_hours for stage in self.stages)

    def stage(self, name: str) -> StagePlan:
        """The plan of one stage; empty where the workflow has no step of it."""
        found = [stage for stage in self.stages if stage.name == name]
        return found[0] if found else StagePlan(name, {}, 0.0, self.spec.mechanical(name))

    @cached_property
    def invalidated(self) -> list[StagePlan]:
        """The stages that the drafted amendment invalidates or removes, with what repeating them may cost."""
        amendment = self.proposal.amendment
        return [self._invalidated(name) for name in amendment.invalidated_stages] if amendment else []

    def _invalidated(self, name: str) -> StagePlan:
        old = self.proposal.signed
        outputs = len(invalidation.outputs(self.proposal.root, old, name)) if old else 0
        if name in self.spec.data["stages"]:
            return replace(self.stage(name), outputs=outputs)
        return StagePlan(name, {}, 0.0, None, outputs, removed=True)

    @cached_property
    def overlays(self) -> list[Overlay]:
        """The mechanical overlays in force, each with the value that would be signed."""
        return resource_requests.overlays(self.proposal.root, self.spec.mechanical_blocks)

    @property
    def ended(self) -> list[Overlay]:
        """Those of them that this amendment ends."""
        old = self.proposal.signed
        return resource_requests.ended(self.overlays, old.mechanical_blocks, self.spec.mechanical_blocks) if old else []

    @property
    def overlay_lines(self) -> list[str]:
        """What runs in place of a signed mechanical value, one sentence each."""
        return [
            f"{one.stage}.{one.key}: the overlay {one.value} by {one.by} "
            + (f"ends with this signature; {one.signed} runs" if one in self.ended else f"runs, not {one.signed}")
            for one in self.overlays
            if one.value != one.signed
        ]

    @property
    def reservation_lines(self) -> list[str]:
        """What a try's minutes and memory mean for its engine."""
        return resource_requests.reservation_lines(stage.mechanical for stage in self.stages if stage.mechanical)

    @property
    def added(self) -> list[StagePlan]:
        """The stages that the drafted amendment adds."""
        old = self.proposal.signed
        new = [] if old is None else [name for name in self.spec.data["stages"] if name not in old.data["stages"]]
        return [self.stage(name) for name in new]

    @cached_property
    def waiting(self) -> list[Waiting]:
        """What would run now, summed by stage, reason and rule, in the order of the stage graph."""
        seen: dict[tuple[str, str], Counter[str]] = {}
        for step in self.now:
            if step.rule != "gate":
                stage = step.wildcards.get("stage", step.rule)
                reason = reason_without_files(step.reason)
                seen.setdefault((stage, reason), Counter())[step.rule] += 1
        place = {stage.name: index for index, stage in enumerate(self.stages)}
        ordered = sorted(seen.items(), key=lambda item: (place.get(item[0][0], len(place)), item[0]))
        return [Waiting(stage, own_first(rules), reason) for (stage, reason), rules in ordered]

    @property
    def assumptions(self) -> list[Assumption]:
        """The assumptions of the method; one that names a pitfall's probe stands as that probe says."""
        says = {pitfall.id: finding.status for pitfall, finding in self.findings if finding.status != "clear"}
        found = []
        for item in self.spec.data["method"]["assumptions"]:
            named = [says[word] for word in re.findall(r"[\w-]+", item["verified_by"]) if word in says]
            status = REFUTED.get(min(named, default=""), item["status"])
            found.append(Assumption(item["id"], item["statement"], item["verified_by"], status))
        return found

    @property
    def unsandboxed(self) -> list[str]:
        """Stages whose free engine text may run outside the sandbox."""
        return [stage.name for stage in self.spec.stages if self.spec.mechanical(stage.name).unsandboxed_fragments]

    @cached_property
    def steps_by_rule(self) -> dict[tuple[str, str], list[PlannedStep]]:
        """(stage, rule) -> its steps, by name as people count."""
        found: dict[tuple[str, str], list[PlannedStep]] = {key: [] for key in self.proposal.plan.counts()}
        for step in self.proposal.plan.steps:
            found[step.stage, step.rule].append(step)
        for steps in found.values():
            steps.sort(key=lambda step: [(len(value), value) for value in step.wildcards.values()])
        return found

    @property
    def wildcard_ranges(self) -> dict[str, Sequence[str]]:
        """Wildcard -> its values."""
        return dict(self.spec.ranges)

    @cached_property
    def agents(self) -> list[AgentPlan]:
        """The agents of the planned steps and of the templates, by name."""
        rules: dict[str, list[str]] = {}
        for rule in self.proposal.plan.agents:
            for agent in campaign_agents.agents_of(self.spec, rule):
                rules.setdefault(agent, []).append(rule)
        return [self._agent(name, sorted(by)) for name, by in sorted(rules.items())]

    def _agent(self, name: str, rules: Sequence[str]) -> AgentPlan:
        root = self.proposal.root
        agent = campaign_agents.find_agent(root, name)
        front = agent.front
        chosen = campaign_agents.chosen(self.spec.data, name)
        rank = f" of rank {chosen.get('rank', front['rank'])}" if chosen["backend"] == campaign_agents.RANKED else ""
        who = f"{chosen['backend']}{rank}" + (f", model {chosen['model']}" if "model" in chosen else "")
        tools = front["tools"]
        given = grants.lines(front.get("grants", {})) if tools else []
        given += grants.server_lines(chosen.get("grants", {}))
        for server, about in sorted(front.get("servers", {}).items()):
            given.append(f"MCP server {server}: {about.get('url') or ' '.join(about.get('command', []))}")
        agent = agent.with_skills(
            root, [one for rule in rules for one in campaign_agents.given_skills(self.spec, agent, rule)]
        )
        given += [
            skill_source.review_line(root, skill)
            for skill in map(partial(campaign_agents.find_skill, root), agent.skill_digests)
        ]
        return AgentPlan(name, rules, who, tools, given)

    @property
    def trusted(self) -> list[str]:
        """Fingerprints of the keys that may sign; empty before the first approval."""
        found: list[str] = json.loads(self.proposal.statement).get("trusted", [])
        return found

    @property
    def next_command(self) -> str:
        """What a person types next."""
        if self.closed:
            return "sophron review (again, when this is resolved)"
        if self.in_force:
            return "snakemake" if self.waiting else "sophron status"
        renew = " --renew" if approve.is_renewal(self.proposal) else ""
        return f"sophron approve{renew} --key ~/.ssh/id_ed25519 --digest {self.proposal.digest}"

    @cached_property
    def changed_code(self) -> dict[str, list[str]]:
        """Part of the code -> its files that are not those of the approval in force."""
        return approve.changed_code(self.proposal)

    @property
    def in_force(self) -> bool:
        """Whether just this plan is what the gate file signs already."""
        return self.proposal.amendment is None and is_signed(self.proposal)


def is_signed(proposal: approve.Proposal) -> bool:
    """Whether the approval in force says the same as the proposal."""
    from sophron.records import approvals
    from sophron.records.errors import Refused
    from sophron.records.typed_json import to_json

    try:
        record = to_json(approvals.valid_approval(proposal.root).record)
    except Refused:
        return False
    statement = proposal.plan.statement(proposal.root)
    return all(record[key] == value for key, value in statement.items() if key not in ("spec_file", "files"))


def own_first(rules: Mapping[str, int]) -> dict[str, int]:
    """Rule -> steps, in the order in which they run: the stage's own, verify, accept."""
    return dict(
        sorted(rules.items(), key=lambda item: (item[0] in campaign_agents.SERVICE_RULES, item[0] == "accept", item[0]))
    )


def collect(root: Path, snakefile: Path | None, probe: ProbeSpec) -> Review:
    """Make the plan, probe its spec, and look at what would run now. Raises UserError as `approve.propose` does.

    snakefile: the host's, where the campaign is part of another pipeline. probe: runs the pitfall probes of a spec.
    """
    proposal = approve.propose(root, snakefile, probe)
    drafted = DRAFT_SPEC_NAME if proposal.amendment else ""
    now = plan.jobs_shown(root, proposal.plan.spec, snakefile, forced=False, drafted=drafted).steps
    return Review(proposal, now, proposal.findings or (), approve.closed(proposal))


def reason_without_files(reason: str) -> str:
    """`Missing output files: a, b; Code has changed since ...` as `missing output files; code has changed ...`."""
    heads = [part.partition(":")[0].strip() for part in re.split(r"; (?=[A-Z])", reason)]
    short = "; ".join(dict.fromkeys(head[:1].lower() + head[1:] for head in heads if head))
    return short if len(short) <= REASON_LENGTH else short[: REASON_LENGTH - 1] + "…"
