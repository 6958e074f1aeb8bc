"""The record of a session: every call in order and every state, written whole after each call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sophron.interfaces.rietveld import Freed
from sophron.records.files import write_json
from sophron.records.typed_json import to_json

NAME = "trajectory.json"


@dataclass(frozen=True)
class Plot:
    """A picture that was shown. Ends in degrees 2 theta; sha256: of the PNG; file: below the session's folder."""

    low_deg: float
    high_deg: float
    whole: bool
    sha256: str
    file: str


@dataclass(frozen=True)
class Answer:
    """What a tool came to. hint: why not, or what to look at next; details: plain data beside the numbers.

    ended, free: of a cycle; decision: what was decided.
    """

    hint: str
    ok: bool = True
    numbers: Mapping[str, float | None] = field(default_factory=dict)
    details: Mapping[str, object] = field(default_factory=dict)
    plot: Plot | None = None
    decision: str | None = None
    free: tuple[Freed, ...] | None = None
    ended: str | None = None


@dataclass(frozen=True)
class StateEntry:
    """A state as the trajectory has it."""

    number: int
    parent: int | None
    label: str
    call: int
    phases: tuple[str, ...]
    weights: str
    variables: int
    rwp_percent: float | None
    gof: float | None


@dataclass(frozen=True)
class Call:
    """A call of a tool as the trajectory has it. state: number of the current one after it, None without one."""

    number: int
    tool: str
    arguments: Mapping[str, object]
    ok: bool
    hint: str
    numbers: Mapping[str, float | None]
    plot: Plot | None
    decision: str | None
    free: tuple[Freed, ...] | None
    ended: str | None
    state: int | None


@dataclass(frozen=True)
class Calls:
    """Calls and states of a trajectory that was written down."""

    calls: tuple[Call, ...]
    states: tuple[StateEntry, ...]


class Trajectory:
    """Appends calls to `folder/trajectory.json` (`schemas/rietveld/trajectory.schema.yaml`)."""

    def __init__(self, folder: Path, about: Mapping[str, str]) -> None:
        self._path = folder / NAME
        self._about = dict(about)
        self.calls: list[Call] = []
        self.states: list[StateEntry] = []

    @property
    def next_call(self) -> int:
        """Number of the call that is not written yet."""
        return len(self.calls) + 1

    def append(
        self, tool: str, arguments: Mapping[str, object], answer: Answer, state: int | None, version: str
    ) -> None:
        """Write down one call. version: of the engine, where it is known by now."""
        self._about["engine_version"] = version
        call = Call(
            number=self.next_call,
            tool=tool,
            arguments=dict(arguments),
            ok=answer.ok,
            hint=answer.hint,
            numbers=dict(answer.numbers),
            plot=answer.plot,
            decision=answer.decision,
            free=answer.free,
            ended=answer.ended,
            state=state,
        )
        self.calls.append(call)
        write_json(self._path, to_json({**self._about, "calls": self.calls, "states": self.states}))
