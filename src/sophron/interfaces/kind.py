"""What a campaign kind is: its stages, their files, and the functions that run them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sophron.interfaces import JsonObject

Definition = JsonObject
Wildcards = Mapping[str, str]
STOP_SHARE = 0.9
"""Share of the try's wall time after which an engine stops, writes a restart file and ends."""
AROUND_S = 120
"""Seconds of a job that are not the engine's: it starts Snakemake twice before a step, and reads samples after it."""


@dataclass(frozen=True)
class Cores:
    """Mechanical shape of one step: it changes how fast a result comes, never which result is meant.

    ranks: MPI ranks; threads: OpenMP threads a rank; nodes: that a queue gave them; accelerator: "none", or one that
    the engine knows (suffixes of LAMMPS: `omp`, `opt`, `gpu`, ...).
    """

    ranks: int = 1
    threads: int = 1
    accelerator: str = "none"
    nodes: int = 1

    @property
    def total(self) -> int:
        """Return the reserved cores: ranks x threads."""
        return self.ranks * self.threads


@dataclass(frozen=True)
class UpstreamStep:
    """A finished step that another step builds on.

    stage: its stage, or the part or agent rule of this step's own stage; result: the validated typed result of its
    outcome, or the agent's answer; files: output name -> absolute path; failed: why it failed, for a part or
    an agent rule whose failures are the loop's to judge; result is empty then; tools: program -> version.
    """

    stage: str
    wildcards: Wildcards
    result: JsonObject
    files: Mapping[str, Path]
    failed: str | None = None
    tools: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StepContext:
    """All that a stage function may know.

    definition: the stage's own definition, valid against its schema.
    upstream: for each stage in `depends_on`, its finished steps that share this step's wildcards
        (one where all wildcards are shared, several where the stage gathers), sorted by wildcards; for each part or
        agent rule in `builds_on` likewise, as many as there are.
    previous: the same for `carried`, from the round before; empty in the first round.
    workdir: scratch folder of this step alone. It survives kills: what an earlier try left there
        (restart files, stress segments) may be continued. The function writes nowhere else.
    seed: seed of this step (1 to 900,000,000), derived from the spec's seed, the stage and the wildcards.
    log_dir: folder of this try below `records/`; engine logs that people want to read later go there.
    spec_seed: seed of the spec, for what must not depend on the round of a loop.
    may_grow: of "memory" and "time", what a further try would have more of.
    files: what the host's rules of this stage made and it reads: path relative to where Snakemake runs -> where it is.
    """

    stage: str
    wildcards: Wildcards
    definition: Definition
    upstream: Mapping[str, Sequence[UpstreamStep]]
    workdir: Path
    log_dir: Path
    seed: int
    cores: Cores = field(default_factory=Cores)
    memory_mb: int = 1000
    runtime_min: int = 60
    unsandboxed_fragments: bool = False
    previous: Mapping[str, Sequence[UpstreamStep]] = field(default_factory=dict)
    spec_seed: int = 1
    may_grow: frozenset[str] = frozenset()
    files: Mapping[str, Path] = field(default_factory=dict)

    def one(self, stage: str) -> UpstreamStep:
        """Return the single upstream step of `stage`; ValueError if there are several."""
        (step,) = self.upstream[stage]
        return step


def engine_s(runtime_min: int) -> int:
    """Return the seconds that an engine may run within the try's wall time, with room to write restart files.

    A queue counts the wall time from the start of the job, so a short try gives half of it to what is around the run.
    """
    wall_s = runtime_min * 60
    return max(int(min(wall_s * STOP_SHARE, max(wall_s - AROUND_S, wall_s / 2))), 1)


@dataclass(frozen=True)
class StepResult:
    """What a stage function returns: its typed result and its finished files (output name -> path in workdir)."""

    result: JsonObject
    files: Mapping[str, Path] = field(default_factory=dict)
    tools: Mapping[str, str] = field(default_factory=dict)


class EngineFailure(Exception):
    """An engine ended without a usable result.

    reason: one sentence for people. curable_by: "memory" or "time" where a retry with grown
    resources can help (the step then exits non-zero), otherwise None (a typed failed outcome).
    """

    def __init__(self, reason: str, curable_by: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.curable_by = curable_by


class EnvironmentFailure(EngineFailure):
    """The machine lacks what the engine needs: a program, a library, a package, an environment module, room on a disk.

    It says nothing about the science, so the step leaves no outcome: once a person has repaired the machine, the same
    `snakemake` line tries it again.
    """


@dataclass(frozen=True)
class AgentRule:
    """A rule of a stage that asks an agent; who answers is part of what the stage means.

    rule: its name; wildcards: names, in path order; bounded: whether its steps come
    behind a checkpoint; may_fail: whether an agent that was reached and gave nothing usable is a fact that the loop
    goes on with, as a failed part is. What the agent is told is gathered by the function that the entry points
    `sophron.agent_inputs` have under the rule's name. asks: the agent, if it is not called as the rule;
    `{name}` for the one that the wildcard `name` names, with underscores. inputs: the name in the entry points, if it
    is not that of the rule: of a kind whose stages a campaign names, and whose rules are called after them.
    """

    rule: str
    wildcards: tuple[str, ...] = ()
    bounded: bool = False
    may_fail: bool = False
    asks: str = ""
    inputs: str = ""

    @property
    def by(self) -> str:
        """Return the wildcard that names the agent; empty if it is always the same one."""
        return self.asks[1:-1] if self.asks.startswith("{") else ""

    def agent(self, wildcards: Wildcards) -> str:
        """Return the name of the agent of a step: that of its rule or wildcard, with hyphens."""
        return (wildcards[self.by] if self.by else self.asks or self.rule).replace("_", "-")


@dataclass(frozen=True)
class Part:
    """A compute rule of a stage whose steps come behind a checkpoint: the plan bounds them, and does not list them.

    It carries out the definition of its stage, with its own result and no verdict; a failed outcome of it is a
    fact that the loop goes on with. Its mechanical block is `parts.<name>` of the stage's block, or the stage's own.
    run, schema (`$defs: {result}`), wildcards, outputs, engine: as of a stage. builds_on: parts, agent rules of the
    same stage, or stages that it depends on; carried: parts and agent rules whose steps of the round before it builds
    on too (the first wildcard counts rounds). rederivable: as of a stage.
    """

    name: str
    run: str
    schema: str
    wildcards: tuple[str, ...]
    outputs: Mapping[str, str] = field(default_factory=dict)
    builds_on: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    engine: str = ""
    rederivable: bool = False


@dataclass(frozen=True)
class StageKind:
    """One stage of a kind.

    wildcards: names of the wildcards its steps range over, in path order.
    outputs: output name -> file name inside `results/<stage>/<wildcard values>/` (without `outcome.json`).
    run: "module:function", loaded when the step starts; function(StepContext) -> StepResult.
    schema: name of the YAML file below `schemas/` that holds `$defs: {definition, result}`; a kind of another
        distribution gives the whole path of its own file, without `.schema.yaml`.
    optional: a campaign of this kind may leave the stage out.
    partial: it builds on those stages of `depends_on` that the campaign has; without it, on all of them.
    fragments: JSON-pointer-like names of definition keys that hold free engine text (sandboxed).
    engine: the program that it runs, by its name in the entry points `sophron.engines`, or `stage.key` of the
        definition that names it; empty if it runs none (see `sophron.interfaces.engine`).
    parts, agents: rules of its loop, and rules that ask agents; builds_on: those of them that its own steps take up.
    rederivable: its function computes result and files from definition, seed and what it builds on alone, in minutes
        on one core, so that `sophron rederive` can run it again anywhere and compare.
    declared: JSON Schema of its result, if the campaign declares it; host_rules: rules of a host workflow that make the
        files it reads; host_files: regular expressions of these; tables: the output that holds its columns, if it has.
    """

    name: str
    depends_on: tuple[str, ...]
    run: str
    schema: str
    wildcards: tuple[str, ...] = ()
    outputs: Mapping[str, str] = field(default_factory=dict)
    optional: bool = False
    partial: bool = False
    fragments: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    agents: tuple[AgentRule, ...] = ()
    builds_on: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    engine: str = ""
    rederivable: bool = False
    declared: JsonObject | None = None
    host_rules: tuple[str, ...] = ()
    host_files: tuple[str, ...] = ()
    tables: str = ""

    def unit(self, part: Part) -> StageKind:
        """Return a part of it, in the form of a stage."""
        return StageKind(
            part.name,
            depends_on=(),
            run=part.run,
            schema=part.schema,
            wildcards=part.wildcards,
            outputs=part.outputs,
            builds_on=part.builds_on,
            carried=part.carried,
            engine=part.engine,
            rederivable=part.rederivable,
        )


@dataclass(frozen=True)
class Question:
    """What campaigns of a kind can answer, and for which conditions.

    quantities: name -> unit of the number that the result holds; `question.quantity` is such a name, or that and
        ` of ...` behind it. conditions: name -> unit of its number, or None for one that may be text.
    A unit is written as pint reads it, `none` for a pure number. reduced: they are Lennard-Jones units, made of sigma,
        epsilon, tau, m and k_B (which is 1).
    """

    quantities: Mapping[str, str]
    conditions: Mapping[str, str | None]
    reduced: bool = False


def nothing(definitions: Mapping[str, Definition]) -> Collection[str]:
    """Return no name, whatever the campaign."""
    del definitions
    return ()


@dataclass(frozen=True)
class Kind:
    """A campaign kind: a name, its rule module, its stages in topological order.

    about: what it computes and with what, in a line; who designs a campaign chooses a kind by it.
    rules: file name below `workflow/rules/`; a kind of another distribution gives the whole path of its own file.
        The folder of that file is signed as code, so it holds the kind's modules and schemas and nothing else.
    ranges: function(stage name -> definition) -> wildcard name -> its values, as strings.
    left_out: function(stage name -> definition) -> names of the parts and agent rules that this campaign goes without;
        the rule module leaves them out too, so that they are neither planned nor signed.
    report: "module:function", loaded when a report is written; function(what was gathered for it) -> sections that
        this kind adds (`sophron.campaign.report.report_sections`).
    question: function(stage name -> definition) -> what its campaigns answer; UserError for definitions that
        contradict it. Without it nothing of a spec's question is checked.
    planted_faults: YAML file below `sophron/kinds/` that says what results are plausible and what faults do to them; a
        kind of another distribution gives the whole path of its own file. Without it no criterion is mutation-tested.
    stages_of: function(`stages` of campaign.yaml) -> its stages, for a kind whose stages a campaign names itself.
    """

    name: str
    rules: str
    stages: tuple[StageKind, ...]
    ranges: Callable[[Mapping[str, Definition]], Mapping[str, Sequence[str]]]
    template: str = ""
    about: str = ""
    left_out: Callable[[Mapping[str, Definition]], Collection[str]] = nothing
    report: str = ""
    question: Callable[[Mapping[str, Definition]], Question] | None = None
    planted_faults: str = ""
    stages_of: Callable[[Mapping[str, JsonObject]], tuple[StageKind, ...]] | None = None

    def stage(self, name: str) -> StageKind:
        """Return the stage called `name`; KeyError if the kind has none."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise KeyError(name)


def stage_of(kind: str, name: str, *depends_on: str, run: str = "", **details: object) -> StageKind:
    """Return the stage `name` of `kind`.

    run: name of its schema and of the module with its function `run`, if that is not its own; details: further fields
    of StageKind.
    """
    return StageKind(
        name=name,
        depends_on=depends_on,
        run=f"sophron.science.{kind}.{run or name}:run",
        schema=f"{kind}/{run or name}",
        **details,  # type: ignore[arg-type]
    )
