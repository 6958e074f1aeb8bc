"""What the agent steps of a plan cost: what is to be expected of them, and the most that their limits allow.

Expected is a step for every planned one and for every round of a loop, at what its agent usually takes; steps that only
a failure calls for are expected not to come. An agent that states nothing usual is expected to take its limits.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sophron.campaign.planning import agent_definitions, agent_rules
from sophron.campaign.spec.spec import Spec
from sophron.records import documents

AT_THE_CAP = (
    "The limits on model calls are hard caps. At one of them agent steps stop with a sentence, compute and verdicts go "
    "on, and the report is written without caveats and says so."
)
KEYS = {"model_calls": "calls", "tokens": "tokens", "dollars": "dollars"}
"""Limit of a campaign -> limit of an agent."""
UNPRICED = "mailbox"
"""The backend whose answers cost no money."""


@dataclass(frozen=True)
class AgentCost:
    """Cost of the steps of one agent rule.

    steps: most that may run; expected_steps: that run if nothing fails; usual, most: of one step, by campaign limit.
    """

    rule: str
    agent: str
    steps: int
    expected_steps: int
    usual: Mapping[str, float]
    most: Mapping[str, float]

    @property
    def expected(self) -> dict[str, float]:
        """What its steps take if nothing fails, by limit of a campaign."""
        return {key: self.expected_steps * value for key, value in self.usual.items()}

    @property
    def worst(self) -> dict[str, float]:
        """What its steps take at most, by limit of a campaign."""
        return {key: self.steps * value for key, value in self.most.items()}


def of_rules(root: Path | None, spec: Spec, bounds: Mapping[str, int]) -> list[AgentCost]:
    """The costs of agent rules, by rule; none of rules of thumb. bounds: rule -> most steps."""
    asked = {rule: agent_rules.agents_of(spec, rule) for rule in sorted(bounds)}
    named = {agent for agents in asked.values() for agent in agents}
    backends = {agent: agent_definitions.chosen(spec.data, agent)["backend"] for agent in named}
    return [
        _cost(root, rule, agent, bounds[rule] // len(agents), priced=backends[agent] != UNPRICED)
        for rule, agents in asked.items()
        for agent in agents
        if backends[agent] != agent_definitions.DEFAULT_BACKEND
    ]


def _cost(root: Path | None, rule: str, agent: str, steps: int, *, priced: bool) -> AgentCost:
    front = agent_definitions.find(root, agent).front
    most, usual = (_amounts(one, priced=priced) for one in (front["limits"], front.get("usual", front["limits"])))
    return AgentCost(rule, agent, steps, 0 if rule in agent_rules.TEMPLATES else steps, usual, most)


def _amounts(stated: Mapping[str, float], *, priced: bool) -> dict[str, float]:
    return {limit: stated[key] if priced or key != "dollars" else 0 for limit, key in KEYS.items()}


def total(amounts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The sum, by limit of a campaign; dollars to a hundredth of a cent."""
    listed = list(amounts)
    return {key: round(sum(one[key] for one in listed), 4) for key in KEYS}


def default_limits() -> dict[str, float]:
    """What a campaign that asks a model may take where its limits do not say: the defaults of the schema."""
    properties = documents.schema("campaign")["$defs"]["limits"]["properties"]
    return {key: properties[key]["default"] for key in KEYS}
