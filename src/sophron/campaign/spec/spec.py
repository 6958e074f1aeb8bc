"""The spec: `campaign.yaml`, read strictly, checked against its schemas and its kind, with its digests."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from sophron import records
from sophron.campaign.spec.resource_requests import Mechanical, check_mechanical
from sophron.interfaces import JsonObject
from sophron.interfaces.kind import AgentRule, Cores, Definition, Kind, StageKind, Wildcards
from sophron.records import documents, entry_points
from sophron.records.approvals import FOLDER, Approval, signed_file
from sophron.records.digests import digest
from sophron.records.errors import UserError
from sophron.records.typed_json import from_json

SPEC_NAME = records.SPEC_NAME
HOST_KIND = "workflow"
"""The kind whose stages judge rules of a host workflow."""
DRAFT_SPEC_NAME = "draft.campaign.yaml"
DRAFT_VARIABLE = "SOPHRON_DRAFT"
"""Set in a process that plans a draft, to the name of its file."""
LARGEST_SEED = 900_000_000  # what every generator of LAMMPS takes


@dataclass(frozen=True)
class Criterion:
    """A success criterion of a stage: a comparison over its result, and in words what it says."""

    id: str
    expression: str
    statement: str


@dataclass(frozen=True)
class JobTemplate:
    """Jobs that no plan can list. wildcards: name -> regular expression of its values; at_most: so many jobs."""

    wildcards: Mapping[str, str]
    at_most: int


@dataclass(frozen=True)
class HostWorkflow:
    """The workflow that a campaign of the kind workflow is about.

    snakefile: relative to the campaign's folder; directory: where Snakemake runs, relative to it too, by default as
    Snakemake itself would have it; arguments: of Snakemake's command line that makes the plan; also: patterns of
    further files that decide; templates: rule behind a checkpoint -> what its jobs may be.
    """

    snakefile: str
    templates: Mapping[str, JobTemplate] = field(default_factory=dict)
    arguments: Sequence[str] = ()
    also: Sequence[str] = ()
    directory: str = ""


@dataclass(frozen=True)
class Spec:
    """A valid spec. `document.data` is the plain content."""

    document: documents.Document

    @cached_property
    def kind(self) -> Kind:
        """Its kind; UserError with file and line if no such kind is installed.

        With a host workflow beside stages of another kind, its further stages are those that judge the host's rules.
        """
        try:
            kind: Kind = entry_points.load("sophron.kinds", self.data["kind"])
        except UserError as error:
            raise UserError(f"{self.document.where(['kind'])}: {error}") from None
        blocks = self.data["stages"]
        if kind.stages_of:
            return replace(kind, stages=kind.stages_of(blocks))
        if "workflow" not in self.data:
            return kind
        own = {stage.name for stage in kind.stages}
        host: Kind = entry_points.load("sophron.kinds", HOST_KIND)
        judged = (
            host.stages_of({name: block for name, block in blocks.items() if name not in own}) if host.stages_of else ()
        )
        return replace(kind, stages=(*kind.stages, *judged))

    @property
    def data(self) -> Mapping[str, Any]:
        """The content of campaign.yaml."""
        content: Mapping[str, Any] = self.document.data
        return content

    @property
    def campaign(self) -> str:
        """Identifier of the campaign."""
        return str(self.data["campaign"])

    @property
    def version(self) -> int:
        """Version of the spec, counted up by every amendment."""
        return int(self.data["version"])

    @cached_property
    def digest(self) -> str:
        """Digest of the whole spec; comments and layout are not part of it."""
        return digest(self.data)

    @property
    def host(self) -> HostWorkflow | None:
        """The host workflow whose rules it gates; None for a campaign with a workflow of ours."""
        return from_json(HostWorkflow, self.data["workflow"]) if "workflow" in self.data else None

    @cached_property
    def stages(self) -> tuple[StageKind, ...]:
        """The kind's stages that this campaign has, in topological order."""
        return tuple(self._present(stage) for stage in self.kind.stages if stage.name in self.data["stages"])

    def _present(self, stage: StageKind) -> StageKind:
        """The stage, without those it may lack among the ones it builds on."""
        if not stage.partial:
            return stage
        return replace(stage, depends_on=tuple(name for name in stage.depends_on if name in self.data["stages"]))

    def stage(self, name: str) -> StageKind:
        """Stage `name`; UserError if this campaign has none."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        known = ", ".join(stage.name for stage in self.stages)
        raise UserError(f'{self.document.path}: there is no stage "{name}"; this campaign has {known}')

    @cached_property
    def parts(self) -> Mapping[str, StageKind]:
        """Name -> part of a stage's loop, in the form of a stage, as far as this campaign has it."""
        found = {part.name: stage.unit(part) for stage in self.stages for part in stage.parts}
        return {name: unit for name, unit in found.items() if name not in self.left_out}

    @cached_property
    def agent_rules(self) -> Mapping[str, AgentRule]:
        """Rule -> what asks an agent, as far as this campaign has it."""
        found = {asked.rule: asked for stage in self.stages for asked in stage.agents}
        return {rule: asked for rule, asked in found.items() if rule not in self.left_out}

    def unit(self, name: str) -> StageKind:
        """Return the stage or part called `name`; UserError if this campaign has neither."""
        return self.parts[name] if name in self.parts else self.stage(name)

    def engine(self, name: str) -> str | None:
        """Return the name of the engine that a stage or part runs; None if it runs none."""
        named = self.unit(name).engine
        stage, _, key = named.rpartition(".")
        return str(self.definition(stage)[key]) if stage else named or None

    def owner(self, name: str) -> str:
        """Return the stage that a stage, a part or an agent rule belongs to.

        Raise UserError if this campaign has none of it.
        """
        for stage in self.stages:
            if name in (part.name for part in stage.parts) or name in (asked.rule for asked in stage.agents):
                return stage.name
        return self.stage(name).name

    def definition(self, name: str) -> Definition:
        """Return the definition of a stage, or of the stage that a part belongs to."""
        block: Definition = self.data["stages"][self.owner(name)]["definition"]
        return block

    def result_schema(self, name: str) -> JsonObject:
        """Return the JSON Schema of a stage's result: what the campaign declares, or its kind."""
        stage = self.stage(name)
        schema: JsonObject = stage.declared or documents.schema(stage.schema)["$defs"]["result"]
        return schema

    def criteria(self, name: str) -> list[Criterion]:
        """Return the criteria of a stage."""
        return [Criterion(**block) for block in self.data["stages"][name]["criteria"]]

    def mechanical(self, name: str) -> Mechanical:
        """Return the signed mechanical block of a stage or part, before any overlay."""
        return Mechanical.of(self.mechanical_block(name))

    def mechanical_block(self, name: str) -> Mapping[str, Any]:
        """Return the mechanical block of a stage or part."""
        block: Mapping[str, Any] = self.data
        for key in self.mechanical_keys(name):
            block = block[key]
        return block

    @property
    def mechanical_blocks(self) -> dict[str, Mapping[str, Any]]:
        """Stage or part -> its mechanical block."""
        return {name: self.mechanical_block(name) for name in [*self.data["stages"], *self.parts]}

    def mechanical_keys(self, name: str) -> tuple[str, ...]:
        """Return where that block stands: of a part its own, if it has one, else that of its stage."""
        stage = self.owner(name)
        own = name in self.data["stages"][stage].get("parts", {})
        return ("stages", stage, "parts", name) if own else ("stages", stage, "mechanical")

    def definition_digest(self, name: str) -> str:
        """Digest of what a stage or part means: kind, name, definition, its place in the graph, and the seed."""
        if name not in self._digests:
            block = self.data["stages"][self.owner(name)]
            meaning = {"definition": block["definition"], "depends_on": sorted(block["depends_on"])}
            about = {"kind": self.kind.name, "stage": name, "seed": self.data["seed"], **meaning}
            self._digests[name] = digest(about)
        return self._digests[name]

    @cached_property
    def _digests(self) -> dict[str, str]:
        # A gathering step asks once for each outcome; with thousands of guests in a definition that is minutes.
        return {}

    def constants(self, name: str) -> dict[str, object]:
        """Dotted name -> value of all signed numbers that a criterion of a stage may use, and what else stands there.

        Of the stage itself `definition.<key>`, of a stage that it builds on, however far below, `<stage>.definition.
        <key>`; `question.conditions.<name>`; of a list `<its name>[0]` and `len(<its name>)`.
        """
        found = dotted("definition", self.definition(name))
        for below in self.ancestors(name):
            found |= dotted(f"{below}.definition", self.definition(below))
        return found | dotted("question.conditions", self.data["question"]["conditions"])

    def ancestors(self, name: str) -> list[str]:
        """Return the stages that a stage builds on, directly or not, in topological order."""
        needed, order = {name}, [stage.name for stage in self.stages]
        for stage in reversed(self.stages):
            if stage.name in needed:
                needed.update(stage.depends_on)
        return [one for one in order if one in needed and one != name]

    def criteria_digest(self, name: str) -> str:
        """Return the digest of how a stage is judged: its criteria, and the value of each signed number in them."""
        from sophron.campaign.spec import criteria

        named = {used for one in self.criteria(name) for used in criteria.names_of(criteria.parse(one.expression))}
        values = {used: value for used, value in self.constants(name).items() if used in named}
        return digest({"stage": name, "criteria": self.data["stages"][name]["criteria"], "values": values})

    def report_digest(self) -> str:
        """Return the digest of what the report says beside the results."""
        return digest({"question": self.data["question"], "method": self.data["method"]})

    @cached_property
    def ranges(self) -> Mapping[str, Sequence[str]]:
        """Wildcard name -> its values."""
        return self.kind.ranges(self._definitions)

    @cached_property
    def left_out(self) -> frozenset[str]:
        """Parts and agent rules of the kind that this campaign goes without."""
        return frozenset(self.kind.left_out(self._definitions))

    @property
    def _definitions(self) -> dict[str, Definition]:
        return {name: block["definition"] for name, block in self.data["stages"].items()}

    def steps(self, name: str) -> list[Wildcards]:
        """Return the wildcards of each step of a stage, sorted as the ranges are.

        Of a part or agent rule, all that may be.
        """
        names = self.agent_rules[name].wildcards if name in self.agent_rules else self.unit(name).wildcards
        return [dict(zip(names, values, strict=True)) for values in product(*(self.ranges[key] for key in names))]

    def descendants(self, names: Sequence[str]) -> list[str]:
        """Return `names` and every stage that builds on one of them, in topological order."""
        reached = set(names)
        for stage in self.stages:
            if reached.intersection(stage.depends_on):
                reached.add(stage.name)
        return [stage.name for stage in self.stages if stage.name in reached]

    def seed(self, stage: str, wildcards: Wildcards) -> int:
        """Return the seed of one step, 1 to 900,000,000, from the spec's seed, the stage and the wildcards."""
        text = digest([self.data["seed"], stage, dict(wildcards)])
        return int(text[:12], 16) % LARGEST_SEED + 1

    def unverified(self) -> list[str]:
        """Return the ids of the assumptions that nobody has verified yet; the gate stays closed while there are any."""
        return [str(item["id"]) for item in self.data["method"]["assumptions"] if item["status"] == "UNVERIFIED"]

    def fragments(self, name: str) -> dict[str, str | list[str]]:
        """Free engine text in the definition of a stage: key -> text."""
        definition = self.definition(name)
        return {key: definition[key] for key in self.stage(name).fragments if definition.get(key)}

    def unread_fragments(self) -> dict[str, str]:
        """Stage with free engine text that no assumption speaks of -> the id that this assumption must have.

        The id is bound to the text, so that an edited one is unread again.
        """
        texts = {stage.name: self.fragments(stage.name) for stage in self.stages}
        ids = {name: f"fragments-{name}-{digest(text)[:8]}" for name, text in texts.items() if text}
        stated = {item["id"] for item in self.data["method"]["assumptions"]}
        return {name: found for name, found in ids.items() if found not in stated}


def load(path: Path) -> Spec:
    """Read and check a spec. Raises UserError with file, line and key."""
    from sophron.campaign.spec import question

    if not path.exists() and path.name == SPEC_NAME:
        raise UserError(f"{path}: there is no such file; give the folder of a campaign, or make one: sophron new")
    document = documents.load_yaml(path)
    if not isinstance(document.data, dict):
        raise UserError(f"{path}:1: is not a campaign (no `key: value` pairs); `sophron new` makes one to start from")
    documents.validate(document, "campaign")
    spec = Spec(document)
    _check_graph(spec)
    for stage in spec.stages:
        documents.validate(document, stage.schema, "definition", ("stages", stage.name, "definition"))
    question.check_names(spec)  # before criteria, which may speak of conditions
    for stage in spec.stages:
        _check_stage(spec, stage)
    _check_justified(spec)
    return spec


def load_signed(approval: Approval) -> Spec:
    """Return the spec that a valid approval is for. It was checked before it was signed, so it is only read."""
    spec = Spec(documents.load_yaml(approval.root / SPEC_NAME))
    if spec.digest != approval.record.spec:
        raise UserError(f"{approval.root / SPEC_NAME}: was changed just now; run again what asked for it")
    return spec


def signed_spec(root: Path, record_hash: str) -> Spec:
    """Return the spec as it was signed with the record of this hash."""
    return load(signed_file(root, record_hash, SPEC_NAME))


def spec_file(root: Path) -> Path:
    """Return `campaign.yaml`, or the drafted spec in a process that plans one (steps refuse what it would run)."""
    return root / FOLDER / Path(os.environ[DRAFT_VARIABLE]).name if is_planned() else root / SPEC_NAME


def is_planned() -> bool:
    """Return whether this process plans a spec that is not in force; the variable holds its file's name."""
    return bool(os.environ.get(DRAFT_VARIABLE))


def _check_graph(spec: Spec) -> None:
    named = spec.data["stages"]
    known = [stage.name for stage in spec.kind.stages]
    for name in named:
        if name not in known:
            where = spec.document.where(["stages", name])
            raise UserError(f"{where}: the kind {spec.kind.name} has no such stage; known are {', '.join(known)}")
    for stage in spec.kind.stages:
        if stage.name not in named:
            if stage.optional:
                continue
            raise UserError(f'{spec.document.where(["stages"])}: the stage "{stage.name}" is missing; add it')
        where = spec.document.where(["stages", stage.name, "depends_on"])
        wanted = list(spec.stage(stage.name).depends_on)
        if sorted(named[stage.name]["depends_on"]) != sorted(wanted):
            raise UserError(f"{where}: in the kind {spec.kind.name} this stage depends on {wanted}; write that")
        for needed in wanted:
            if needed not in named:
                raise UserError(f'{where}: the stage "{needed}" is missing; add it, or drop {stage.name}')


def _check_stage(spec: Spec, stage: StageKind) -> None:
    from sophron.campaign.spec import criteria

    keys = ("stages", stage.name)
    result_schema = spec.result_schema(stage.name)
    seen: set[str] = set()
    for index, criterion in enumerate(spec.criteria(stage.name)):
        where = spec.document.where([*keys, "criteria", index, "expression"])
        if criterion.id in seen:
            raise UserError(f'{where}: the id "{criterion.id}" stands here twice; give each criterion its own')
        seen.add(criterion.id)
        try:
            criteria.check(criterion.expression, result_schema, spec.constants(stage.name))
        except criteria.CriterionError as error:
            raise UserError(f"{where}: {error}") from None
    _check_mechanical(spec, stage)


def _check_justified(spec: Spec) -> None:
    """Refuse an assumption that justifies a criterion which is not there."""
    known = [f"{stage.name}.{one.id}" for stage in spec.stages for one in spec.criteria(stage.name)]
    for place, assumption in enumerate(spec.data["method"]["assumptions"]):
        named = assumption.get("criterion")
        if named is not None and named not in known:
            where = spec.document.where(["method", "assumptions", place, "criterion"])
            near = get_close_matches(named, known, n=1, cutoff=0.0)
            hint = f'did you mean "{near[0]}"?' if near else "no stage has one"
            raise UserError(f'{where}: there is no criterion "{named}"; {hint}')


def dotted(above: str, value: object) -> dict[str, object]:
    """Return dotted name -> value of nested mappings and lists; of each also its length."""
    if isinstance(value, Mapping):
        inner = {f"{above}.{key}": one for key, one in value.items()}
    elif isinstance(value, list):
        inner = {f"{above}[{place}]": one for place, one in enumerate(value)}
    else:
        return {above: value}
    found: dict[str, object] = {above: value, f"len({above})": len(value)}
    for name, one in inner.items():
        found |= dotted(name, one)
    return found


def _check_mechanical(spec: Spec, stage: StageKind) -> None:
    keys = ("stages", stage.name)
    check_mechanical(spec.document, [*keys, "mechanical"])
    known = [part.name for part in stage.parts]
    for name in spec.data["stages"][stage.name].get("parts", {}):
        if name not in known:
            where, has = spec.document.where([*keys, "parts", name]), ", ".join(known) or "none"
            raise UserError(f"{where}: the loop of {stage.name} has no such part; it has {has}")
        check_mechanical(spec.document, [*keys, "parts", name])


def cores_of(mechanical: Mechanical) -> Cores:
    """Return the mechanical block as the cores that a stage function sees."""
    return Cores(mechanical.ranks, mechanical.threads, mechanical.accelerator, mechanical.nodes)
