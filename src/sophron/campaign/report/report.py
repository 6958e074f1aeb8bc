"""What a report says, gathered from the results and the records alone: the answer first, then what stands behind it.

Which number answers the question is said by the stage's schema, in the key `answer` beside `$defs`: `{value,
standard_error, interval: {low, high, level}, subject, refusal, remark}`, each the name of a property of the result but
for the level, a fraction. With `quantities`, a list, it answers questions for these alone. The key `figures` there
gives the captions of the outputs whose names end in `_plot`.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from sophron.campaign.execution import outcome_store, verdict
from sophron.campaign.execution.outcome_store import Finished
from sophron.campaign.execution.tries import Try, core_hours, tries_of
from sophron.campaign.execution.verdict import Verdict
from sophron.campaign.spec import question
from sophron.campaign.spec.spec import Spec
from sophron.interfaces import JsonObject
from sophron.interfaces.kind import AgentRule, StageKind
from sophron.records import approvals, documents, events, old_names
from sophron.records.digests import file_digest, step_name
from sophron.records.errors import Refused
from sophron.records.events import Event
from sophron.records.files import read_bytes

PLOT_ENDING = "_plot"
MEDIA = {".svg": "image/svg+xml", ".png": "image/png"}
MOST_PLOTS = 12
Span = tuple[float, float]


@dataclass(frozen=True)
class Answer:
    """The number that answers the question.

    name: its name in the result; interval: (low, high, level from 0 to 1); refusal: why there is no number; subject:
    whom or what it is of, where the question asks for one among several; units: of value, standard_error and interval;
    remark: what has to be read with it, a sentence or two that the stage computed.
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
    remark: str | None = None

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
class Signed:
    """One approval of the chain that leads to the one in force. hash: hex sha256 of the signed bytes."""

    record: approvals.ApprovalRecord
    hash: str

    @property
    def amendment(self) -> approvals.Amendment | None:
        """What it changed; None for a first approval and for the same plan signed again."""
        return self.record.amendment


@dataclass(frozen=True)
class Trouble:
    """Something that did not go as planned. told: whether an agent said so of its inputs."""

    time: str
    what: str
    reason: str
    told: bool = False


@dataclass
class Ran:
    """What ran of one unit in one round, or in several together.

    steps: that began; of agents, that were answered; ended: status of a try -> how many; spans: when something ran, in
    s since the epoch. Killed tries are in `ended`, their time is in no span: nobody saw when they ended.
    """

    steps: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    core_seconds: float = 0.0
    spans: list[Span] = field(default_factory=list)

    def add(self, other: "Ran") -> None:
        """Count another one in."""
        self.steps += other.steps
        self.ended += other.ended
        self.core_seconds += other.core_seconds
        self.spans += other.spans

    @property
    def tries(self) -> int:
        """Tries of its compute steps."""
        return self.ended.total()

    @property
    def wall_s(self) -> float:
        """How long at least one of its steps ran, in s; the clock of the records counts whole seconds."""
        total, until = 0.0, float("-inf")
        for begun, ended in sorted(self.spans):
            total += max(0.0, ended - max(begun, until))
            until = max(until, ended)
        return total


@dataclass(frozen=True)
class Loop:
    """The loop of a stage. counter: the wildcard that counts rounds; ran: round -> unit -> what ran of it.

    A unit is a part, or all agents that one part is made of, under `unit_of_agents(part)`.
    """

    counter: str
    ran: Mapping[str, Mapping[str, Ran]]
    units: Sequence[str]

    def of_round(self, number: str) -> Ran:
        """All units of one round together."""
        return _together(self.ran[number].values())

    def of_unit(self, unit: str) -> Ran:
        """One unit in all rounds together."""
        return _together(units[unit] for units in self.ran.values() if unit in units)

    @property
    def whole(self) -> Ran:
        """Everything together."""
        return _together(one for units in self.ran.values() for one in units.values())


def _together(ran: Iterable[Ran]) -> Ran:
    whole = Ran()
    for one in ran:
        whole.add(one)
    return whole


def unit_of_agents(part: str) -> str:
    """Name of the unit of the agents that a part is made of."""
    return f"agents of {part}"


@dataclass(frozen=True)
class StageReport:
    """One stage: its finished steps, its verdict, its tries by step, and its loop, if it has one that ran."""

    kind: StageKind
    steps: Sequence[Finished]
    verdict: Verdict
    tries: Mapping[str, Sequence[Try]]
    loop: Loop | None = None

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
        declared = self.kind.declared
        return found if declared is None else {**found, "$defs": {**found["$defs"], "result": declared}}

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
        (units, factor), asked = question.answer_unit(self.spec), question.quantity(self.spec)
        return [found.times(factor, units) for stage in self.stages for found in _answers(stage, asked)]

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
    looped = collect_loops(root, spec, recorded)
    return Report(
        root,
        spec,
        [_stage(root, spec, stage, looped.get(stage.name)) for stage in spec.stages],
        approval_chain(in_force),
        _troubles(recorded),
        _snakemake_versions(recorded),
    )


def _stage(root: Path, spec: Spec, stage: StageKind, loop: Loop | None) -> StageReport:
    steps = outcome_store.all_finished(root, spec, stage.name)
    tries = {step.step: tries_of(root, step.step) for step in steps}
    return StageReport(stage, steps, verdict.judge(root, spec, stage.name), tries, loop)


def _answers(stage: StageReport, asked: str) -> Iterator[Answer]:
    keys = stage.schema.get("answer")
    if not keys or asked not in keys.get("quantities", [asked]):
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
            remark=result.get(keys.get("remark", "")),
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


def _snakemake_versions(recorded: Sequence[Event]) -> list[str]:
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


def approval_chain(in_force: approvals.Approval) -> list[Signed]:
    """Return the approvals from the first to the one in force; each names the hash of the one before, under signature.

    Raises Refused if the log lacks one of them.
    """
    records = [read_bytes(path) for path in approvals.logged(in_force.root)]
    logged = {hashlib.sha256(data).hexdigest(): data for data in records}
    chain = [Signed(in_force.record, in_force.hash)]
    while previous := chain[-1].record.previous:
        if previous not in logged:
            before = chain[-1].record.version
            raise Refused(f"{in_force.root}: the approval log lacks a record before version {before}; restore it")
        chain.append(Signed(approvals.parse(logged[previous], in_force.root), previous))
    return chain[::-1]


def _troubles(recorded: Sequence[Event]) -> list[Trouble]:
    """Return what went wrong, in its order; what an agent said of its inputs once, since a replay repeats it."""
    found = [trouble for event in recorded if (trouble := _trouble(event))]
    first = {(one.what, one.reason): one for one in reversed(found)}
    return [one for one in found if not one.told or one is first[one.what, one.reason]]


def _trouble(event: Event) -> Trouble | None:
    """What went wrong: a refused step, a failed try, a failed verdict, suspicious text, an error of Snakemake."""
    name, time = event.event, event.time
    if name == "refused":
        return Trouble(time, f"{event.step} was refused", event.reason or "")
    if name == "step_ended" and event.status != "done":
        return Trouble(time, f"{event.step}: {event.status}", event.reason or "")
    if name == "verdict" and event.verdict != "pass":
        return Trouble(time, f"{event.stage} failed its criteria", "; ".join(event.failed))
    if name == "suspicious_text":
        what = f"{event.step}: text in {event.where} tries to instruct an agent"
        return Trouble(time, what, event.reason or "", told=True)
    if name == "run_error":
        return Trouble(time, "Snakemake stopped", event.reason or "")
    return None


# What ran in the loops of stages. Which steps there were is read from the events in one pass: a plan only bounds the
# steps of a loop, and a bound of a million would be slow to look through. What a try took stands in its record.


def collect_loops(root: Path, spec: Spec, recorded: Sequence[Event]) -> dict[str, Loop]:
    """Stage -> its loop, for each stage that has one and of which something ran. recorded: all events, in order.

    Steps of superseded versions are among them, as their tries are wherever a report counts tries.
    """
    found = {}
    for stage in spec.stages:
        parts = [part.name for part in stage.parts if part.name in spec.parts]
        if not parts:
            continue
        counter = next(one.wildcards[0] for one in map(spec.unit, parts) if one.wildcards)
        units = [unit for part in [*parts, stage.name] for unit in (unit_of_agents(part), part)]
        ran: dict[str, dict[str, Ran]] = {}
        for number, unit, one in (*_computed(root, spec, parts, counter, recorded), *_asked(spec, stage, recorded)):
            ran.setdefault(number, {}).setdefault(unit, Ran()).add(one)
        if ran:
            order = {number: place for place, number in enumerate(spec.ranges[counter])}
            rounds = sorted(ran, key=lambda number: order.get(number, len(order)))
            seen = {unit for units_ in ran.values() for unit in units_}
            found[stage.name] = Loop(counter, {one: ran[one] for one in rounds}, [one for one in units if one in seen])
    return found


def _computed(
    root: Path, spec: Spec, parts: Sequence[str], counter: str, recorded: Iterable[Event]
) -> Iterator[tuple[str, str, Ran]]:
    """(round, part, what ran) for each step of a part that ever began; what comes before the rounds is of the first."""
    begun: dict[str, tuple[str, str]] = {}
    for event in recorded:
        if event.event == "step_started" and event.rule in parts:
            if not spec.unit(event.rule).wildcards:
                begun[event.step] = (spec.ranges[counter][0], event.rule)
            elif counter in event.wildcards:  # not in a record of a kind that counted otherwise
                begun[event.step] = (event.wildcards[counter], event.rule)
    for step, (number, part) in begun.items():
        tries = tries_of(root, step)
        ended = Counter(one.status for one in tries)
        spans = [span for one in tries if (span := _span(one)) is not None]
        yield number, part, Ran(1, ended, sum(one.core_seconds for one in tries), spans)


def _span(one: Try) -> Span | None:
    return None if one.ended is None or one.status == "killed" else (_seconds(one.started), _seconds(one.ended))


def _asked(spec: Spec, stage: StageKind, recorded: Iterable[Event]) -> Iterator[tuple[str, str, Ran]]:
    """(round, unit, what was answered) for each answer; the same step asked again is no further step."""
    rules = {asked.rule: asked for asked in stage.agents if asked.bounded and asked.rule in spec.agent_rules}
    steps = {step_name(rule, where): (rule, where) for rule in rules for where in spec.steps(rule)}
    users = {rule: _user(stage, asked) for rule, asked in rules.items()}
    answered: set[str] = set()
    for event in recorded:
        step = old_names.step_now(event.step) if event.event == "agent_answered" and event.step else ""
        if step in steps:
            rule, where = steps[step]
            ended, first = _seconds(event.time), step not in answered
            answered.add(step)
            spans = [] if event.wall_s is None else [(ended - event.wall_s, ended)]
            yield where[rules[rule].wildcards[0]], unit_of_agents(users[rule]), Ran(int(first), spans=spans)


def _user(stage: StageKind, asked: AgentRule) -> str:
    """The part that an agent's answers go into; the stage where none takes them up."""
    takers = (part.name for part in stage.parts if asked.rule in (*part.builds_on, *part.carried))
    return next(takers, stage.name)


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()
