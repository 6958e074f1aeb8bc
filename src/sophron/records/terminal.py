"""Messages of verbs and steps on the terminal; steps leave it to our logger if that writes there."""

import os
import sys
from pathlib import Path

from sophron.records.errors import UserError
from sophron.records.nearest_campaign import host_call, nearest_campaign

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
    host = host_call(root)
    if host and command.split(" ", maxsplit=1)[0] == "snakemake":
        command, there = command.replace("snakemake", host.command, 1), host.directory
    if there == here or command.startswith("nothing") or (command.startswith("sophron ") and _is_found(here, there)):
        return f"Next: {command}"
    return f"Next, in {os.path.relpath(there) if host else _short(there, here)}: {command}"


def _is_found(here: Path, root: Path) -> bool:
    """Return whether a verb that is typed here without a folder takes this campaign."""
    try:
        return nearest_campaign(here).resolve() == root
    except UserError:
        return False


def _short(there: Path, here: Path) -> Path:
    return there.relative_to(here) if there.is_relative_to(here) else there
