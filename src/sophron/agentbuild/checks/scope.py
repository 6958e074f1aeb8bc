"""T2: the freedom that was taken is that which the counts and the protocol of the case allow (AgentBuild, table II)."""

from collections.abc import Iterator, Mapping

from sophron.agentbuild.case_run import CaseRun, Checked, Fault, Json, grave, is_explained
from sophron.agentbuild.checks import cycles


def scope(run: CaseRun, parameters: Json) -> Checked:
    """On the way to the reported state nothing was free that the reference does not allow; what it asks for was.

    parameters: none are read. The reference's `scope` has `may` (groups beyond which nothing is free in a main phase),
    `candidate` (the same for a phase that may be there), `must` (groups that a competent analysis frees), `most`
    (variables of the reported model) and `weights` (where the variances must come from).
    """
    del parameters
    wanted, report = run.reference["scope"], run.report or {}
    trajectory = run.trajectory or {"calls": [], "states": []}
    unfitted = report["fit"] is None and not is_explained(run.reference)
    way = [] if unfitted else cycles.way(trajectory, report["state"])
    roles = {one["name"]: one["role"] for one in report["phases"]}
    freed = {one for cycle in way for one in cycle.freed}
    said = ", ".join(sorted({group for group, _ in freed}))
    faults = [
        *_beyond(freed, wanted, roles, run),
        *(() if unfitted else _short(freed, wanted, run)),
        *_reported(report, way),
        *_counted(report, wanted),
        *_weighed(trajectory, report, wanted, run),
    ]
    counts = cycles.counts(trajectory)
    return Checked(tuple(faults), f"free on the way: {said or 'nothing'}", {} if counts is None else {"counts": counts})


def _counts(run: CaseRun) -> Json:
    """How good the pattern is, so that a fault says at which counts it is one."""
    return {"counts": cycles.counts(run.trajectory or {"calls": []})}


def _beyond(freed: set[cycles.Freed], wanted: Json, roles: Mapping[str, str], run: CaseRun) -> Iterator[Fault]:
    for group, phase in sorted(freed, key=str):
        role = roles.get(phase or "", "main")
        allowed = wanted["candidate"] if role == "candidate" else wanted["may"]
        if group not in allowed:
            whose = f" of {phase}" if phase else ""
            yield grave(
                "freed_beyond",
                f"{group}{whose} was free, beyond what these counts allow",
                group=group,
                role=role,
                **_counts(run),
            )


def _short(freed: set[cycles.Freed], wanted: Json, run: CaseRun) -> Iterator[Fault]:
    groups = {group for group, _ in freed}
    for group in wanted["must"]:
        if group not in groups:
            yield grave(
                "freed_short", f"{group} was never free, and these counts ask for it", group=group, **_counts(run)
            )


def _reported(report: Json, way: list[cycles.Cycle]) -> Iterator[Fault]:
    """What the report says was free is what was free in the cycle that made its state."""
    told = {(one["group"], one["phase"]) for one in report["refined"]["groups"]}
    last = way[-1].freed if way else frozenset()
    if told != last:
        yield grave("freed_untold", f"the report speaks of {len(told)} groups, the tools freed {len(last)}")


def _counted(report: Json, wanted: Json) -> Iterator[Fault]:
    count = report["refined"]["count"]
    if count > wanted["most"]:
        yield grave("variables_many", f"{count} variables in the reported model", count=count)


def _weighed(trajectory: Json, report: Json, wanted: Json, run: CaseRun) -> Iterator[Fault]:
    state = cycles.state(trajectory, report["state"])
    if wanted.get("weights") and (state is None or state["weights"] != wanted["weights"]):
        said = "unknown" if state is None else state["weights"]
        yield grave(
            "weights", f"weights are {said}, these counts ask for {wanted['weights']}", weights=said, **_counts(run)
        )
