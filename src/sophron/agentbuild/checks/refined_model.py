"""D1 to D4: the reported model of a refinement: its phases and their amounts, its fit, and what the sample can have.

AgentBuild, table II.
"""

import math
from collections.abc import Iterable, Iterator
from typing import cast

from sophron.agentbuild.checks import procedure
from sophron.agentbuild.rubric import CaseRun, Checked, Fault, Json, grave, is_explained, minor
from sophron.interfaces.rietveld import Group
from sophron.records.errors import UserError
from sophron.science.rietveld.request_validation import check_pair

SAME_WITHIN = 0.01  # of a figure that was copied from what a tool said
GOF_WITHIN = 0.05
"""GOF is Rwp over the expected R factor; engines count variables in the second one differently."""


def indices(run: CaseRun, parameters: Json) -> Checked:
    """The fit has all its indices, they agree with each other and with the trajectory, and lie where they can lie.

    parameters: `lowest_rwp_over_expected`, below which a model fits better than counting allows, so that something
    was fitted that is no signal.
    """
    report = run.report or {}
    fit = report.get("fit")
    if fit is None and not is_explained(run.reference):
        return Checked((), "no fit, as nothing that was given explains the pattern")
    if fit is None:
        return Checked((grave("fit_absent", "the report has no fit indices"),), "no fit")
    said = f"Rwp({fit['rwp_engine']}) {fit['rwp_percent']:.2f} %, expected {fit['r_expected_percent']:.2f} %"
    faults = [
        *_finite(fit),
        *_consistent(report, fit),
        *_as_reached(run, report, fit),
        *_plausible(run.reference, fit, parameters["lowest_rwp_over_expected"]),
    ]
    return Checked(tuple(faults), said)


def _finite(fit: Json) -> Iterator[Fault]:
    for key in ("rwp_percent", "rp_percent", "r_expected_percent", "chi2", "gof"):
        if not (math.isfinite(fit[key]) and fit[key] > 0):
            yield grave("fit_no_number", f"{key} is {fit[key]}", key=key)


def _consistent(report: Json, fit: Json) -> Iterator[Fault]:
    if fit["rwp_engine"] != report["engine"]:
        yield grave("fit_engine", f"Rwp is one of {fit['rwp_engine']}, the report one of {report['engine']}")
    if fit["r_expected_percent"] > 0:
        wanted = fit["rwp_percent"] / fit["r_expected_percent"]
        if abs(fit["gof"] - wanted) > GOF_WITHIN * wanted:
            yield grave("fit_inconsistent", f"GOF is {fit['gof']:.3f}, Rwp over expected is {wanted:.3f}")
    counted = len(report["refined"]["parameters"])
    # Edges that symmetry keeps equal are listed each, so that there may be more parameters than variables.
    if not fit["variables"] == report["refined"]["count"] <= counted:
        yield grave(
            "fit_variables",
            f"{fit['variables']} variables, {report['refined']['count']} refined, {counted} parameters are listed",
        )
    if not report["converged"]:
        yield grave("fit_unconverged", "the reported model did not converge")


def _as_reached(run: CaseRun, report: Json, fit: Json) -> Iterator[Fault]:
    """The trajectory is written by the tools: a figure that no tool gave is not the figure of this refinement."""
    trajectory = run.trajectory or {"states": [], "calls": [], "engine": report["engine"]}
    reached = procedure.state(trajectory, report["state"])
    if reached is None:
        yield grave("state_unknown", f"the report speaks of state {report['state']}, which no tool made")
        return
    if report["engine"] != trajectory["engine"]:
        yield grave("fit_engine", f"the tools ran {trajectory['engine']}, the report says {report['engine']}")
    for key, name in (("rwp_percent", "Rwp"), ("gof", "GOF")):
        if reached[key] is None or abs(fit[key] - reached[key]) > SAME_WITHIN * max(abs(reached[key]), 1e-9):
            yield grave("fit_not_reached", f"{name} is {fit[key]:.4g}, the tools reached {reached[key]}", key=key)
    if reached["variables"] != fit["variables"]:
        yield grave("fit_not_reached", f"{fit['variables']} variables, the state has {reached['variables']}")
    made = next((one for one in procedure.cycles(trajectory) if one.number == reached["call"]), None)
    if report["converged"] and (made is None or made.ended != "converged"):
        yield grave("fit_unconverged", "the cycle that made the reported state did not converge")


def _plausible(reference: Json, fit: Json, lowest: float) -> Iterator[Fault]:
    if fit["r_expected_percent"] > 0 and fit["rwp_percent"] / fit["r_expected_percent"] < lowest:
        yield grave("fit_too_good", f"Rwp lies below {lowest:g} of what counting allows")
    band = reference["fit"]["rwp_percent"].get(fit["rwp_engine"])
    if band is None:
        yield minor("fit_unjudged", f"the reference has no Rwp of {fit['rwp_engine']}")
    elif not band[0] <= fit["rwp_percent"] <= band[1]:
        yield grave("fit_beyond", f"Rwp {fit['rwp_percent']:.2f} % lies outside what a competent analysis reaches")
    observations = reference["fit"].get("observations")
    if observations is not None and not observations[0] <= fit["observations"] <= observations[1]:
        yield grave("fit_range", f"{fit['observations']} points are fitted, of a pattern that has other ones")


SUM_WITHIN = 0.005


def identity(run: CaseRun, parameters: Json) -> Checked:
    """Every phase of the reference is claimed or not as it should be, and nothing else is claimed.

    parameters: `significance`, the least scale over its deviation from counting for which a candidate may be claimed.
    A phase whose reference says `open` may be reported either way: the counts do not decide.
    """
    report = _report(run)
    reported = {one["name"]: one for one in report["phases"]}
    wanted = {one["name"]: one for one in run.reference["phases"]}
    faults = [*_repeated(report), *_as_wanted(reported, wanted, procedure.counts(run.trajectory or {"calls": []}))]
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
    held = procedure.state(run.trajectory or {"states": []}, _report(run)["state"])
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


PPM = 1e-6
LARGEST_DISPLACEMENT_MM = 1.0
LARGEST_ZERO_DEG = 0.5


def plausible(run: CaseRun, parameters: Json) -> Checked:
    """Cells within the reference's bounds, parameters within physical ones, zero and displacement never both free.

    parameters: `u_iso_angstrom2`, least and largest displacement parameter; `deviations`, by how many of its own
    standard deviations a parameter may lie beyond a bound before it is one of the model.
    """
    report, trajectory = run.report or {"phases": [], "refined": {"parameters": []}}, run.trajectory or {"calls": []}
    faults = [
        *(fault for one in run.reference["phases"] for fault in _cell(report, one)),
        *(fault for one in report["refined"]["parameters"] for fault in _bounds(one, parameters, run)),
        *_trap(trajectory),
    ]
    names = [f"{one['name']} {axis}" for one in report["phases"] for axis in one["cell"]]
    return Checked(tuple(faults), f"cells looked at: {', '.join(names) or 'none'}")


def _cell(report: Json, reference: Json) -> Iterator[Fault]:
    """A main phase's cell may be off by what its reference allows, in parts per million."""
    name, wanted = reference["name"], reference.get("cell", {})
    phase = next((one for one in report["phases"] if one["name"] == name and one["in_model"]), None)
    if phase is None:
        return
    for axis, bounds in wanted.items():
        if axis not in phase["cell"]:
            yield grave("cell_absent", f"the cell of {name} has no {axis}", phase=name)
            continue
        off = (phase["cell"][axis]["value"] / bounds["value"] - 1) / PPM
        if abs(off) > bounds["within_ppm"]:
            yield grave(
                "cell_impossible", f"{axis} of {name} is {off:+.0f} ppm from where the sample's lies", phase=name
            )


def _bounds(parameter: Json, parameters: Json, run: CaseRun) -> Iterator[Fault]:
    name, value, esd = parameter["name"], parameter["value"], parameter["esd"] or 0.0
    group = name.split("/")[0]
    low, high = _limits(group, parameters)
    about = {"group": group, "counts": procedure.counts(run.trajectory or {"calls": []})}
    slack = parameters["deviations"] * esd
    if low is not None and not low - slack <= value <= (high if high is not None else value) + slack:
        yield grave("value_impossible", f"{name} is {value:.4g}", parameter=name, **about)
    elif low is not None and esd > abs(value) > 0 and group == "u_iso":
        yield minor("value_undetermined", f"{name} is {value:.4g} with a deviation of {esd:.2g}", **about)


def _limits(group: str, parameters: Json) -> tuple[float | None, float | None]:
    least, largest = parameters["u_iso_angstrom2"]
    known: dict[str, tuple[float, float | None]] = {
        "u_iso": (least, largest),
        "occupancy": (0.0, 1.0),
        "scale": (0.0, None),
        "size": (0.0, None),
        "strain": (0.0, None),
        "displacement": (-LARGEST_DISPLACEMENT_MM, LARGEST_DISPLACEMENT_MM),
        "zero": (-LARGEST_ZERO_DEG, LARGEST_ZERO_DEG),
    }
    return known.get(group, (None, None))


def _trap(trajectory: Json) -> Iterator[Fault]:
    """The same predicate that the engine layer refuses with, over every cycle: a lower Rwp, and a wrong cell."""
    moved: dict[int | None, frozenset[str]] = {}
    for cycle in procedure.cycles(trajectory):
        before = moved.get(cycle.before, frozenset())
        try:
            check_pair(cast("Iterable[Group]", cycle.groups), cast("Iterable[Group]", before))
        except UserError:
            yield grave("zero_and_displacement", f"call {cycle.number} frees zero and displacement on one way")
        if cycle.well:
            moved[cycle.after] = before | cycle.groups
