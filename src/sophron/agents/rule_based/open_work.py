"""Agents without a rule of thumb: what they do is open, and no answer to it is coded in."""

from sophron.interfaces import JsonObject, UncheckedObject

SENTENCE = "open work needs a model; name one in campaign.yaml, under agents, or on the command line"


def refuse(inputs: JsonObject) -> UncheckedObject:
    """Raise ValueError, a sentence, whatever is asked."""
    del inputs
    raise ValueError(SENTENCE)
