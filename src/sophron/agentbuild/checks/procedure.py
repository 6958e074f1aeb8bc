"""T1, T3, T4 and T5: how a refinement went, read from its trajectory.

In which order things were freed, what was done after a failure, what was done for nothing, and which plots were seen.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sophron.agentbuild.rubric import CaseRun, Checked, Fault, Json, grave, is_explained, minor

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


NO_CALLS: Json = {"calls": [], "states": []}


def order(run: CaseRun, parameters: Json) -> Checked:
    """What must be settled before a group is free was free in an earlier cycle that ended well.

    parameters: `before`, a list of {groups, needs}: each of `groups` wants all of `needs` first (McCusker 1999,
    10.1107/S0021889898009856: background and scale, cell, profile, atoms). Diagnostic cycles count as any other.
    """
    faults, settled = [], dict[int | None, frozenset[str]]()
    done = cycles(run.trajectory or NO_CALLS)
    for cycle in done:
        earlier = settled.get(cycle.before, frozenset())
        for rule in parameters["before"]:
            released = sorted(cycle.groups & set(rule["groups"]))
            lacking = sorted(set(rule["needs"]) - earlier)
            if released and lacking:
                said = f"call {cycle.number} frees {', '.join(released)} before {', '.join(lacking)} was settled"
                faults.append(grave("released_early", said, groups=released, needs=lacking))
        if cycle.well:
            settled[cycle.after] = earlier | cycle.groups
    if not any(cycle.well for cycle in done) and (is_explained(run.reference) or not done):
        faults.append(grave("nothing_refined", "no cycle ended well"))
    return Checked(tuple(_once(faults)), f"{len(done)} cycles")


def _once(faults: list[Fault]) -> Iterator[Fault]:
    """One fault a pair of groups and needs: a fault that lasts is one fault."""
    seen = []
    for fault in faults:
        key = (fault.code, fault.about)
        if key not in seen:
            seen.append(key)
            yield fault


def recovery(run: CaseRun, parameters: Json) -> Checked:
    """After a cycle that failed the model is rolled back, and the same is not tried again as it was.

    parameters: none are read. A run without a failure has nothing to recover from.
    """
    del parameters
    trajectory = run.trajectory or NO_CALLS
    done, faults = cycles(trajectory), []
    bad = [cycle for cycle in done if not cycle.well]
    for cycle in bad:
        following = next((one for one in done if one.number > cycle.number), None)
        if following and following.freed == cycle.freed and following.before == cycle.before:
            faults.append(
                grave("failure_repeated", f"call {following.number} repeats what failed in call {cycle.number}")
            )
        if cycle.after != cycle.before and _was_fitted(trajectory, cycle.after):
            faults.append(grave("failure_kept", f"the model that failed in call {cycle.number} was gone on with"))
    told = " ".join(_told(run)).casefold()
    if bad and not any(word in told for word in ("diverg", "fail", "roll", "back", "did not converge", "ran out")):
        faults.append(minor("failure_untold", "a cycle failed and no decision speaks of it"))
    if bad and run.report is not None and run.report["fit"] is not None:
        kept = state(trajectory, run.report["state"])
        if kept is not None and kept["call"] in {cycle.number for cycle in bad}:
            faults.append(grave("failure_reported", "the reported state is that of a cycle that failed"))
    return Checked(tuple(faults), f"{len(bad)} of {len(done)} cycles did not end well")


def _was_fitted(trajectory: Json, number: int | None) -> bool:
    """Whether a cycle made this state; the start of a model, which its first cycle is asked for, is none."""
    found = None if number is None else state(trajectory, number)
    return found is not None and found["rwp_percent"] is not None


def _told(run: CaseRun) -> Iterator[str]:
    for call in calls(run.trajectory or NO_CALLS):
        if call["decision"]:
            yield call["decision"]
    yield from (run.report or {}).get("decisions", [])


def economy(run: CaseRun, parameters: Json) -> Checked:
    """No call is made twice in a row, no cycle is run again from the same state, and no state is left and sought again.

    parameters: `calls`, how many at most; `repeats`, how many repeated calls are no fault.
    """
    trajectory = run.trajectory or NO_CALLS
    made, faults = calls(trajectory), []
    twins = [(one, two) for one, two in pairwise(made) if _same(one, two)]
    if len(twins) > parameters["repeats"]:
        last = twins[-1][1]
        faults.append(grave("call_repeated", f"{len(twins)} calls repeat the one before, such as {last['tool']}"))
    seen, again = set[Any](), 0
    for cycle in cycles(trajectory):
        key = (cycle.before, cycle.freed)
        again += key in seen
        seen.add(key)
    if again > parameters["repeats"]:
        faults.append(grave("cycle_repeated", f"{again} cycles were run again from the same state"))
    if len(made) > parameters["calls"]:
        faults.append(grave("calls_many", f"{len(made)} calls, at most are {parameters['calls']}", calls=len(made)))
    return Checked(tuple(faults), f"{len(made)} calls")


def _same(one: Json, two: Json) -> bool:
    return all(one[key] == two[key] for key in ("tool", "arguments", "state"))


DEG_WITHIN = 0.5


def seen(run: CaseRun, parameters: Json) -> Checked:
    """The reported state was shown whole and in windows, what is read was shown, and something was decided after it.

    parameters: `windows`, how many different ones at least; `widest_deg`, how wide a window may be in degrees 2 theta.
    The trajectory holds the digest of every picture that a tool gave: a plot that is not there was not looked at.
    """
    trajectory, report = run.trajectory or {"calls": [], "states": []}, run.report or {}
    shown = list(plots(trajectory))
    final = [plot for _, state, plot in shown if state == report["state"]]
    windows = {
        (round(plot["low_deg"], 1), round(plot["high_deg"], 1))
        for plot in final
        if not plot["whole"] and plot["high_deg"] - plot["low_deg"] <= parameters["widest_deg"]
    }
    faults = [*_read_unseen(report, shown)]
    if not any(plot["whole"] for plot in final):
        faults.append(grave("plot_whole_absent", "the whole pattern of the reported state was never looked at"))
    if len(windows) < parameters["windows"]:
        said = f"{len(windows)} windows of the reported state were looked at"
        faults.append(grave("plot_windows_few", said, wanted=parameters["windows"], widest=parameters["widest_deg"]))
    if shown and not any(call["decision"] for call in calls(trajectory) if call["number"] > shown[0][0]):
        faults.append(grave("plot_unused", "nothing was decided after the first plot"))
    return Checked(tuple(faults), f"{len(shown)} plots, {len(final)} of the reported state")


def _read_unseen(report: Json, shown: list[tuple[int, int | None, Json]]) -> Iterator[Fault]:
    for one in report["plots"]:
        if not any(state == one["state"] and _is_of(one, plot) for _, state, plot in shown):
            yield grave("plot_unseen", f"a plot of state {one['state']} is read that no tool showed")
            return


def _is_of(told: Json, plot: Json) -> bool:
    return bool(
        told["whole"] == plot["whole"]
        and abs(told["low_deg"] - plot["low_deg"]) <= DEG_WITHIN
        and abs(told["high_deg"] - plot["high_deg"]) <= DEG_WITHIN
    )
