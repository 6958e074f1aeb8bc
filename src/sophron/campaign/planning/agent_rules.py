"""Which agent steps a campaign has: the one before the report, those of its kind, and templates of all that is bounded.

A template is signed by its rule, shell line, digest and the ranges of its wildcards; the product of the ranges is its
bound. Steps of a template never appear in a forced dry run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from types import MappingProxyType

from sophron.campaign.planning import agent_definitions
from sophron.campaign.spec.spec import Spec
from sophron.interfaces.kind import Wildcards
from sophron.records.errors import UserError

Digests = str | Mapping[str, str]
NONE: Wildcards = MappingProxyType({})
MOST_TRIES = 5  # Superscientist A.3: three local, five remote
PLANNED = ("caveats",)
"""Rules of the agent steps that every campaign has and a forced dry run shows."""
SERVICE_RULES = ("verify", "accept", "report", *PLANNED)
"""Rules that every kind has, and that are listed."""


TEMPLATES: dict[str, tuple[str, ...]] = {
    "explain": ("stage",),
    "debug": ("stage", "attempt"),
    "amend": ("stage", "attempt"),
    "resume": ("attempt",),
    "checkpoint_management": ("attempt",),
}
"""Rule whose steps are bounded, not planned -> its wildcards."""


@dataclass(frozen=True)
class Template:
    """What is signed of a rule whose steps are bounded. stage: of a part, the stage whose loop it belongs to.

    asks: whether its steps ask an agent, whose digest it then has.
    """

    rule: str
    shell: str
    digest: Digests
    ranges: Mapping[str, Sequence[str]]
    stage: str = ""
    asks: bool = True

    @property
    def bound(self) -> int:
        """Most steps that it may stand for."""
        return prod(len(values) for values in self.ranges.values())

    @property
    def statement(self) -> dict[str, object]:
        """Plain data, for the plan and the approval."""
        return {"shell": self.shell, "digest": self.digest, "ranges": dict(self.ranges), "bound": self.bound}


def digest_of(root: Path, spec: Spec, rule: str, wildcards: Wildcards = NONE) -> str:
    """Digest of the agent behind a step of a rule: prompt, skills, schema, tools, and who answers."""
    agent = agent_of(spec, rule, wildcards)
    return agent_definitions.find(root, agent).digest(agent_definitions.chosen(spec.data, agent))


def digests_of(root: Path, spec: Spec, rule: str) -> Digests:
    """Digest of the agent behind a rule; if a wildcard names it, `wildcard=value` -> the digest of each."""
    if not (by := _by(spec, rule)):
        return digest_of(root, spec, rule)
    return {f"{by}={value}": digest_of(root, spec, rule, {by: value}) for value in spec.ranges[by]}


def _by(spec: Spec, rule: str) -> str:
    return spec.agent_rules[rule].by if rule in spec.agent_rules else ""


def planned(spec: Spec) -> list[str]:
    """Rules of the agent steps that a forced dry run shows."""
    return [*PLANNED, *(rule for rule, asked in spec.agent_rules.items() if not asked.bounded)]


def templates(root: Path, spec: Spec, shells: Mapping[str, str]) -> list[Template]:
    """The templates of a campaign: what failures call for, and what its loops hold.

    shells: rule -> unformatted shell line, for the rules that the workflow has. UserError where a loop lacks one.
    """
    attempts = [str(number) for number in range(1, MOST_TRIES + 1)]
    ranges = {"stage": [stage.name for stage in spec.stages], "attempt": attempts}
    called_for = [
        Template(rule, shells[rule], digest_of(root, spec, rule), {name: ranges[name] for name in wildcards})
        for rule, wildcards in sorted(TEMPLATES.items())
        if rule in shells
    ]
    return called_for + [_looped(root, spec, shells, name) for name in looped(spec)]


def looped(spec: Spec) -> list[str]:
    """Sorted names of the rules behind a checkpoint: parts, and agent rules that are bounded."""
    return sorted([*spec.parts, *(rule for rule, asked in spec.agent_rules.items() if asked.bounded)])


def _looped(root: Path, spec: Spec, shells: Mapping[str, str], name: str) -> Template:
    if name not in shells:
        raise UserError(f"{spec.document.path}: the workflow has no rule {name}; import all rules of {spec.kind.name}")
    asks = name in spec.agent_rules
    wildcards = spec.agent_rules[name].wildcards if asks else spec.parts[name].wildcards
    digest = digests_of(root, spec, name) if asks else spec.definition_digest(name)
    return Template(name, shells[name], digest, {key: spec.ranges[key] for key in wildcards}, spec.owner(name), asks)


def agents_of(spec: Spec, rule: str) -> list[str]:
    """Names of the agents behind a rule: one, unless a wildcard names it."""
    by = _by(spec, rule)
    return [agent_of(spec, rule, {by: value}) for value in spec.ranges[by]] if by else [agent_of(spec, rule)]


def agent_of(spec: Spec, rule: str, wildcards: Wildcards = NONE) -> str:
    """Name of the agent behind a step of a rule; UserError for a rule that has none."""
    if rule in spec.agent_rules:
        return spec.agent_rules[rule].agent(wildcards)
    if rule in PLANNED or rule in TEMPLATES:
        return rule.replace("_", "-")
    known = ", ".join([*PLANNED, *TEMPLATES, *spec.agent_rules])
    raise UserError(f"the rule {rule} has no agent; known are {known}")
