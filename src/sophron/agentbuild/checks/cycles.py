"""Read the trajectory of a refinement: its cycles in order, and the way to the reported state."""

from collections.abc import Iterator
from dataclasses import dataclass

from sophron.agentbuild.case_run import Json

ENDED_WELL = ("converged", "unfinished")
Freed = tuple[str, str | None]


@dataclass(frozen=True)
class Cycle:
    """One call that refined. groups: what was free, as names; freed: (group, phase); after: state that it led to."""

    number: int
    groups: frozenset[str]
    freed: frozenset[Freed]
    ended: str
    before: int | None
    after: int | None

    @property
    def well(self) -> bool:
        """Whether it left a state to go on from."""
        return self.ended in ENDED_WELL


def calls(trajectory: Json) -> list[Json]:
    """All calls in order."""
    found: list[Json] = list(trajectory["calls"])
    return found


def counts(trajectory: Json) -> float | None:
    """Counts of the whole pattern, as a tool said them; None if none did."""
    said = [call["numbers"]["counts"] for call in calls(trajectory) if call["numbers"].get("counts")]
    return float(said[0]) if said else None


def cycles(trajectory: Json) -> list[Cycle]:
    """All calls that refined, in order."""
    found, current = [], None
    for call in calls(trajectory):
        if call["free"] is not None and call["ended"] is not None:
            freed = frozenset((one["group"], one["phase"]) for one in call["free"])
            groups = frozenset(group for group, _ in freed)
            found.append(Cycle(call["number"], groups, freed, call["ended"], current, call["state"]))
        current = call["state"]
    return found


def state(trajectory: Json, number: int) -> Json | None:
    """The state with this number, or None."""
    return next((one for one in trajectory["states"] if one["number"] == number), None)


def lineage(trajectory: Json, number: int) -> list[int]:
    """The states from the first to `number`, by their parents; it ends where a number repeats or is not there."""
    found: list[int] = []
    at: int | None = number
    while at is not None and at not in found:
        here = state(trajectory, at)
        if here is None:
            break
        found.append(at)
        at = here["parent"]
    return found[::-1]


def way(trajectory: Json, number: int) -> list[Cycle]:
    """The cycles that led to a state, in order."""
    numbers = lineage(trajectory, number)
    made_by = {state["call"]: state["number"] for state in trajectory["states"] if state["number"] in numbers}
    return [cycle for cycle in cycles(trajectory) if cycle.number in made_by]


def plots(trajectory: Json) -> Iterator[tuple[int, int | None, Json]]:
    """(call, state, plot) of every picture that was shown."""
    for call in calls(trajectory):
        if call["plot"] is not None:
            yield call["number"], call["state"], call["plot"]
