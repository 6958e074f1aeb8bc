"""The table of known failures, and the lines of a log that match it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from sophron.agents.rule_based.input_checks import mapping, objects, quoted, text, texts
from sophron.interfaces import UncheckedObject
from sophron.records import documents
from sophron.records.errors import UserError
from sophron.records.paths import resource

CLASSES = ("definitional", "mechanical", "environment", "transient")
LONGEST_LINE = 4000  # a progress bar is one line of megabytes
MOST_LINES = 20_000


@dataclass(frozen=True)
class Known:
    """An entry of the table. key, choose: its remedy, empty without one."""

    id: str
    pattern: re.Pattern[str]
    kind: str
    what: str
    modules: tuple[str, ...]
    key: str
    choose: str


@dataclass(frozen=True)
class Match:
    """A line that an entry recognises. modules: names of environment modules that would cure it."""

    known: Known
    line: str
    place: int
    modules: tuple[str, ...]


def installed() -> list[Known]:
    """The installed `agents/failures.yaml`."""
    return list(_installed())


@cache
def _installed() -> tuple[Known, ...]:
    return tuple(parse(documents.load_yaml(resource("workflow", "agents", "failures.yaml")).data))


def parse(entries: object) -> list[Known]:
    """A table as plain data, which fits `schemas/failures.schema.yaml`. ValueError for a pattern that is none."""
    return [_known(entry) for entry in objects(entries, "failures")]


def _known(entry: UncheckedObject) -> Known:
    name = text(entry.get("id"), "the id of a failure")
    try:
        pattern = re.compile(text(entry.get("pattern"), f"the pattern of {name}"), re.IGNORECASE)
    except re.error as error:
        raise ValueError(f"the pattern of the failure {name} is no regular expression ({error})") from None
    kind = text(entry.get("class"), f"the class of {name}")
    if kind not in CLASSES:
        raise ValueError(f"the failure {name} has the class {kind}; known are {', '.join(CLASSES)}")
    remedy = mapping(entry.get("remedy") or {"key": "", "choose": ""}, f"the remedy of {name}")
    key, choose = (text(remedy.get(part), f"the {part} of {name}") for part in ("key", "choose"))
    modules = tuple(texts(entry.get("modules", []), f"modules of {name}"))
    return Known(name, pattern, kind, text(entry.get("what"), f"the meaning of {name}"), modules, key, choose)


def matches(lines: Sequence[str], table: Sequence[Known]) -> list[Match]:
    """What the table recognises, in the order of the classes and then of the lines."""
    found = []
    for place, line in enumerate(lines[-MOST_LINES:]):
        for known in table:
            seen = known.pattern.search(line[:LONGEST_LINE])
            if seen:
                named = [name for key, name in seen.groupdict().items() if name and key.startswith("module")]
                modules = tuple(name.lower() for name in named) or known.modules
                found.append(Match(known, quoted(line), place, modules))
    return sorted(found, key=lambda match: (CLASSES.index(match.known.kind), match.place))


def table_of(entries: object) -> list[Known]:
    """The table that a step was given, or the installed one without any. ValueError where it is not valid."""
    if entries is not None:
        return parse(entries)
    try:
        return installed()
    except UserError as error:
        raise ValueError(str(error)) from None
