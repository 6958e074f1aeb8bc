"""What ran in the loops of a campaign, round by round: how often, how long and at what cost; for the report.

Which steps there were is read from the events in one pass: a plan only bounds the steps of a loop, and a bound of a
million would be slow to look through. What a try took stands in its record.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from sophron.campaign.execution.tries import Try, tries_of
from sophron.campaign.spec.spec import Spec
from sophron.interfaces.kind import AgentRule, StageKind
from sophron.records import old_names
from sophron.records.digests import step_name
from sophron.records.events import Event

Span = tuple[float, float]


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

    A unit is a part, or all agents that one part is made of, under `agents(part)`.
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


def agents(part: str) -> str:
    """Name of the unit of the agents that a part is made of."""
    return f"agents of {part}"


def collect(root: Path, spec: Spec, recorded: Sequence[Event]) -> dict[str, Loop]:
    """Stage -> its loop, for each stage that has one and of which something ran. recorded: all events, in order.

    Steps of superseded versions are among them, as their tries are wherever a report counts tries.
    """
    found = {}
    for stage in spec.stages:
        parts = [part.name for part in stage.parts if part.name in spec.parts]
        if not parts:
            continue
        counter = spec.unit(parts[0]).wildcards[0]
        units = [unit for part in [*parts, stage.name] for unit in (agents(part), part)]
        ran: dict[str, dict[str, Ran]] = {}
        for number, unit, one in (*_computed(root, spec, parts, recorded), *_asked(spec, stage, recorded)):
            ran.setdefault(number, {}).setdefault(unit, Ran()).add(one)
        if ran:
            order = {number: place for place, number in enumerate(spec.ranges[counter])}
            rounds = sorted(ran, key=lambda number: order.get(number, len(order)))
            seen = {unit for units_ in ran.values() for unit in units_}
            found[stage.name] = Loop(counter, {one: ran[one] for one in rounds}, [one for one in units if one in seen])
    return found


def _computed(
    root: Path, spec: Spec, parts: Sequence[str], recorded: Iterable[Event]
) -> Iterator[tuple[str, str, Ran]]:
    """(round, part, what ran) for each step of a part that ever began."""
    begun: dict[str, tuple[str, str]] = {}
    for event in recorded:
        if event.event == "step_started" and event.rule in parts:
            counter = spec.unit(event.rule).wildcards[0]
            if counter in event.wildcards:  # not in a record of a kind that counted otherwise
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
            yield where[rules[rule].wildcards[0]], agents(users[rule]), Ran(int(first), spans=spans)


def _user(stage: StageKind, asked: AgentRule) -> str:
    """The part that an agent's answers go into; the stage where none takes them up."""
    takers = (part.name for part in stage.parts if asked.rule in (*part.builds_on, *part.carried))
    return next(takers, stage.name)


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()
