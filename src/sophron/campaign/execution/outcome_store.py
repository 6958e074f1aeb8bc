"""Results by key: where the finished steps of a campaign lie, and whether they are what the spec means.

A finished step leaves `records/<step>/published.json` with the place of its outcome; other steps ask here, so that
a host may put outputs where it likes. An outcome embeds its definition digest: one that says another is refused.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sophron.interfaces import JsonObject
from sophron.interfaces.kind import StageKind, UpstreamStep, Wildcards
from sophron.records import old_names, typed_json
from sophron.records.digests import file_digest, step_name
from sophron.records.errors import Refused, UserError
from sophron.records.files import write_json
from sophron.records.typed_json import left_out, to_json

if TYPE_CHECKING:
    from sophron.campaign.spec.spec import Spec

PUBLISHED_NAME = "published.json"
REPORT_NAMES = ("report.html", "ro-crate-metadata.json", "caveats.json")
"""The report and what it is made of, beside each other."""


DONE = "done"


@dataclass(frozen=True)
class OutputFile:
    """An output beside an outcome. file: its name; bytes: its size, which outcomes of early versions lack."""

    file: str
    sha256: str
    bytes: int | None = left_out()


@dataclass(frozen=True)
class Outcome:
    """What a compute step ends in, `outcome.json`. It holds no clock, host or path: equal inputs give equal bytes.

    status: "done", or "failed" for a `reason`; inputs: step -> digest of the outcome that this one was made of; files:
    output -> its file; tools: program -> version. The answer of an agent step is one without seed and tools.
    """

    status: str
    reason: str | None
    result: JsonObject
    files: Mapping[str, OutputFile]
    inputs: Mapping[str, str]
    stage: str = ""
    wildcards: Wildcards = field(default_factory=dict)
    definition_digest: str = ""
    seed: int | None = None
    tools: Mapping[str, str] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """Whether the step gave a result."""
        return self.status == DONE


@dataclass(frozen=True)
class Published:
    """`published.json`: where the outcome of a step lies, relative to the campaign or absolute."""

    outcome: str


@dataclass(frozen=True)
class AnswerFailure:
    """Why an agent gave no answer."""

    kind: str
    reason: str


@dataclass(frozen=True)
class AgentAnswer:
    """What of an agent's `answer.json` other steps build on. files: those that its tools left beside it."""

    agent_digest: str | None = None
    answer: JsonObject | None = None
    failure: AnswerFailure | None = None
    files: Mapping[str, OutputFile] = field(default_factory=dict)


@dataclass(frozen=True)
class Finished:
    """A finished step: its outcome, where it lies, and the digest of its bytes."""

    step: str
    wildcards: Wildcards
    path: Path
    outcome: Outcome
    digest: str

    @property
    def files(self) -> dict[str, Path]:
        """Output name -> path."""
        return {name: self.path.parent / entry.file for name, entry in self.outcome.files.items()}


def record_folder(root: Path, step: str) -> Path:
    """The folder of a step below `records/`."""
    return named(root / "records", step)


def named(parent: Path, step: str) -> Path:
    """The folder of a step below `parent`: the one that it has from when its rule had another name, if it ran then."""
    folder = parent / step
    if folder.is_dir():
        return folder
    return next((other for name in old_names.steps(step) if (other := parent / name).is_dir()), folder)


def publish(root: Path, step: str, outcome: Path) -> None:
    """Note where the outcome of a step lies; relative to the campaign where it lies inside."""
    outcome = Path(os.path.normpath(outcome))
    path = os.path.relpath(outcome, root) if outcome.is_relative_to(root) else str(outcome)
    write_json(record_folder(root, step) / PUBLISHED_NAME, to_json(Published(path)))


def noted(root: Path, step: str) -> Path | None:
    """Where the outcome of a step was put, if it was ever finished."""
    note = record_folder(root, step) / PUBLISHED_NAME
    return root / typed_json.load(note, Published).outcome if note.is_file() else None


def published(root: Path, step: str) -> Path | None:
    """Where the outcome of a step lies, if it was ever finished and is still there."""
    path = noted(root, step)
    return path if path is not None and path.is_file() else None


def finished(root: Path, spec: "Spec", stage: str, wildcards: Wildcards) -> Finished:
    """The outcome of a step. UserError where it is missing, Refused where it was made for another definition."""
    step = step_name(stage, wildcards)
    path = published(root, step)
    if path is None:
        raise UserError(f"{step}: there is no outcome of it; run it first: snakemake")
    outcome = typed_json.load(path, Outcome)
    if outcome.definition_digest != spec.definition_digest(stage):
        raise Refused(f"{path}: was made for another definition of {stage}; move it away and run again: snakemake")
    return Finished(step, wildcards, path, outcome, file_digest(path))


def all_finished(root: Path, spec: "Spec", stage: str) -> list[Finished]:
    """The outcomes of all steps of a stage."""
    return [finished(root, spec, stage, wildcards) for wildcards in spec.steps(stage)]


def upstream(root: Path, spec: "Spec", unit: StageKind, wildcards: Wildcards) -> dict[str, list[Finished]]:
    """For each stage, part and agent rule that `unit` builds on: its finished steps that share this step's wildcards.

    Refused if a step of another stage failed, or if a data file is not the one its outcome speaks of.
    """
    gathered: dict[str, list[Finished]] = {}
    for name in unit.depends_on:
        gathered[name] = [usable(finished(root, spec, name, other)) for other in sharing(spec, name, wildcards)]
    return gathered | {name: of_loop(root, spec, name, wildcards) for name in unit.builds_on}


def previous(root: Path, spec: "Spec", unit: StageKind, wildcards: Wildcards) -> dict[str, list[Finished]]:
    """What `unit` carries over from the round before; nothing in the first round."""
    if not unit.carried:
        return {}
    counter = unit.wildcards[0]
    rounds = list(spec.ranges[counter])
    place = rounds.index(wildcards[counter])
    if place == 0:
        return {}
    before = {**wildcards, counter: rounds[place - 1]}
    return {name: of_loop(root, spec, name, before) for name in unit.carried}


def of_loop(root: Path, spec: "Spec", name: str, wildcards: Wildcards) -> list[Finished]:
    """The finished steps of a part, an agent rule or a stage that share these wildcards, failed ones too.

    Of steps behind a checkpoint there are as many as the loop asked for. Those that an earlier course of it left, which
    built on something that has been made anew since, are not among them. None of what this campaign goes without.
    """
    if name in spec.left_out:
        return []
    found = [
        answered(root, spec, name, other) if name in spec.agent_rules else finished(root, spec, name, other)
        for other in sharing(spec, name, wildcards)
        if published(root, step_name(name, other)) is not None
    ]
    return [whole(one) for one in found if is_current(root, one)]


def answered(root: Path, spec: "Spec", rule: str, wildcards: Wildcards) -> Finished:
    """The answer to one step of an agent rule, in the form of a finished step; Refused for another agent's."""
    from sophron.campaign.planning import (
        campaign_agents,  # `sophron status`, which reads outcomes too, needs none of it
    )

    step = step_name(rule, wildcards)
    path = published(root, step)
    if path is None:
        raise UserError(f"{step}: there is no answer yet; run it first: snakemake")
    answer = typed_json.load(path, AgentAnswer)
    if answer.agent_digest != campaign_agents.digest_of(root, spec, rule, wildcards):
        raise Refused(f"{path}: is the answer of another agent than the signed one; move it away: snakemake")
    status, reason = ("failed", answer.failure.reason) if answer.failure else (DONE, None)
    outcome = Outcome(status, reason, answer.answer or {}, answer.files, inputs={})
    return Finished(step, wildcards, path, outcome, file_digest(path))


def without_caveats(root: Path) -> str | None:
    """One clause where the report had to go without its caveats; None where it has them, or is not there."""
    path = published(root, "caveats")
    failure = typed_json.load(path, AgentAnswer).failure if path else None
    again = "to ask again: sophron agent reask caveats, then snakemake"
    return f"its report has no caveats ({failure.kind}); {again}" if failure else None


def beside(root: Path, step: str) -> list[str]:
    """Names of the files that an agent's tools left, which lie beside its answer."""
    kept = record_folder(root, step) / "answer.json"
    return [entry.file for entry in typed_json.load(kept, AgentAnswer).files.values()] if kept.is_file() else []


def sharing(spec: "Spec", name: str, wildcards: Wildcards) -> list[Wildcards]:
    """The wildcards of the steps of `name` that agree with these where they have the same."""
    return [
        other
        for other in spec.steps(name)
        if all(wildcards[key] == value for key, value in other.items() if key in wildcards)
    ]


def is_current(root: Path, step: Finished) -> bool:
    """Whether what a step was built on is still what lies there."""
    paths = ((published(root, name), digest) for name, digest in step.outcome.inputs.items())
    return all(path is not None and file_digest(path) == digest for path, digest in paths)


def usable(step: Finished) -> Finished:
    """The step itself; Refused if it failed, or if a file of it is not the one that its outcome speaks of."""
    if not step.outcome.done:
        raise Refused(f"{step.path}: {step.step} failed ({step.outcome.reason}); nothing can build on it")
    return whole(step)


def whole(step: Finished) -> Finished:
    """The step itself; Refused if a file of it is not the one that its outcome speaks of."""
    for name, path in step.files.items():
        if not stands(path, step.outcome.files[name]):
            raise Refused(f"{path}: is not what its outcome speaks of; remove it and run again: snakemake")
    return step


def stands(path: Path, entry: OutputFile) -> bool:
    """Whether a file is the one that an outcome speaks of. Its size first: a hole of a terabyte takes hours to read."""
    there = path.is_file() and entry.bytes in (None, path.stat().st_size)
    return there and file_digest(path) == entry.sha256


def as_upstream(steps: Mapping[str, list[Finished]]) -> dict[str, list[UpstreamStep]]:
    """The same as stage functions see it."""

    def upstream(name: str, step: Finished) -> UpstreamStep:
        made = step.outcome
        return UpstreamStep(name, step.wildcards, made.result, step.files, made.reason, made.tools)

    return {name: [upstream(name, step) for step in found] for name, found in steps.items()}
