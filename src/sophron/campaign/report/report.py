"""What a report says, gathered from the results and the records alone: the answer first, then what stands behind it.

Which number answers the question is said by the stage's schema, in the key `answer` beside `$defs`: `{value,
standard_error, interval: {low, high, level}, subject, refusal}`, each the name of a property of the result but for the
level, a fraction. The key `figures` there gives the captions of the outputs whose names end in `_plot`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from sophron.campaign.execution import history, outcome_store, verdict
from sophron.campaign.execution.history import Signed, Trouble
from sophron.campaign.execution.outcome_store import Finished
from sophron.campaign.execution.tries import Try, core_hours, tries_of
from sophron.campaign.execution.verdict import Verdict
from sophron.campaign.report import loop_statistics
from sophron.campaign.spec import question
from sophron.campaign.spec.spec import Spec
from sophron.interfaces import JsonObject
from sophron.interfaces.kind import StageKind
from sophron.records import approvals, documents, events
from sophron.records.digests import file_digest
from sophron.records.errors import Refused

PLOT_ENDING = "_plot"
MEDIA = {".svg": "image/svg+xml", ".png": "image/png"}
MOST_PLOTS = 12


@dataclass(frozen=True)
class Answer:
    """The number that answers the question.

    name: its name in the result; interval: (low, high, level from 0 to 1); refusal: why there is no number; subject:
    whom or what it is of, where the question asks for one among several; units: of value, standard_error and interval.
    """

    step: Finished
    name: str
    description: str
    value: float | None
    standard_error: float | None
    interval: tuple[float, float, float] | None
    refusal: str | None
    subject: str | None = None
    units: str = ""

    def times(self, factor: float, units: str) -> Self:
        """It in other units, of which its own is `factor`."""
        if factor == 1:
            return replace(self, units=units)
        value, error = (None if one is None else one * factor for one in (self.value, self.standard_error))
        ends = self.interval and (self.interval[0] * factor, self.interval[1] * factor, self.interval[2])
        return replace(self, value=value, standard_error=error, interval=ends, units=units)


@dataclass(frozen=True)
class Plot:
    """A picture that a step made. media: its media type; caption: one sentence."""

    step: str
    name: str
    caption: str
    media: str
    path: Path


@dataclass(frozen=True)
class StageReport:
    """One stage: its finished steps, its verdict, its tries by step, and its loop, if it has one that ran."""

    kind: StageKind
    steps: Sequence[Finished]
    verdict: Verdict
    tries: Mapping[str, Sequence[Try]]
    loop: loop_statistics.Loop | None = None

    @property
    def name(self) -> str:
        """Name of the stage."""
        return self.kind.name

    @property
    def passed(self) -> bool:
        """Whether all its criteria hold."""
        return self.verdict.passed

    @property
    def all_tries(self) -> list[Try]:
        """Tries of all its steps."""
        return [one for found in self.tries.values() for one in found]

    @property
    def core_hours(self) -> float:
        """What its tries used, those of its loop included."""
        looped = self.loop.whole.core_seconds / 3600 if self.loop else 0.0
        return core_hours(self.all_tries) + looped

    @cached_property
    def schema(self) -> JsonObject:
        """The schema of the stage as plain data."""
        found: JsonObject = documents.schema(self.kind.schema)
        return found

    def ordered(self, step: Finished) -> dict[str, object]:
        """Return the result of a step in the order of the schema: what matters most comes first there."""
        place = {name: index for index, name in enumerate(self.schema["$defs"]["result"].get("properties", {}))}
        return dict(sorted(step.outcome.result.items(), key=lambda item: place.get(item[0], len(place))))

    def described(self, name: str) -> str:
        """Return what a property of the result is, with its unit."""
        return str(self.schema["$defs"]["result"].get("properties", {}).get(name, {}).get("description", ""))


@dataclass(frozen=True)
class Report:
    """All that the page and the crate show. chain: the approvals up to the one in force."""

    root: Path
    spec: Spec
    stages: Sequence[StageReport]
    chain: Sequence[Signed]
    troubles: Sequence[Trouble]
    snakemake_versions: Sequence[str]

    @property
    def passed(self) -> bool:
        """Whether every stage passed."""
        return all(stage.passed for stage in self.stages)

    @cached_property
    def answers(self) -> list[Answer]:
        """The answers, one a step of each stage that gives any, in the units of the question."""
        units, factor = question.answer_unit(self.spec)
        return [found.times(factor, units) for stage in self.stages for found in _answers(stage)]

    @property
    def final_stages(self) -> list[StageReport]:
        """Stages that nobody builds on."""
        needed = {name for stage in self.spec.stages for name in stage.depends_on}
        return [stage for stage in self.stages if stage.name not in needed]

    @cached_property
    def plots(self) -> list[Plot]:
        """The pictures of all stages, the last stages first. Refused for one that is not what its outcome says."""
        found = [plot for stage in reversed(self.stages) for plot in _plots(stage)]
        return found[:MOST_PLOTS]

    @cached_property
    def tools(self) -> dict[tuple[str, str], list[str]]:
        """(tool, version) -> stages in which it was used."""
        found: dict[tuple[str, str], list[str]] = {}
        for stage in self.stages:
            for tool in sorted({item for step in stage.steps for item in step.outcome.tools.items()}):
                found.setdefault(tool, []).append(stage.name)
        return dict(sorted(found.items()))

    @property
    def ended(self) -> str:
        """When the last try ended; the last approval's time if none did."""
        times = [one.ended for stage in self.stages for one in stage.all_tries if one.ended]
        return max(times, default=self.chain[-1].record.time)


def collect(root: Path, spec: Spec, in_force: approvals.Approval) -> Report:
    """Gather everything. UserError for a step without outcome; Refused for a result of another definition."""
    recorded = events.read_typed(root)[0]
    looped = loop_statistics.collect(root, spec, recorded)
    return Report(
        root,
        spec,
        [_stage(root, spec, stage, looped.get(stage.name)) for stage in spec.stages],
        history.approval_chain(in_force),
        history.troubles(root),
        _snakemake_versions(recorded),
    )


def _stage(root: Path, spec: Spec, stage: StageKind, loop: loop_statistics.Loop | None) -> StageReport:
    steps = outcome_store.all_finished(root, spec, stage.name)
    tries = {step.step: tries_of(root, step.step) for step in steps}
    return StageReport(stage, steps, verdict.judge(root, spec, stage.name), tries, loop)


def _answers(stage: StageReport) -> Iterator[Answer]:
    keys = stage.schema.get("answer")
    if not keys:
        return
    for step in stage.steps:
        result = step.outcome.result
        ends = keys.get("interval", {"low": "", "high": "", "level": 0})
        low, high = result.get(ends["low"]), result.get(ends["high"])
        yield Answer(
            step=step,
            name=keys["value"],
            description=stage.described(keys["value"]),
            value=result.get(keys["value"]),
            standard_error=result.get(keys.get("standard_error", "")),
            interval=None if low is None or high is None else (low, high, ends["level"]),
            refusal=step.outcome.reason or result.get(keys.get("refusal", "")),
            subject=result.get(keys.get("subject", "")),
        )


def _plots(stage: StageReport) -> Iterator[Plot]:
    for step in stage.steps:
        if not step.outcome.done:
            continue
        for name, path in step.files.items():
            if not name.endswith(PLOT_ENDING) or path.suffix not in MEDIA:
                continue
            if not path.is_file() or file_digest(path) != step.outcome.files[name].sha256:
                raise Refused(f"{path}: is missing or is not the file that its outcome speaks of; run: snakemake -R")
            caption = stage.schema.get("figures", {}).get(name) or name.removesuffix(PLOT_ENDING).replace("_", " ")
            yield Plot(step.step, name, caption, MEDIA[path.suffix], path)


def _snakemake_versions(recorded: Sequence[events.Event]) -> list[str]:
    started = [event for event in recorded if event.event == "run_started"]
    return sorted({event.snakemake_version for event in started})


def comparison(answer: Answer, reference: Mapping[str, Any]) -> str:
    """Return one sentence that compares an answer with a published range. It is not a criterion, and says so."""
    low, high = reference["low"], reference["high"]  # shown with the digits that they were given with
    span = f"{low}" if low == high else f"{low} to {high}"
    ending = f"the published {span} ({reference['source']}). This comparison is not a criterion."
    if answer.value is None:
        return f"There is no number to compare with {ending}"
    if low <= answer.value <= high:
        return f"The answer lies within {ending}"
    distance = low - answer.value if answer.value < low else answer.value - high
    side = "below" if answer.value < low else "above"
    if not answer.standard_error:
        return f"The answer lies {distance:.2g} {side} {ending}"
    return f"The answer lies {distance:.2g}, or {distance / answer.standard_error:.1f} standard errors, {side} {ending}"
