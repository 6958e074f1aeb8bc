"""Failure of an agent step: one kind and one sentence."""

from typing import Literal

Kind = Literal[
    "budget",  # no model was left whose reservation fits every cap
    "unavailable",  # no model of the rank gave an answer
    "invalid_answer",  # there was an answer, and it does not fit its schema
    "refusal",  # the model declined
    "too_long",  # the request does not fit a model, or the answer was cut
    "tool",  # the model kept asking for tools
    "absent",  # a replay or a mailbox has no answer
]


OWN: frozenset[Kind] = frozenset({"invalid_answer", "refusal", "too_long", "tool"})
"""Kinds that say something about the agent; the others say that it was not asked, and another time it may be."""


class AgentError(Exception):
    """An agent gave no usable answer. kind: for programs; reason: one sentence for people."""

    def __init__(self, kind: Kind, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
