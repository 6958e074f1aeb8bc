"""The rubric: what a competent analysis must satisfy, dimension by dimension, and what its checks look at and find.

AgentBuild, II-A and table II. A check is given one run of an agent on one case and returns its faults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from sophron.agentbuild import contract_code
from sophron.agentbuild.contract_code import CHECKS
from sophron.records.documents import Document, Key, validate
from sophron.records.errors import UserError

Json = Mapping[str, Any]
"""What a contract gives the schema of: a report, a trajectory, a reference, parts of them, parameters of a check."""


@dataclass(frozen=True)
class CaseRun:
    """One run. report: what the agent answered, None if it gave nothing; trajectory: what its tools wrote down.

    failure: why it ended without a report, empty if it ended well; reference: of the curriculum, never shown to
    the agent. Report and trajectory fit their schemas; the first is what an agent claims, the second what tools saw.
    """

    case: str
    report: Json | None
    trajectory: Json | None
    reference: Json
    failure: str = ""


@dataclass(frozen=True)
class Fault:
    """Something that speaks against a run. code: short name for programs; about: what it concerns, plain data.

    A grave fault ignores the contract (lowest score), a minor one costs a point.
    """

    code: str
    gravity: Literal["grave", "minor"]
    evidence: str
    about: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Checked:
    """What a check found. looked_at: one sentence with what it compared, fault or not; numbers: of the case."""

    faults: tuple[Fault, ...]
    looked_at: str
    numbers: Mapping[str, float] = field(default_factory=dict)


class RubricCheck(Protocol):
    """function(run, parameters) -> Checked. Found by name in the contract's `checks.py`, or among the installed ones.

    It is given runs that have a report and a trajectory, reads nothing else, and asks nobody.
    """

    def __call__(self, run: CaseRun, parameters: Json) -> Checked:
        """Look at one run."""
        ...


def is_explained(reference: Json) -> bool:
    """Return whether the phases that were given explain the pattern; if they do not, no fit of them is asked for."""
    return bool(reference.get("explained", True))


def grave(code: str, evidence: str, **about: Any) -> Fault:
    """Return a fault that ignores the contract."""
    return Fault(code, "grave", evidence, about)


def minor(code: str, evidence: str, **about: Any) -> Fault:
    """Return a fault that costs a point."""
    return Fault(code, "minor", evidence, about)


def score(checked: list[Checked], lowest: int, highest: int) -> int:
    """The score of all checks of a dimension together: lowest after a grave fault, else a point less a minor one.

    Minor faults alone never reach the lowest score: they say that a thing was done, and not how well.
    """
    faults = [fault for one in checked for fault in one.faults]
    if any(fault.gravity == "grave" for fault in faults):
        return lowest
    return max(highest - len(faults), lowest + 1) if faults else highest


SCHEMA = "build/rubric"


@dataclass(frozen=True)
class Dimension:
    """One dimension. threshold: least score that passes; checks: names in the registry of rubric checks.

    asks: what the scoring judge is asked, empty if the dimension is computed alone; parameters: of its checks.
    """

    code: str
    name: str
    about: str
    kind: Literal["output", "trajectory"]
    threshold: int
    checks: tuple[str, ...] = ()
    asks: str = ""
    parameters: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Rubric:
    """All dimensions. lowest, highest: the scale of scores; repeats: how often the scoring judge is asked.

    report_schema, trajectory_schema: what the documents of a run must fit to be scored, empty for any object.
    folder: of the contract, which may have checks of its own.
    """

    title: str
    lowest: int
    highest: int
    repeats: int
    dimensions: tuple[Dimension, ...]
    report_schema: str = ""
    trajectory_schema: str = ""
    folder: Path | None = None

    @property
    def asked(self) -> tuple[Dimension, ...]:
        """The dimensions that a judge has a say in."""
        return tuple(one for one in self.dimensions if one.asks)

    def check(self, name: str) -> RubricCheck:
        """Return the check of that name: the contract's own, or an installed one."""
        found: RubricCheck = contract_code.load(self.folder, CHECKS, name)
        return found

    @property
    def thresholds(self) -> dict[str, int]:
        """Code -> least score that passes."""
        return {one.code: one.threshold for one in self.dimensions}


def read(document: Document) -> Rubric:
    """Return the rubric that a document states; UserError with file and key if it cannot be one."""
    validate(document, SCHEMA)
    data = document.data
    lowest, highest = data["scale"]["lowest"], data["scale"]["highest"]
    if not lowest < highest:
        raise UserError(f"{document.where(['scale'])}: {lowest} to {highest} is no scale; give the lower score first")
    folder = document.path.parent
    known, codes = contract_code.names(folder, CHECKS), set()
    for number, one in enumerate(data["dimensions"]):
        at: list[Key] = ["dimensions", number]
        if one["code"] in codes:
            raise UserError(f"{document.where([*at, 'code'])}: {one['code']} stands there twice; rename one of them")
        codes.add(one["code"])
        if not lowest < one["pass"] <= highest:
            raise UserError(
                f"{document.where([*at, 'pass'])}: {one['pass']} is no threshold on the scale {lowest} to {highest}; "
                "give one above its lower end"
            )
        for check in one.get("checks", []):
            if check not in known:
                where = document.where([*at, "checks"])
                raise UserError(f'{where}: there is no check "{check}"; known are {", ".join(known)}')
    return Rubric(
        title=data["title"],
        lowest=lowest,
        highest=highest,
        repeats=data["repeats"],
        dimensions=tuple(_dimension(one) for one in data["dimensions"]),
        report_schema=contract_code.schema(folder, data.get("report_schema", "")),
        trajectory_schema=contract_code.schema(folder, data.get("trajectory_schema", "")),
        folder=folder,
    )


def _dimension(data: Json) -> Dimension:
    about = {key: data[key] for key in ("code", "name", "about", "kind")}
    more = {"asks": data.get("asks", ""), "parameters": data.get("parameters", {})}
    return Dimension(**about, threshold=data["pass"], checks=tuple(data.get("checks", [])), **more)
