"""T1, T3 and T4: in which order things were freed, what was done after a failure, and what was done for nothing."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from sophron.agentbuild.case_run import CaseRun, Checked, Fault, Json, grave, is_explained, minor
from sophron.agentbuild.checks import cycles

NO_CALLS: Json = {"calls": [], "states": []}


def order(run: CaseRun, parameters: Json) -> Checked:
    """What must be settled before a group is free was free in an earlier cycle that ended well.

    parameters: `before`, a list of {groups, needs}: each of `groups` wants all of `needs` first (McCusker 1999,
    10.1107/S0021889898009856: background and scale, cell, profile, atoms). Diagnostic cycles count as any other.
    """
    faults, settled = [], dict[int | None, frozenset[str]]()
    done = cycles.cycles(run.trajectory or NO_CALLS)
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
    done, faults = cycles.cycles(trajectory), []
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
        kept = cycles.state(trajectory, run.report["state"])
        if kept is not None and kept["call"] in {cycle.number for cycle in bad}:
            faults.append(grave("failure_reported", "the reported state is that of a cycle that failed"))
    return Checked(tuple(faults), f"{len(bad)} of {len(done)} cycles did not end well")


def _was_fitted(trajectory: Json, number: int | None) -> bool:
    """Whether a cycle made this state; the start of a model, which its first cycle is asked for, is none."""
    found = None if number is None else cycles.state(trajectory, number)
    return found is not None and found["rwp_percent"] is not None


def _told(run: CaseRun) -> Iterator[str]:
    for call in cycles.calls(run.trajectory or NO_CALLS):
        if call["decision"]:
            yield call["decision"]
    yield from (run.report or {}).get("decisions", [])


def economy(run: CaseRun, parameters: Json) -> Checked:
    """No call is made twice in a row, no cycle is run again from the same state, and no state is left and sought again.

    parameters: `calls`, how many at most; `repeats`, how many repeated calls are no fault.
    """
    trajectory = run.trajectory or NO_CALLS
    made, faults = cycles.calls(trajectory), []
    twins = [(one, two) for one, two in pairwise(made) if _same(one, two)]
    if len(twins) > parameters["repeats"]:
        last = twins[-1][1]
        faults.append(grave("call_repeated", f"{len(twins)} calls repeat the one before, such as {last['tool']}"))
    seen, again = set[Any](), 0
    for cycle in cycles.cycles(trajectory):
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
