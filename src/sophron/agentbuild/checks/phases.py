"""D1 and D2: which phases the report says are there, and how much of each (AgentBuild, table II)."""

from collections.abc import Iterator

from sophron.agentbuild.case_run import CaseRun, Checked, Fault, Json, grave, is_explained, minor
from sophron.agentbuild.checks import cycles

SUM_WITHIN = 0.005


def identity(run: CaseRun, parameters: Json) -> Checked:
    """Every phase of the reference is claimed or not as it should be, and nothing else is claimed.

    parameters: `significance`, the least scale over its deviation from counting for which a candidate may be claimed.
    A phase whose reference says `open` may be reported either way: the counts do not decide.
    """
    report = _report(run)
    reported = {one["name"]: one for one in report["phases"]}
    wanted = {one["name"]: one for one in run.reference["phases"]}
    faults = [*_repeated(report), *_as_wanted(reported, wanted, cycles.counts(run.trajectory or {"calls": []}))]
    for name, phase in reported.items():
        if name not in wanted and phase["claimed"]:
            faults.append(grave("phase_false", f"{name} is claimed and is none of the sample's phases", phase=name))
        if phase["claimed"]:
            faults += _unfounded(run, phase, parameters["significance"])
    claimed = sorted(name for name, phase in reported.items() if phase["claimed"])
    return Checked(tuple(faults), f"claimed: {', '.join(claimed) or 'nothing'}")


def _report(run: CaseRun) -> Json:
    if run.report is None:
        raise ValueError("a run without a report has no phases")
    return run.report


def _repeated(report: Json) -> Iterator[Fault]:
    names = [one["name"] for one in report["phases"]]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield grave("phase_twice", f"{name} stands twice in the report", phase=name)


def _as_wanted(reported: Json, wanted: Json, counts: float | None) -> Iterator[Fault]:
    for name, reference in wanted.items():
        claimed = name in reported and reported[name]["claimed"]
        about = {"phase": name, "role": reported.get(name, {}).get("role"), "counts": counts}
        if reference["claim"] == "yes" and not claimed:
            yield grave("phase_missed", f"{name} is not claimed, and the pattern shows it", **about)
        if reference["claim"] == "no" and claimed:
            yield grave("phase_overclaimed", f"{name} is claimed, and the pattern does not show it", **about)
        if name not in reported and reference["claim"] != "yes":
            yield minor("phase_unmentioned", f"{name} was given and the report does not speak of it", phase=name)


def _unfounded(run: CaseRun, phase: Json, significance: float) -> Iterator[Fault]:
    """A claim rests on fields: the phase is in the reported model, and a candidate is significant there."""
    name = phase["name"]
    if not phase["in_model"]:
        yield grave("claim_without_model", f"{name} is claimed and is not in the reported model", phase=name)
    held = cycles.state(run.trajectory or {"states": []}, _report(run)["state"])
    if held is not None and name not in held["phases"]:
        yield grave("claim_without_model", f"{name} is claimed; the state reported has no such phase", phase=name)
    if phase["role"] == "candidate" and (phase["significance"] is None or phase["significance"] < significance):
        said = "no significance" if phase["significance"] is None else f"a significance of {phase['significance']:.1f}"
        yield grave("claim_insignificant", f"{name} is claimed with {said}, at least {significance:g} is", phase=name)


def fractions(run: CaseRun, parameters: Json) -> Checked:
    """Weight fractions are there, add up to 1, and lie within the reference's bands for major and minor phases.

    parameters: `major` and `minor`, how far a fraction may be from the reference's if that gives no band of its own
    (dimensionless).
    """
    reported = {one["name"]: one for one in _report(run)["phases"] if one["in_model"]}
    faults, said = [], []
    for name, phase in reported.items():
        value, esd = phase["weight_fraction"], phase["weight_fraction_esd"]
        said.append(f"{name} {value if value is None else format(value, '.4f')}")
        if value is None:
            faults.append(grave("fraction_absent", f"{name} is in the model and has no weight fraction", phase=name))
        elif esd is None and len(reported) > 1:
            faults.append(minor("fraction_without_esd", f"the fraction of {name} has no deviation", phase=name))
    total = sum(phase["weight_fraction"] or 0.0 for phase in reported.values())
    if reported and abs(total - 1) > SUM_WITHIN:
        faults.append(grave("fractions_sum", f"the weight fractions add up to {total:.3f}"))
    for reference in run.reference["phases"]:
        if reference["name"] in reported and reference.get("weight_fraction") is not None:
            faults += _beyond(reported[reference["name"]], reference, parameters)
    if not reported and is_explained(run.reference):
        faults.append(grave("fraction_absent", "no phase is in the reported model"))
    return Checked(tuple(faults), f"weight fractions: {', '.join(said) or 'none'}")


def _beyond(phase: Json, reference: Json, parameters: Json) -> Iterator[Fault]:
    """A fraction outside its band; a phase that the report does not claim is held to nothing but its own deviation."""
    value, wanted = phase["weight_fraction"], reference["weight_fraction"]
    band = parameters[reference["amount"]]
    if value is not None and abs(value - wanted) > band:
        yield grave(
            "fraction_beyond",
            f"{phase['name']} has {value:.4f}, more than {band:g} from what a competent analysis finds",
            phase=phase["name"],
        )
