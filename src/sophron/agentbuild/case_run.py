"""One run of an agent on one case, as a judge sees it, and the finding of a computed check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

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
    """function(run, parameters) -> Checked. Found by name through the entry points `sophron.rubric_checks`.

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
