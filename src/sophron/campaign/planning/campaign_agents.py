"""The agents of a campaign, as they are signed: their definitions, the rules that ask them, and what they cost.

A definition is one Markdown file with front matter, its skills, its output schema, and its model. The campaign's own
`agents/<name>.md` wins over the installed one. Nothing here asks a model.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sophron.campaign.skills import skill_folder
from sophron.campaign.skills.skill_folder import Skill
from sophron.campaign.spec.spec import Spec
from sophron.interfaces import JsonObject
from sophron.interfaces.kind import Wildcards
from sophron.records import documents, old_names
from sophron.records.digests import digest
from sophron.records.errors import UserError
from sophron.records.files import read_text, resource
from sophron.records.strict_yaml import parse

FOLDER = "agents"
EXPERTS = "experts"
"""Folder below it where the members of a panel lie."""
DEFAULT_BACKEND = "heuristic"
RANKED = "ranked"
"""Any language model of the agent's rank may answer, whoever provides it."""
SKILLS = "skills"
"""Folder below it where skills lie."""
COMMON_SKILL = "answering"
"""What every agent is told first, whatever its front matter lists."""
FENCE = "---\n"
PLACE = re.compile(r"\{\{\s*([a-z][a-z0-9_]*)\s*\}\}")


@dataclass(frozen=True)
class AgentFile:
    """A definition. front: its front matter; prompt: its body.

    skills: name -> text that stands in its prompt; on_demand: skills that it is told of, and reads with a tool;
    skill_digests: name -> digest of a skill's folder, unless its text is all that counts.
    """

    path: Path
    front: Mapping[str, Any]
    prompt: str
    skills: Mapping[str, str]
    on_demand: Sequence[Skill] = ()
    skill_digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the agent."""
        return old_names.agent_now(str(self.front["name"]))

    @property
    def schema_name(self) -> str:
        """What answers are validated against: `schemas/<output>` beside the definition, else the installed schema."""
        own = self.path.absolute().parent / "schemas" / self.front["output"]
        if Path(f"{own}.schema.yaml").is_file():
            return str(own)
        return f"agents/{old_names.answer_now(self.front['output'], self.name)}"

    @cached_property
    def schema(self) -> JsonObject:
        """JSON Schema of its answer."""
        content: JsonObject = documents.schema(self.schema_name)
        return content

    def digest(self, models: Mapping[str, Any]) -> str:
        """Digest of everything that makes the agent what it is. models: its entry of the spec (`chosen`).

        A name that changed counts as what it was, so that a renamed agent is the agent that was signed.
        """
        front = {key: value for key, value in self.front.items() if key != "usual"}  # an estimate for the review
        front["name"] = old_names.AGENTS.get(front["name"], front["name"])
        front["output"] = old_names.ANSWERS.get(front["output"], front["output"])
        parts = {"prompt": self.prompt, "front": front, "skills": self.skills, "schema": self.schema}
        if self.skill_digests:
            parts["skill_folders"] = dict(self.skill_digests)
        return digest(parts | {"models": models})

    def with_skills(self, root: Path | None, names: Iterable[str]) -> "AgentFile":
        """Return the agent with further skills, those of its campaign or task. UserError for one that is not there.

        An agent with tools is told what each is for and reads it when it needs it; others have its text in the prompt.
        """
        known = {*self.skills, *(skill.name for skill in self.on_demand)}
        added = [find_skill(root, name) for name in dict.fromkeys(names) if name not in known]
        whole = {skill.name: skill.body for skill in added if skill.whole or not self.front.get("tools")}
        return replace(
            self,
            skills={**self.skills, **whole},
            on_demand=(*self.on_demand, *(skill for skill in added if skill.name not in whole)),
            skill_digests={**self.skill_digests, **{skill.name: skill.digest for skill in added if not skill.whole}},
        )


def chosen(spec: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Who answers for an agent, as the spec says: `{backend, model?, rank?}`. spec: parsed `campaign.yaml`."""
    block = dict(spec.get("agents", {}))
    by_name = block.pop("by_name", {})
    own = dict(by_name.get(name, by_name.get(old_names.AGENTS.get(name), {})))
    return {"backend": DEFAULT_BACKEND} | block | own


def agent_folders(root: Path | None) -> list[Path]:
    """Where definitions are looked for, the campaign's own first."""
    tops = [*([root / FOLDER] if root else []), resource("workflow", "agents")]
    return [folder for top in tops for folder in (top, top / EXPERTS)]


def agent_names(root: Path | None) -> list[str]:
    """Sorted names of all agents that a campaign has."""
    return sorted({old_names.agent_now(path.stem) for folder in agent_folders(root) for path in folder.glob("*.md")})


def find_agent(root: Path | None, name: str) -> AgentFile:
    """The definition called `name`; UserError where there is none or where it is not valid."""
    now = old_names.agent_now(name)
    called = [now, *([old_names.AGENTS[now]] if now in old_names.AGENTS else [])]
    for path in (folder / f"{one}.md" for folder in agent_folders(root) for one in called):
        if path.is_file():
            return load_agent(path, root)
    raise UserError(f'there is no agent "{name}"; known are {", ".join(agent_names(root))}')


def signed_agent(root: Path, spec: Spec, rule: str, wildcards: Wildcards) -> AgentFile:
    """Return the agent behind a step of a rule, with the skills that the campaign gives it."""
    agent = find_agent(root, agent_of(spec, rule, wildcards))
    return agent.with_skills(root, given_skills(spec, agent, rule))


def given_skills(spec: Spec, agent: AgentFile, rule: str) -> list[str]:
    """Return the names of the skills that a campaign gives an agent for the steps of a rule.

    Those are `skills` of its entry in `agents.by_name`, and those of its stage's definition if it is one that works.
    """
    given: list[str] = list(chosen(spec.data, agent.name).get("skills", []))
    if rule in spec.agent_rules and agent.front["role"] == "work":
        given += spec.definition(spec.owner(rule)).get("skills", [])
    return given


def find_skill(root: Path | None, name: str) -> Skill:
    """Return the skill `name` of a campaign, else the installed one; UserError if there is none, or it is not valid."""
    return skill_folder.find([folder / SKILLS for folder in agent_folders(root)], name)


def load_agent(path: Path, root: Path | None = None, *, of_any_name: bool = False) -> AgentFile:
    """Read and check one definition. UserError with file, line and key.

    of_any_name: where a folder and not a file's name says which agent it is (an agent under development).
    """
    text = read_text(path)
    if not text.startswith(FENCE) or FENCE not in text[len(FENCE) :]:
        raise UserError(f"{path}:1: has no front matter; begin with a line `---`, keys, and a line `---`")
    head, prompt = text[len(FENCE) :].split(FENCE, 1)
    data, lines = parse(f"\n{head}".encode(), str(path))
    document = documents.Document(data, path, lines)
    documents.validate(document, "agent")
    if not of_any_name and data["name"] != path.stem:
        raise UserError(f"{document.where(['name'])}: the agent must be called as its file, {path.stem}")
    _check_places(document, prompt)
    if data.get("wired_by", next(iter(data["inputs"]))) not in data["inputs"]:
        raise UserError(f"{document.where(['wired_by'])}: {data['wired_by']} is no input; name one of `inputs`")
    if "grants" in data:
        from sophron.sandbox import grants

        grants.check(document, ["grants"])
    agent = AgentFile(path, data, prompt.strip() + "\n", {})
    return agent.with_skills(root, [COMMON_SKILL, *data.get("skills", [])])


def _check_places(document: documents.Document, prompt: str) -> None:
    declared, used = set(document.data["inputs"]), set(PLACE.findall(prompt))
    for name in sorted(used - declared):
        raise UserError(f"{document.path}: the prompt uses {{{{ {name} }}}}, which is no input; declare it in `inputs`")
    for name in sorted(declared - used):
        if document.data["inputs"][name]["kind"] == "file":  # it may be for the tools alone
            continue
        where = document.where(["inputs", name])
        raise UserError(f"{where}: the prompt does not use this input; write {{{{ {name} }}}} where it belongs")


# Which agent steps a campaign has: the one before the report, those of its kind, and templates of all that is bounded.
#
# A template is signed by its rule, shell line, digest and the ranges of its wildcards; the product of the ranges is its
# bound. Steps of a template never appear in a forced dry run.
#


Digests = str | Mapping[str, str]
NO_WILDCARDS: Wildcards = MappingProxyType({})
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


def digest_of(root: Path, spec: Spec, rule: str, wildcards: Wildcards = NO_WILDCARDS) -> str:
    """Digest of the agent behind a step of a rule: prompt, skills, schema, tools, and who answers."""
    agent = signed_agent(root, spec, rule, wildcards)
    return agent.digest(chosen(spec.data, agent.name))


def digests_of(root: Path, spec: Spec, rule: str) -> Digests:
    """Digest of the agent behind a rule; if a wildcard names it, `wildcard=value` -> the digest of each."""
    if not (by := _by(spec, rule)):
        return digest_of(root, spec, rule)
    return {f"{by}={value}": digest_of(root, spec, rule, {by: value}) for value in spec.ranges[by]}


def _by(spec: Spec, rule: str) -> str:
    return spec.agent_rules[rule].by if rule in spec.agent_rules else ""


def planned_rules(spec: Spec) -> list[str]:
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
    return called_for + [_looped(root, spec, shells, name) for name in looped_rules(spec)]


def looped_rules(spec: Spec) -> list[str]:
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


def agent_of(spec: Spec, rule: str, wildcards: Wildcards = NO_WILDCARDS) -> str:
    """Name of the agent behind a step of a rule; UserError for a rule that has none."""
    if rule in spec.agent_rules:
        return spec.agent_rules[rule].agent(wildcards)
    if rule in PLANNED or rule in TEMPLATES:
        return rule.replace("_", "-")
    known = ", ".join([*PLANNED, *TEMPLATES, *spec.agent_rules])
    raise UserError(f"the rule {rule} has no agent; known are {known}")


# What the agent steps of a plan cost: what is to be expected of them, and the most that their limits allow.
#
# Expected is a step for every planned one and for every round of a loop, at what its agent usually takes; steps that
# only a failure calls for are expected not to come. An agent that states nothing usual is expected to take its limits.
#


AT_THE_CAP = (
    "The limits on model calls are hard caps. At one of them agent steps stop with a sentence, compute and verdicts go "
    "on, and the report is written without caveats and says so."
)
LIMIT_KEYS = {"model_calls": "calls", "tokens": "tokens", "dollars": "dollars"}
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


def rule_costs(root: Path | None, spec: Spec, bounds: Mapping[str, int]) -> list[AgentCost]:
    """The costs of agent rules, by rule; none of rules of thumb. bounds: rule -> most steps."""
    asked = {rule: agents_of(spec, rule) for rule in sorted(bounds)}
    named = {agent for agents in asked.values() for agent in agents}
    backends = {agent: chosen(spec.data, agent)["backend"] for agent in named}
    return [
        _cost(root, rule, agent, bounds[rule] // len(agents), priced=backends[agent] != UNPRICED)
        for rule, agents in asked.items()
        for agent in agents
        if backends[agent] != DEFAULT_BACKEND
    ]


def _cost(root: Path | None, rule: str, agent: str, steps: int, *, priced: bool) -> AgentCost:
    front = find_agent(root, agent).front
    most, usual = (_amounts(one, priced=priced) for one in (front["limits"], front.get("usual", front["limits"])))
    return AgentCost(rule, agent, steps, 0 if rule in TEMPLATES else steps, usual, most)


def _amounts(stated: Mapping[str, float], *, priced: bool) -> dict[str, float]:
    return {limit: stated[key] if priced or key != "dollars" else 0 for limit, key in LIMIT_KEYS.items()}


def total_cost(amounts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The sum, by limit of a campaign; dollars to a hundredth of a cent."""
    listed = list(amounts)
    return {key: round(sum(one[key] for one in listed), 4) for key in LIMIT_KEYS}


def default_limits() -> dict[str, float]:
    """What a campaign that asks a model may take where its limits do not say: the defaults of the schema."""
    properties = documents.schema("campaign")["$defs"]["limits"]["properties"]
    return {key: properties[key]["default"] for key in LIMIT_KEYS}
