"""What comes next in a build: a pure function of what stands on disk (AgentBuild, section II-C).

Selection: a change starts from the agent that met most thresholds on the suite that is active now. A pass under
P-strict opens the next tier, and the same agent is tried on it before anything is changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sophron.agentbuild import curriculum, judge
from sophron.agentbuild.curriculum import Curriculum

Verdict = Mapping[str, Any]
Doing = Literal["begin", "attempt", "judge", "conclude", "propose", "held_out", "judge_held_out", "end"]


@dataclass(frozen=True)
class Action:
    """One thing to do. iteration: its number, 0 for what comes after the last; reason: of an end."""

    doing: Doing
    iteration: int = 0
    case: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Iteration:
    """What stands of an iteration. skipped: its change did not stand; verdict, proposed: whether they are there."""

    number: int
    skipped: bool
    attempted: frozenset[str]
    judged: frozenset[str]
    verdict: Verdict | None
    proposed: bool


@dataclass(frozen=True)
class History:
    """All that stands of a build. gave_up: the meta-optimizer had nothing to change."""

    iterations: tuple[Iteration, ...]
    held_out_attempted: frozenset[str]
    held_out_judged: frozenset[str]
    gave_up: bool = False

    @property
    def passed(self) -> list[bool]:
        """Whether each concluded iteration passed under P-strict, in order."""
        return [bool(one.verdict["p_strict"]) for one in self.iterations if one.verdict is not None]


def next_action(history: History, graded: Curriculum, most: int) -> Action:
    """What to do next. most: iterations at most, the bound that was declared."""
    if not history.iterations:
        return Action("begin", 1)
    last = history.iterations[-1]
    if last.verdict is None:
        return _within(last, active(history, graded))
    if last.verdict["saturated"]:
        return _afterwards(history, graded)
    return _end(history, last, most) or _next(last)


def _end(history: History, last: Iteration, most: int) -> Action | None:
    if history.gave_up:
        return Action("end", reason="the meta-optimizer had nothing to change")
    if last.number >= most:
        return Action("end", reason=f"{most} iterations were made, as many as were declared")
    return None


def _next(last: Iteration) -> Action:
    passed = last.verdict is not None and last.verdict["p_strict"]
    return Action("begin", last.number + 1) if passed or last.proposed else Action("propose", last.number)


def active(history: History, graded: Curriculum) -> tuple[str, ...]:
    """The cases of the iteration that is not concluded yet; none where its change did not stand."""
    if history.iterations and history.iterations[-1].skipped:
        return ()
    return graded.active(curriculum.tiers_open(graded, history.passed))


def _within(one: Iteration, cases: Sequence[str]) -> Action:
    for case in cases:
        if case not in one.attempted:
            return Action("attempt", one.number, case)
    for case in cases:
        if case not in one.judged:
            return Action("judge", one.number, case)
    return Action("conclude", one.number)


def _afterwards(history: History, graded: Curriculum) -> Action:
    """The held-out cases, once each, with the agent that passed; what they come to changes nothing in it."""
    for case in graded.held_out:
        if case not in history.held_out_attempted:
            return Action("held_out", case=case)
    for case in graded.held_out:
        if case not in history.held_out_judged:
            return Action("judge_held_out", case=case)
    return Action("end", reason="the last tier passed under P-strict")


@dataclass(frozen=True)
class Course:
    """What an iteration is judged against. earlier: the verdicts before it, in order."""

    graded: Curriculum
    thresholds: Mapping[str, int]
    earlier: Sequence[Verdict]


def conclude(
    number: int, agent: str, cards: Mapping[str, Mapping[str, Any]], course: Course, *, skipped: str = ""
) -> dict[str, Any]:
    """The verdict of an iteration, a document that fits `build/verdict`.

    agent: its digest; cards: case -> scorecard of every active case; skipped: why nothing was run.
    """
    graded, thresholds, earlier = course.graded, course.thresholds, course.earlier
    before = [bool(one["p_strict"]) for one in earlier]
    tiers = curriculum.tiers_open(graded, before)
    cases = () if skipped else graded.active(tiers)
    scores = {case: judge.scores(card) for case, card in cards.items()}
    missed = curriculum.misses(scores, cases, thresholds)
    passed = curriculum.p_strict(scores, cases, thresholds)
    wanted = len(cases) * len(thresholds)
    met = wanted - len(missed)
    rivals = [one for one in earlier if one["tiers"] == tiers and not one["skipped"]]
    leader = max(rivals, key=lambda one: (_merit(one["crashed"], one["met"]), one["iteration"]), default=None)
    crashed = [case for case, card in cards.items() if not card["screening"]["passed"]]
    behind = leader is not None and _merit(crashed, met) < _merit(leader["crashed"], leader["met"])
    best = leader["iteration"] if leader is not None and (behind or skipped) else number
    return {
        "iteration": number,
        "tiers": tiers,
        "active": list(cases),
        "agent": agent,
        "skipped": skipped,
        "p_strict": passed,
        "saturated": curriculum.is_saturated(graded, [*before, passed]),
        "met": met,
        "wanted": wanted,
        "misses": [
            {"case": one.case, "code": one.code, "score": one.score, "threshold": one.threshold} for one in missed
        ],
        "crashed": crashed,
        "regressed": behind and not skipped,
        "best": best,
    }


def _merit(crashed: Sequence[str], met: int) -> tuple[bool, int]:
    """An agent that runs through its cases comes before one that does not, whatever that one scored."""
    return not crashed, met
