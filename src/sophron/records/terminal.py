"""Messages of a step beside its log: on the terminal of its run, unless our logger writes there."""

import os
import sys

VARIABLE = "SOPHRON_STREAM"
"""Set by the logger for the jobs of its run: it shows their events and the decisive lines of their logs itself."""


def is_the_loggers() -> bool:
    """Return whether our logger writes to the terminal of this run, where other text would tear its display."""
    return VARIABLE in os.environ


def say(sentence: str) -> None:
    """Print a sentence that stands in a log or an event as well."""
    if not is_the_loggers():
        print(sentence, file=sys.stderr)
