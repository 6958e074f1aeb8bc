"""The agents of a task have no rule of thumb: what is to be done is open, and no answer to a task is coded in."""

from sophron.interfaces import JsonObject, UncheckedObject

SENTENCE = "open work needs a model; name one in campaign.yaml, under agents, or with --agent"


def refuse(inputs: JsonObject) -> UncheckedObject:
    """Raise ValueError, a sentence, whatever the task."""
    del inputs
    raise ValueError(SENTENCE)
