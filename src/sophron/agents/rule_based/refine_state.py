"""What the rule of thumb of the refine agent keeps in mind while it climbs, and how it uses tools."""

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sophron.agents.rule_based.input_checks import mapping, objects
from sophron.interfaces.model import Text, ToolAnswer
from sophron.interfaces.rule_based_agent import Use

SERVER = "rietveld"
Result = TypeVar("Result")
Turns = Generator[Sequence[Use], Sequence[ToolAnswer], Result]
"""Part of a script: turns with tools, then a result."""


def used(*wanted: tuple[str, Mapping[str, Any]]) -> Turns[list[Mapping[str, Any]]]:
    """Use tools of the server in one turn; what each said."""
    answers = yield [Use(f"{SERVER}__{name}", arguments) for name, arguments in wanted]
    return [said(one) for one in answers]


def said(answer: ToolAnswer) -> Mapping[str, Any]:
    """The JSON of an answer; what is none was refused before it reached a tool."""
    text = next((part.text for part in answer.content if isinstance(part, Text)), "")
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or "ok" not in found:
        return {"ok": False, "hint": text[:300] or "the tool said nothing"}
    return {"hint": "", **found}


@dataclass
class Climb:
    """How far a refinement has come. state: the last good one, 0 for none; tries: cures that are left.

    worst: windows where the model misses most, and the state that they are of; unexplained: why no phase is claimed.
    """

    recipe: Mapping[str, Any]
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
    worst: tuple[int, list[Mapping[str, Any]]] = (0, [])

    def begin(self, project: Mapping[str, Any]) -> None:
        """Take in what there is. ValueError where the tools do not say it."""
        if not project["ok"]:
            raise ValueError(project["hint"])
        self.counts = float(mapping(project["numbers"], "numbers")["counts"])
        phases = objects(project["phases"], "phases")
        self.main = [str(one["name"]) for one in phases if one["role"] == "main"]
        self.candidates = [str(one["name"]) for one in phases if one["role"] == "candidate"]
        self.tries = int(self.recovery.get("tries", 0))

    def reached(self, told: Mapping[str, Any]) -> None:
        """A cycle came to a state."""
        self.state = int(told["state"])

    @property
    def recovery(self) -> Mapping[str, Any]:
        """That part of the recipe."""
        return mapping(self.recipe.get("recovery", {}), "recipe.recovery")

    @property
    def whole_after(self) -> Sequence[str]:
        """Rungs after which the whole pattern is looked at."""
        found: Sequence[str] = mapping(self.recipe.get("plots", {}), "recipe.plots").get("whole_after", [])
        return found

    @property
    def windows(self) -> int:
        """Windows that are looked at in the end."""
        return int(mapping(self.recipe.get("plots", {}), "recipe.plots").get("windows", 0))
