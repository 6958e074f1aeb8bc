"""Messages of verbs and steps on the terminal; steps leave it to our logger if that writes there."""

import os
import sys
from pathlib import Path

VARIABLE = "SOPHRON_STREAM"
"""Set by the logger for the jobs of its run: it shows their events and the decisive lines of their logs itself."""


def is_the_loggers() -> bool:
    """Return whether our logger writes to the terminal of this run, where other text would tear its display."""
    return VARIABLE in os.environ


def say(sentence: str) -> None:
    """Print a sentence that stands in a log or an event as well."""
    if not is_the_loggers():
        print(sentence, file=sys.stderr)


def next_line(root: Path, command: str) -> str:
    """Return the last line of a verb: what to type next, and in which folder unless it is this one."""
    here, there = Path.cwd(), root.resolve()
    if there == here or command.startswith("nothing"):
        return f"Next: {command}"
    return f"Next, in {there.relative_to(here) if there.is_relative_to(here) else there}: {command}"
