"""Where the records of a build lie, and how they are read back: nothing is kept anywhere else.

build.json                          contract, its version and digest, handles, bound
iterations/<n>/aud/                 the agent that is tried
iterations/<n>/change.json, diff    how it came about
iterations/<n>/cases/<case>/        report.json, trajectory.json, plots, ended.json
iterations/<n>/judge/<case>.json    scorecard
iterations/<n>/verdict.json         what they come to
iterations/<n>/proposal.json        what the meta-optimizer proposes next
held_out/cases/<case>/, held_out/judge/<case>.json
result.json                         how the build ended
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sophron.agentbuild.case_run import CaseRun
from sophron.agentbuild.next_action import History, Iteration
from sophron.records.documents import load_json

BUILD, CHANGE, DIFF, VERDICT, PROPOSAL, RESULT = (
    "build.json",
    "change.json",
    "diff",
    "verdict.json",
    "proposal.json",
    "result.json",
)
REPORT, TRAJECTORY, ENDED = "report.json", "trajectory.json", "ended.json"
"""ENDED is written last: a run without it was cut off, and is made again."""


@dataclass(frozen=True)
class Place:
    """A folder in which cases are run and judged: of an iteration, or of what was held out."""

    folder: Path

    def case(self, case: str) -> Path:
        """Folder of a run."""
        return self.folder / "cases" / case

    def card(self, case: str) -> Path:
        """Scorecard of a run."""
        return self.folder / "judge" / f"{case}.json"

    @property
    def attempted(self) -> frozenset[str]:
        """Cases whose run has ended."""
        return frozenset(path.parent.name for path in self.folder.glob(f"cases/*/{ENDED}"))

    @property
    def judged(self) -> frozenset[str]:
        """Cases that have a scorecard."""
        return frozenset(path.stem for path in self.folder.glob("judge/*.json"))

    def cards(self) -> dict[str, Mapping[str, Any]]:
        """Case -> scorecard."""
        return {case: load_json(self.card(case)) for case in sorted(self.judged)}

    def run(self, case: str, reference: Mapping[str, Any]) -> CaseRun:
        """What the judge has before it."""
        folder = self.case(case)
        ended = load_json(folder / ENDED)
        report, trajectory = (
            load_json(folder / name) if (folder / name).is_file() else None for name in (REPORT, TRAJECTORY)
        )
        return CaseRun(case, report, trajectory, reference, ended["failure"])


@dataclass(frozen=True)
class Records:
    """The records of the build in `folder`."""

    folder: Path

    def iteration(self, number: int) -> Place:
        """One iteration, from 1."""
        return Place(self.folder / "iterations" / str(number))

    def aud(self, number: int) -> Path:
        """The agent that an iteration tries."""
        return self.iteration(number).folder / "aud"

    def document(self, number: int, name: str) -> Mapping[str, Any] | None:
        """CHANGE, VERDICT or PROPOSAL of an iteration, or None."""
        path = self.iteration(number).folder / name
        content: Mapping[str, Any] | None = load_json(path) if path.is_file() else None
        return content

    @property
    def held_out(self) -> Place:
        """What was held out."""
        return Place(self.folder / "held_out")

    @property
    def numbers(self) -> list[int]:
        """Iterations that were begun: their agent and how it came about are there."""
        found = [int(path.parent.name) for path in self.folder.glob(f"iterations/*/{CHANGE}")]
        return sorted(found)

    def verdicts(self) -> list[Mapping[str, Any]]:
        """All verdicts in order."""
        found = (self.document(number, VERDICT) for number in self.numbers)
        return [one for one in found if one is not None]

    def history(self) -> History:
        """Everything, as the fold takes it."""
        proposals = {number: self.document(number, PROPOSAL) for number in self.numbers}
        return History(
            iterations=tuple(self._iteration(number, proposals[number]) for number in self.numbers),
            held_out_attempted=self.held_out.attempted,
            held_out_judged=self.held_out.judged,
            gave_up=any(one is not None and not one["diff"].strip() for one in proposals.values()),
        )

    def _iteration(self, number: int, proposal: Mapping[str, Any] | None) -> Iteration:
        place, change = self.iteration(number), self.document(number, CHANGE) or {}
        return Iteration(
            number=number,
            skipped=bool(change["refusal"]),
            attempted=place.attempted,
            judged=place.judged,
            verdict=self.document(number, VERDICT),
            proposed=proposal is not None,
        )
