"""What the rule of thumb of the refine agent keeps in mind while it climbs, and how it uses tools."""

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from sophron.agents.rule_based.input_checks import number, read
from sophron.interfaces import UncheckedObject
from sophron.interfaces.model_backend import Text, ToolAnswer
from sophron.interfaces.rule_based_agent import Use

SERVER = "rietveld"
Result = TypeVar("Result")
Turns = Generator[Sequence[Use], Sequence[ToolAnswer], Result]
"""Part of a script: turns with tools, then a result."""


@dataclass(frozen=True)
class Rung:
    """Groups that are freed together, the counts that they need, and of which atoms alone (`phase/label`)."""

    name: str = "scale"
    groups: tuple[str, ...] = ("scale", "background")
    least_counts: float = 0.0
    atoms: tuple[str, ...] = ()

    def releases(self) -> list[tuple[str, UncheckedObject]]:
        """Return the calls that free it."""
        if not self.atoms:
            return [("release", {"groups": list(self.groups)})]
        parts = [one.split("/") for one in self.atoms]
        return [("release", {"groups": list(self.groups), "phase": phase, "atom": atom}) for phase, atom in parts]


@dataclass(frozen=True)
class Background:
    """Function of the background, and its number of coefficients."""

    kind: str
    count: int


@dataclass(frozen=True)
class Recovery:
    """tries: groups that are tried alone; correlation: from which the parameter that came later is held."""

    tries: int
    correlation: float


@dataclass(frozen=True)
class Plots:
    """whole_after: rungs after which the whole pattern is looked at; windows: those looked at in the end."""

    whole_after: tuple[str, ...]
    windows: int


@dataclass(frozen=True)
class Candidates:
    """How phases are tested that may be there: bounds on a scale over its standard deviation, and counts."""

    claim_significance: float
    absent_below: float
    least_counts: float = 0.0


@dataclass(frozen=True)
class Explains:
    """When the phases are taken to explain the pattern, in per cent."""

    misfit_percent: float
    cell_percent: float


@dataclass(frozen=True)
class Recipe:
    """`recipe` of `schemas/rietveld/refine.schema.yaml`; what is left out is not done."""

    background: Background | None = None
    calculated_weights_below_counts: float = 0.0
    rungs: tuple[Rung, ...] = (Rung(),)
    recovery: Recovery | None = None
    plots: Plots | None = None
    candidates: Candidates | None = None
    explains: Explains | None = None


@dataclass(frozen=True)
class ToolPhase:
    """A phase of the project, or of a fit: then with its scale over its standard deviation."""

    name: str
    role: str = ""
    significance: float | None = None


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong, and with which parameter if it is about one."""

    code: str
    message: str
    parameter: str | None = None


@dataclass(frozen=True)
class Correlation:
    """Two parameters that cannot be told apart; value: from -1 to 1."""

    first: str
    second: str
    value: float


@dataclass(frozen=True)
class Window:
    """Part of a pattern, in degrees."""

    low_deg: float
    high_deg: float


@dataclass(frozen=True)
class ToolResult:
    """What a tool of the server answered. ok: whether it did what was asked; hint: what it says to people."""

    ok: bool
    hint: str = ""
    ended: str = ""
    state: int = 0
    numbers: Mapping[str, object] = field(default_factory=dict)
    phases: tuple[ToolPhase, ...] = ()
    findings: tuple[Diagnosis, ...] = ()
    correlations: tuple[Correlation, ...] = ()
    worst: tuple[Window, ...] = ()
    report: Mapping[str, object] = field(default_factory=dict)

    def number(self, name: str) -> float:
        """Return one of its numbers; ValueError if it is not there."""
        value = number(self.numbers.get(name))
        if value is None:
            raise ValueError(f"the tool did not say {name}")
        return float(value)


def used(*wanted: tuple[str, UncheckedObject]) -> Turns[list[ToolResult]]:
    """Use tools of the server in one turn; what each answered."""
    answers = yield [Use(f"{SERVER}__{name}", arguments) for name, arguments in wanted]
    return [result_of(one) for one in answers]


def result_of(answer: ToolAnswer) -> ToolResult:
    """Return the JSON of an answer; what is none was refused before it reached a tool."""
    text = next((part.text for part in answer.content if isinstance(part, Text)), "")
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    if not isinstance(data, dict) or "ok" not in data:
        return ToolResult(ok=False, hint=text[:300] or "the tool said nothing")
    return read(ToolResult, data, "the answer of a tool")


@dataclass
class Climb:
    """How far a refinement has come. state: the last good one, 0 for none; tries: cures that are left.

    worst: windows where the model misses most, and the state that they are of; unexplained: why no phase is claimed.
    last: the rung that freed something last, and the state before it.
    """

    recipe: Recipe
    counts: float = 0.0
    main: list[str] = field(default_factory=list)
    candidates: list[str] = field(default_factory=list)
    state: int = 0
    weighted: bool = False
    tries: int = 0
    claimed: list[str] = field(default_factory=list)
    significances: dict[str, float | None] = field(default_factory=dict)
    untested: dict[str, str] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)
    worst: tuple[int, Sequence[Window]] = (0, ())
    last: tuple[Rung, int] | None = None

    def begin(self, project: ToolResult) -> None:
        """Take in what there is. ValueError if the tools do not say it."""
        if not project.ok:
            raise ValueError(project.hint)
        self.counts = project.number("counts")
        self.main = [phase.name for phase in project.phases if phase.role == "main"]
        self.candidates = [phase.name for phase in project.phases if phase.role == "candidate"]
        self.tries = self.recipe.recovery.tries if self.recipe.recovery else 0

    def reached(self, result: ToolResult) -> None:
        """Note that a cycle came to a state."""
        self.state = result.state
