"""What a rule of thumb is: a published, deterministic stand-in for a model, used by the `heuristic` backend."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

from sophron.interfaces import UncheckedObject
from sophron.interfaces.model_backend import ToolAnswer


class RuleOfThumb(Protocol):
    """function(inputs) -> answer. Found by the agent's name through the entry points `sophron.rule_based_agents`.

    inputs: the agent step's inputs by role, as plain data (parsed JSON or text). answer: plain data that fits the
    agent's output schema. It reads nothing else, has no state, and its docstring says what the rule is and where it
    was published.
    """

    def __call__(self, inputs: UncheckedObject) -> UncheckedObject:
        """Answer from the inputs alone."""
        ...


@dataclass(frozen=True)
class Use:
    """A tool that a rule of thumb wants used. tool: its name as a model sees it."""

    tool: str
    arguments: UncheckedObject


@dataclass(frozen=True)
class Exchange:
    """One turn that is over: what was wanted in it, and what each tool answered."""

    uses: tuple[Use, ...]
    answers: tuple[ToolAnswer, ...]


Script = Callable[[UncheckedObject], Generator[Sequence[Use], Sequence[ToolAnswer], UncheckedObject]]


@dataclass(frozen=True)
class ToolUser:
    """A rule of thumb that uses tools before it answers; in the registry in place of a plain one.

    script: generator function of the inputs that yields the tools it wants used in a turn, is sent what they answered,
    and returns its answer. It has no state: for every turn it is run again over the exchanges so far.
    """

    script: Script

    def proceed(self, inputs: UncheckedObject, exchanges: Sequence[Exchange]) -> tuple[Use, ...] | UncheckedObject:
        """Return what it wants used next, or its answer. ValueError if the exchanges are not those it asked for."""
        running = self.script(inputs)
        try:
            wanted = tuple(next(running))
            for past in exchanges:
                if past.uses != wanted:
                    raise ValueError("the conversation is not the one that this rule of thumb would have led")
                wanted = tuple(running.send(past.answers))
        except StopIteration as end:
            answer: UncheckedObject = end.value
            return answer
        return wanted
