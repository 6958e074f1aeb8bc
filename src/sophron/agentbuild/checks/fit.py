"""D3: fit indices are there, are those that the tools reached, and are plausible (AgentBuild, table II)."""

import math
from collections.abc import Iterator

from sophron.agentbuild.case_run import CaseRun, Checked, Fault, Json, grave, is_explained, minor
from sophron.agentbuild.checks import cycles

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
    reached = cycles.state(trajectory, report["state"])
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
    made = next((one for one in cycles.cycles(trajectory) if one.number == reached["call"]), None)
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
