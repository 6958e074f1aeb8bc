"""One iteration of a build: how its agent came about, and what its scorecards come to (AgentBuild, section II-C).

Selection: a change starts from the agent that met most thresholds on the suite that is active now. A pass under
P-strict opens the next tier, and the same agent is tried on it before anything is changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sophron.agentbuild import curriculum
from sophron.agentbuild.contract import Contract
from sophron.agentbuild.curriculum import Miss
from sophron.agentbuild.judge import Scorecard
from sophron.records.documents import load_json
from sophron.records.typed_json import from_json

NOTHING_TO_CHANGE = "the meta-optimizer had nothing to change"
"""The refusal of a proposal without a diff; it ends a build."""


@dataclass(frozen=True)
class Change:
    """How the agent of an iteration came about, `build/mutation` and the diff; by default its parent's copy.

    parent: iteration whose agent was changed, None for the blank one; agent: digest of the agent that is tried;
    refusal: why the diff was rolled back; shared_words: words that the producer knowledge base has too.
    """

    iteration: int = 0
    parent: int | None = None
    targets: tuple[str, ...] = ()
    rationale: str = ""
    refusal: str = ""
    changed: tuple[str, ...] = ()
    shared_words: int = 0
    agent: str = ""
    diff: str = ""


@dataclass(frozen=True)
class Verdict:
    """What the scorecards of an iteration come to, `build/verdict`.

    active: cases that were run; skipped: why none was; met, wanted: thresholds; crashed: cases without a report;
    best: iteration whose agent the next change starts from.
    """

    iteration: int
    tiers: int
    active: tuple[str, ...]
    agent: str
    skipped: str
    p_strict: bool
    saturated: bool
    met: int
    wanted: int
    misses: tuple[Miss, ...]
    crashed: tuple[str, ...]
    regressed: bool
    best: int

    @property
    def merit(self) -> tuple[bool, int]:
        """An agent that runs through its cases comes before one that does not, whatever that one scored."""
        return not self.crashed, self.met


@dataclass(frozen=True)
class Iteration:
    """A concluded iteration, an entry of `history.json`."""

    verdict: Verdict
    change: Change


def read_history(path: Path) -> list[Iteration]:
    """Return the iterations that `history.json` holds, in order."""
    return [from_json(Iteration, entry) for entry in load_json(path)]


def conclude(contract: Contract, change: Change, cards: Mapping[str, Scorecard], earlier: Sequence[Verdict]) -> Verdict:
    """Conclude the iteration that tried `change`.

    cards: case -> scorecard of every active case; earlier: the verdicts before it, in order.
    """
    graded, thresholds = contract.curriculum, contract.rubric.thresholds
    before = [verdict.p_strict for verdict in earlier]
    tiers = curriculum.tiers_open(graded, before)
    cases = () if change.refusal else graded.active(tiers)
    scores = {case: card.scores for case, card in cards.items()}
    missed = curriculum.misses(scores, cases, thresholds)
    passed = curriculum.p_strict(scores, cases, thresholds)
    wanted = len(cases) * len(thresholds)
    met = wanted - len(missed)
    crashed = tuple(case for case, card in cards.items() if not card.screening.passed)
    rivals = [verdict for verdict in earlier if verdict.tiers == tiers and not verdict.skipped]
    leader = max(rivals, key=lambda verdict: (verdict.merit, verdict.iteration), default=None)
    behind = leader is not None and (not crashed, met) < leader.merit
    return Verdict(
        iteration=change.iteration,
        tiers=tiers,
        active=cases,
        agent=change.agent,
        skipped=change.refusal,
        p_strict=passed,
        saturated=curriculum.is_saturated(graded, [*before, passed]),
        met=met,
        wanted=wanted,
        misses=tuple(missed),
        crashed=crashed,
        regressed=behind and not change.refusal,
        best=leader.iteration if leader is not None and (behind or change.refusal) else change.iteration,
    )
