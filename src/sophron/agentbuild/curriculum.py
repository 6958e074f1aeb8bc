"""The curriculum (AgentBuild, II-C): graded cases, sources of their samples, P-strict, and the tiers that it opens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sophron.agentbuild import contract_code
from sophron.agentbuild.rubric import Json
from sophron.records.documents import Document, Key, load_json, validate
from sophron.records.errors import UserError

SCHEMA = "build/curriculum"
Scores = Mapping[str, Mapping[str, int]]
"""Case -> dimension -> score, of one iteration."""


@dataclass(frozen=True)
class Case:
    """A sample and its reference. source: name in the registry of samples, with its parameters; reference: file."""

    name: str
    about: str
    source: str
    parameters: Json
    reference: str


@dataclass(frozen=True)
class Curriculum:
    """All cases. tiers: names of cases that each adds, from easy to hard; held_out: never active."""

    title: str
    cases: Mapping[str, Case]
    tiers: tuple[tuple[str, tuple[str, ...]], ...]
    held_out: tuple[str, ...]
    reference_schema: str = ""

    def active(self, tiers: int) -> tuple[str, ...]:
        """Return the cases of the first `tiers` tiers, all of which an iteration runs."""
        return tuple(case for _, cases in self.tiers[:tiers] for case in cases)


@dataclass(frozen=True)
class Miss:
    """A score below its threshold; score None if the case has none."""

    case: str
    code: str
    score: int | None
    threshold: int


def misses(scores: Scores, active: Sequence[str], thresholds: Mapping[str, int]) -> list[Miss]:
    """Return all that keeps one iteration from P-strict, by case and dimension; a score that is not there is a miss."""
    found = []
    for case in active:
        for code, threshold in thresholds.items():
            score = scores.get(case, {}).get(code)
            if score is None or score < threshold:
                found.append(Miss(case, code, score, threshold))
    return found


def p_strict(scores: Scores, active: Sequence[str], thresholds: Mapping[str, int]) -> bool:
    """Return whether, in this one iteration, every active case meets every threshold. Without a case: no."""
    return bool(active) and not misses(scores, active, thresholds)


def tiers_open(curriculum: Curriculum, passed: Sequence[bool]) -> int:
    """Return how many tiers are active after iterations that passed under P-strict or not, in their order.

    A tier is added by the event that the suite before it passed, and never taken back.
    """
    return min(1 + sum(passed), len(curriculum.tiers))


def is_saturated(curriculum: Curriculum, passed: Sequence[bool]) -> bool:
    """Return whether the last tier has passed too: as many passes as tiers, since each opens one, or closes all."""
    return sum(passed) >= len(curriculum.tiers)


def read(document: Document) -> Curriculum:
    """Return the curriculum that a document states; UserError with file and key if it cannot be one."""
    validate(document, SCHEMA)
    data = document.data
    cases = {name: _case(name, one) for name, one in data["cases"].items()}
    _check_places(document, cases)
    tiers = tuple((tier["name"], tuple(tier["cases"])) for tier in data["tiers"])
    held_out = tuple(data.get("held_out", []))
    schema = contract_code.schema(document.path.parent, data.get("reference_schema", ""))
    return Curriculum(data["title"], cases, tiers, held_out, schema)


def _case(name: str, data: Json) -> Case:
    source = data["source"]
    return Case(name, data["about"], source["name"], source.get("parameters", {}), data["reference"])


def _check_places(document: Document, cases: Mapping[str, Case]) -> None:
    """Every case has one place: a tier, or among those held out."""
    tiers: list[tuple[list[Key], Sequence[str]]] = [
        (["tiers", number, "cases"], tier["cases"]) for number, tier in enumerate(document.data["tiers"])
    ]
    tiers.append((["held_out"], document.data.get("held_out", [])))
    seen: set[str] = set()
    for at, names in tiers:
        for name in names:
            if name not in cases:
                raise UserError(f'{document.where(at)}: there is no case "{name}"; known are {", ".join(cases)}')
            if name in seen:
                raise UserError(f"{document.where(at)}: the case {name} has a place already; a case has one")
            seen.add(name)
    for name in cases:
        if name not in seen:
            raise UserError(f"{document.where(['cases', name])}: is in no tier and not held out; put it into one")


@dataclass(frozen=True)
class Given:
    """What an agent is given in a case. sample: all of it; task: what it is told of it in words and few numbers."""

    sample: Json
    task: Json


class SampleSource(Protocol):
    """function(contract folder, parameters) -> Given; found by name in the contract's `samples.py`, or installed."""

    def __call__(self, folder: Path, parameters: Json) -> Given:
        """The sample; UserError if its files are not there."""
        ...


def sample(folder: Path, case: Case) -> Given:
    """Return what the agent is given in a case. folder: of the contract."""
    source: SampleSource = contract_code.load(folder, contract_code.SAMPLES, case.source)
    return source(folder, case.parameters)


def of_file(folder: Path, parameters: Json) -> Given:
    """Return a JSON file of the contract. parameters: `file`, its path in the contract's folder."""
    path = (folder / parameters["file"]).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise UserError(f"{folder}: the sample {parameters['file']} lies outside of the contract; put it into samples/")
    content: Json = load_json(path)
    return Given(content, {"file": path.name})
