"""What a rule of thumb is: a published, deterministic stand-in for a model, used by the `heuristic` backend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class RuleOfThumb(Protocol):
    """function(inputs) -> answer. Found by the agent's name through the entry points `sophron.heuristics`.

    inputs: the agent step's inputs by role, as plain data (parsed JSON or text). answer: plain data that fits the
    agent's output schema. It reads nothing else, has no state, and its docstring says what the rule is and where it
    was published.
    """

    def __call__(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer from the inputs alone."""
        ...
