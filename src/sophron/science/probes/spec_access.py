"""Read a spec that may be incomplete: values by dotted key, free engine lines, and the three kinds of finding."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sophron.interfaces.probe import Finding
from sophron.records.errors import UserError
from sophron.science.lammps import input_checker

Spec = Mapping[str, Any]
Parameters = Mapping[str, Any]


def clear(evidence: str) -> Finding:
    """The pitfall was looked for and is absent."""
    return Finding("clear", evidence)


def hit(evidence: str) -> Finding:
    """The pitfall is there."""
    return Finding("hit", evidence)


def unknown(evidence: str) -> Finding:
    """It could not be decided here."""
    return Finding("unknown", evidence)


class MissingValueError(Exception):
    """A key that a probe needs is not in the spec, or holds no finite number."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.finding = unknown(f"{key} is not in the spec as a number, so this could not be looked for")


def value(spec: Spec, key: str) -> Any:
    """Return what lies at a dotted key such as `stages.build.definition.density`, or None (`.0`: first of a list)."""
    here: Any = spec
    for part in key.split("."):
        if isinstance(here, list) and part.isdigit():
            here = here[int(part)] if int(part) < len(here) else None
        else:
            here = here.get(part) if isinstance(here, Mapping) else None
    return here


def number(spec: Spec, key: str) -> float | None:
    """Return a finite number at a dotted key, or None."""
    found = value(spec, key)
    plain = isinstance(found, int | float) and not isinstance(found, bool)
    return float(found) if plain and math.isfinite(found) else None


def needed(spec: Spec, key: str) -> float:
    """Return a finite number at a dotted key; raises MissingValueError."""
    found = number(spec, key)
    if found is None:
        raise MissingValueError(key)
    return found


def wanted(parameters: Parameters, name: str) -> Any:
    """Return a parameter that the pitfall's file must give; UserError if it does not."""
    if name not in parameters:
        raise UserError(f'the probe needs a parameter "{name}"; add it below probe.parameters in the pitfall\'s file')
    return parameters[name]


@dataclass(frozen=True)
class Line:
    """One command in free engine lines: its stage, the number of its line there (from 1), and its words."""

    stage: str
    number: int
    words: tuple[str, ...]

    def __str__(self) -> str:
        """Return its place and its text, for people."""
        return f'stages.{self.stage}.definition.fragments line {self.number}, "{" ".join(self.words)}"'


def free_texts(spec: Spec) -> Iterator[tuple[str, str]]:
    """Yield (stage, its free engine lines as the one text that the engine reads), in order of the stages."""
    stages = value(spec, "stages")
    for stage in stages if isinstance(stages, Mapping) else ():
        lines = value(spec, f"stages.{stage}.definition.fragments")
        if isinstance(lines, list):
            yield stage, "\n".join(map(str, lines))


def fragments(spec: Spec) -> Iterator[Line]:
    """Yield all commands in the free engine lines of all stages, in order, nested ones (`if`, `run every`) too."""
    for stage, text in free_texts(spec):
        yield from (Line(stage, number, tuple(words)) for number, words in input_checker.commands(text))
