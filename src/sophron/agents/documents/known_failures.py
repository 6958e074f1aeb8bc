"""Known messages of schedulers, MPI, shells and engines, `workflow/agents/failures.yaml`, and where a log has them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from sophron.interfaces import JsonObject
from sophron.records import documents
from sophron.records.files import resource
from sophron.records.sanitize import one_line
from sophron.records.typed_json import from_json, left_out

CLASSES = ("definitional", "mechanical", "environment", "transient")
LONGEST_LINE = 4000  # a progress bar is one line of megabytes
LONGEST_QUOTE = 240
MOST_LINES = 20_000


@dataclass(frozen=True)
class Remedy:
    """What may cure a mechanical failure. key: of the mechanical block; choose: larger, none or module."""

    key: str
    choose: str


@dataclass(frozen=True)
class KnownFailure:
    """An entry of the table, `schemas/failures.schema.yaml`."""

    id: str
    pattern: str
    kind: str = left_out(default="", key="class")
    what: str = ""
    modules: tuple[str, ...] = ()
    remedy: Remedy | None = None

    @property
    def key(self) -> str:
        """The mechanical key of its remedy; empty without one."""
        return self.remedy.key if self.remedy else ""

    @property
    def regular(self) -> re.Pattern[str]:
        """Its pattern, compiled; ValueError if it is not one."""
        try:
            return re.compile(self.pattern, re.IGNORECASE)
        except re.error as error:
            raise ValueError(f"the pattern of the failure {self.id} is not a regular expression ({error})") from None


@dataclass(frozen=True)
class Match:
    """A line that an entry recognises. modules: names of environment modules that would cure it."""

    known: KnownFailure
    line: str
    place: int
    modules: tuple[str, ...]

    @property
    def told(self) -> JsonObject:
        """What an agent reads of it."""
        known = self.known
        remedy = {"remedy": f"{known.remedy.choose} {known.key}"} if known.remedy else {}
        return {"line": self.line, "class": known.kind, "what": known.what, **remedy}


@cache
def installed() -> tuple[KnownFailure, ...]:
    """Return the installed table."""
    return parse(documents.load_yaml(resource("workflow", "agents", "failures.yaml")).data)


def parse(entries: Sequence[object]) -> tuple[KnownFailure, ...]:
    """Return plain data as entries. ValueError for one that does not fit `schemas/failures.schema.yaml`."""
    table = tuple(from_json(KnownFailure, entry) for entry in entries)
    for known in table:
        known.regular  # noqa: B018 - an invalid one is told here
        if known.kind not in CLASSES:
            raise ValueError(f"the failure {known.id} has the class {known.kind}; known are {', '.join(CLASSES)}")
    return table


def matches(lines: Sequence[str], table: Sequence[KnownFailure]) -> list[Match]:
    """Return what the table recognises, in the order of the classes and then of the lines."""
    patterns = [(known, known.regular) for known in table]
    recognised = []
    for place, line in enumerate(lines[-MOST_LINES:]):
        for known, pattern in patterns:
            seen = pattern.search(line[:LONGEST_LINE])
            if seen:
                names = [name for key, name in seen.groupdict().items() if name and key.startswith("module")]
                modules = tuple(name.lower() for name in names) or known.modules
                recognised.append(Match(known, one_line(line, LONGEST_QUOTE), place, modules))
    return sorted(recognised, key=lambda match: (CLASSES.index(match.known.kind), match.place))
