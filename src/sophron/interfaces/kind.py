"""What a campaign kind is: its stages, their files, and the functions that run them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Definition = Mapping[str, Any]
Wildcards = Mapping[str, str]


@dataclass(frozen=True)
class Cores:
    """Mechanical shape of one step: it changes how fast a result comes, never which result is meant.

    ranks: MPI ranks; threads: OpenMP threads a rank; accelerator: LAMMPS suffix (`omp`, `opt`, `gpu`, ...) or "none".
    """

    ranks: int = 1
    threads: int = 1
    accelerator: str = "none"

    @property
    def total(self) -> int:
        """Reserved cores: ranks x threads."""
        return self.ranks * self.threads


@dataclass(frozen=True)
class UpstreamStep:
    """A finished step that another step builds on.

    result: the validated typed result of its outcome; files: output name -> absolute path.
    """

    stage: str
    wildcards: Wildcards
    result: Mapping[str, Any]
    files: Mapping[str, Path]


@dataclass(frozen=True)
class StepContext:
    """All that a stage function may know.

    definition: the stage's own definition, valid against its schema.
    upstream: for each stage in `depends_on`, its finished steps that share this step's wildcards
        (one where all wildcards are shared, several where the stage gathers), sorted by wildcards.
    workdir: scratch folder of this step alone. It survives kills: what an earlier try left there
        (restart files, stress segments) may be continued. The function writes nowhere else.
    seed: seed of this step (1 to 900,000,000), derived from the spec's seed, the stage and the wildcards.
    log_dir: folder of this try below `records/`; engine logs that people want to read later go there.
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

    def one(self, stage: str) -> UpstreamStep:
        """The single upstream step of `stage`; ValueError where there are several."""
        (step,) = self.upstream[stage]
        return step


@dataclass(frozen=True)
class StepResult:
    """What a stage function returns: its typed result and its finished files (output name -> path in workdir)."""

    result: Mapping[str, Any]
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


@dataclass(frozen=True)
class Kind:
    """A campaign kind: a name, its rule module, its stages in topological order.

    rules: file name below `workflow/rules/`; a kind of another distribution gives the whole path of its own file.
        The folder of that file is signed as code, so it holds the kind's modules and schemas and nothing else.
    ranges: function(stage name -> definition) -> wildcard name -> its values, as strings.
    """

    name: str
    rules: str
    stages: tuple[StageKind, ...]
    ranges: Callable[[Mapping[str, Definition]], Mapping[str, Sequence[str]]]
    template: str = ""

    def stage(self, name: str) -> StageKind:
        """The stage called `name`; KeyError where the kind has none."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise KeyError(name)
