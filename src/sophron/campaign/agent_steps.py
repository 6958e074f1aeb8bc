"""Which agent steps a campaign has: the one before the report, and templates of those that failures call for.

A template is signed by its rule, shell line, digest and the ranges of its wildcards; the product of the ranges is its
bound. Steps of a template never appear in a forced dry run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from sophron.campaign import agent_files
from sophron.campaign.spec import Spec
from sophron.records.errors import UserError

MOST_TRIES = 5  # Superscientist A.3: three local, five remote
PLANNED = {"caveats": "report"}
"""Rule -> agent of the agent steps that a forced dry run shows."""


@dataclass(frozen=True)
class TemplateRule:
    """A rule whose steps are bounded, not planned. wildcards: names, of `stage` and `attempt`."""

    agent: str
    wildcards: tuple[str, ...]


TEMPLATES = {
    "explain": TemplateRule("verify", ("stage",)),
    "debug": TemplateRule("debug", ("stage", "attempt")),
    "propose": TemplateRule("amend", ("stage", "attempt")),
    "resume": TemplateRule("resume", ("attempt",)),
    "restart_files": TemplateRule("checkpoint-management", ("attempt",)),
}


@dataclass(frozen=True)
class Template:
    """What is signed of a template."""

    rule: str
    shell: str
    digest: str
    ranges: Mapping[str, Sequence[str]]

    @property
    def bound(self) -> int:
        """Most steps that it may stand for."""
        return prod(len(values) for values in self.ranges.values())

    @property
    def statement(self) -> dict[str, Any]:
        """Plain data, for the plan and the approval."""
        return {"shell": self.shell, "digest": self.digest, "ranges": dict(self.ranges), "bound": self.bound}


def digest_of(root: Path, spec: Spec, rule: str) -> str:
    """Digest of the agent behind a rule: prompt, skills, schema, tools, and who answers."""
    agent = agent_of(rule)
    return agent_files.find(root, agent).digest(agent_files.chosen(spec.data, agent))


def templates(root: Path, spec: Spec, shells: Mapping[str, str]) -> list[Template]:
    """The templates of a campaign. shells: rule -> unformatted shell line, for the rules that the workflow has."""
    attempts = [str(number) for number in range(1, MOST_TRIES + 1)]
    ranges = {"stage": [stage.name for stage in spec.stages], "attempt": attempts}
    return [
        Template(rule, shells[rule], digest_of(root, spec, rule), {name: ranges[name] for name in about.wildcards})
        for rule, about in sorted(TEMPLATES.items())
        if rule in shells
    ]


def calls(root: Path | None, spec: Spec, bounds: Mapping[str, int]) -> dict[str, float]:
    """Upper bounds of model calls, tokens and dollars. bounds: rule -> most steps. Rules of thumb cost nothing."""
    total = {"model_calls": 0.0, "tokens": 0.0, "dollars": 0.0}
    for rule, count in bounds.items():
        agent = agent_of(rule)
        if agent_files.chosen(spec.data, agent)["backend"] == agent_files.DEFAULT_BACKEND:
            continue
        limits = agent_files.find(root, agent).front["limits"]
        for name, key in (("model_calls", "calls"), ("tokens", "tokens"), ("dollars", "dollars")):
            total[name] += count * limits[key]
    return total


def agent_of(rule: str) -> str:
    """Name of the agent behind a rule; UserError for a rule that has none."""
    if rule in PLANNED:
        return PLANNED[rule]
    if rule in TEMPLATES:
        return TEMPLATES[rule].agent
    raise UserError(f"the rule {rule} has no agent; known are {', '.join([*PLANNED, *TEMPLATES])}")
