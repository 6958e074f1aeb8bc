"""Computed checks of a report of peaks: pure functions of one run, against what was put into the spectrum.

A reference gives each value with the least standard deviation that counting allows; bounds are multiples of that.
"""

from itertools import pairwise

from sophron.agentbuild.checks.report import SPEAKS_TO_THE_JUDGE, texts
from sophron.agentbuild.rubric import Checked, grave, minor

COPIED_WITHIN = 0.005  # of a figure that was copied from what a tool said


def _fits(run):
    """Results of all fits, by state; a later one of the same number wins."""
    return {call["state"]: call["result"] for call in run.trajectory["calls"] if call["tool"] == "fit" and call["ok"]}


def _pairs(run):
    """(claimed, reference) of equal place by position; None where one of them has no partner."""
    claimed = sorted(run.report["peaks"], key=lambda peak: peak["position"])
    wanted = list(run.reference["peaks"])
    pairs = []
    for reference in wanted:
        reach = max(reference["fwhm"]["value"] / 2, 4 * reference["position"]["sigma"])
        near = [peak for peak in claimed if abs(peak["position"] - reference["position"]["value"]) <= reach]
        best = min(near, key=lambda peak: abs(peak["position"] - reference["position"]["value"]), default=None)
        if best is not None:
            claimed.remove(best)
        pairs.append((best, reference))
    return pairs + [(peak, None) for peak in claimed]


def peaks_claimed(run, parameters):
    """Every peak of the reference is claimed and no other, with a shape that it allows, on its background.

    parameters: none are read but those of its dimension.
    """
    del parameters
    faults = []
    for claimed, reference in _pairs(run):
        if claimed is None:
            at = reference["position"]["value"]
            significance = reference["area"]["value"] / reference["area"]["sigma"]
            faults.append(
                grave("peak_missed", f"no peak is claimed near {at:g}, where one of {significance:.0f} deviations is")
            )
        elif reference is None:
            faults.append(
                grave("peak_not_there", f"a peak is claimed at {claimed['position']:.2f}, where there is none")
            )
        elif claimed["shape"] not in reference["shapes"]:
            said = f"the peak at {claimed['position']:.2f} is called {claimed['shape']}, which the counts exclude"
            faults.append(grave("shape_wrong", said))
    if run.report["background_degree"] < run.reference["background_degree"]:
        faults.append(
            grave("background_flat", f"a background of degree {run.report['background_degree']} is too stiff")
        )
    elif run.report["background_degree"] > run.reference["background_degree"]:
        faults.append(
            minor("background_free", f"degree {run.report['background_degree']} is more than the counts ask for")
        )
    return Checked(
        tuple(faults), f"{len(run.report['peaks'])} peaks are claimed, {len(run.reference['peaks'])} are there"
    )


def peak_values(run, parameters):
    """Position, width and area of each claimed peak are near what was put in. parameters: `deviations`, how near."""
    faults, looked = [], 0
    for claimed, reference in _pairs(run):
        if claimed is None or reference is None:
            continue
        for key in ("position", "fwhm", "area"):
            off = (claimed[key] - reference[key]["value"]) / reference[key]["sigma"]
            looked += 1
            if abs(off) > parameters["deviations"]:
                said = f"{key} of the peak at {claimed['position']:.2f} is {off:+.1f} deviations from what it is"
                faults.append(grave("value_off", said, key=key))
    if not looked:
        faults.append(grave("no_values", "no claimed peak is one that is there"))
    return Checked(tuple(faults), f"{looked} values were compared")


def numbers_reached(run, parameters):
    """The report's numbers are those of a fit that converged, and its deviance is what counting gives.

    parameters: `deviance_per_dof`, [lowest, highest].
    """
    report, fits, faults = run.report, _fits(run), []
    reached = fits.get(report["state"])
    if reached is None:
        return Checked((grave("state_unknown", f"no fit made state {report['state']}"),), f"{len(fits)} fits")
    for key in ("variables", "background_degree"):
        if report[key] != reached[key]:
            faults.append(grave("not_reached", f"{key} is {report[key]}, the tools reached {reached[key]}"))
    if not (report["converged"] and reached["converged"]):
        faults.append(grave("unconverged", "the reported fit did not converge"))
    if abs(report["deviance_per_dof"] - reached["deviance_per_dof"]) > COPIED_WITHIN * reached["deviance_per_dof"]:
        faults.append(
            grave("not_reached", f"deviance is {report['deviance_per_dof']}, reached {reached['deviance_per_dof']}")
        )
    low, high = parameters["deviance_per_dof"]
    if not low <= reached["deviance_per_dof"] <= high:
        faults.append(grave("misfit", f"deviance per degree of freedom is {reached['deviance_per_dof']:.2f}"))
    if len(report["peaks"]) != len(reached["peaks"]):
        faults.append(
            grave("not_reached", f"{len(report['peaks'])} peaks are reported, {len(reached['peaks'])} were fitted")
        )
    else:
        listed = zip(sorted(report["peaks"], key=lambda peak: peak["position"]), reached["peaks"], strict=True)
        faults += [fault for told, one in listed for fault in _copied(told, one)]
    return Checked(tuple(faults), f"{len(fits)} fits; state {report['state']}")


def _copied(told, reached):
    for key in ("position", "position_esd", "fwhm", "fwhm_esd", "area", "area_esd"):
        if abs(told[key] - reached[key]) > COPIED_WITHIN * abs(reached[key]):
            yield grave("not_reached", f"{key} is {told[key]:g}, the tools reached {reached[key]:g}")


def uncertainty_stated(run, parameters):
    """Standard deviations are those of counting, within `factor`; a caveat and an alternative are stated."""
    factor, faults = parameters["factor"], []
    for claimed, reference in _pairs(run):
        for key in ("position", "fwhm", "area") if claimed and reference else ():
            ratio = claimed[f"{key}_esd"] / reference[key]["sigma"]
            if not 1 / factor <= ratio <= factor and claimed["shape"] == reference["shapes"][0]:
                faults.append(
                    grave("esd_wrong", f"deviation of {key} at {claimed['position']:.2f} is {ratio:.2g} of what it is")
                )
    if not run.report["caveats"]:
        faults.append(grave("caveats_absent", "nothing is said of what limits the result"))
    if not run.report["alternatives"]:
        faults.append(grave("alternatives_absent", "no other model is named"))
    if run.report["confidence"] == "high" and any(len(peak["shapes"]) > 1 for peak in run.reference["peaks"]):
        faults.append(grave("confidence_unfounded", "high confidence, where the counts do not tell the shape"))
    return Checked(tuple(faults), f"{len(run.report['caveats'])} caveats, confidence {run.report['confidence']}")


def report_whole(run, parameters):
    """The report has its parts and does not speak to its judge. parameters: `summary_words`, its least length."""
    report, faults = run.report, []
    if any(SPEAKS_TO_THE_JUDGE.search(text) for text in texts(report)):
        faults.append(grave("speaks_to_the_judge", "a text of the report speaks to its reader as a judge"))
    for key in ("decisions", "plots"):
        if not report[key]:
            faults.append(grave(f"{key}_absent", f"the report has no {key}"))
    words = len(report["summary"].split())
    if words < parameters["summary_words"]:
        faults.append(minor("summary_short", f"the summary has {words} words"))
    if len({plot["reading"].strip().casefold() for plot in report["plots"]}) < len(report["plots"]):
        faults.append(grave("readings_repeated", "two plots are read in the same words"))
    return Checked(tuple(faults), f"{len(report['plots'])} readings, {len(report['decisions'])} decisions")


def choice_tested(run, parameters):
    """A model with fewer variables and one with more were fitted too, and neither is better by more than `bic`."""
    fits, faults = _fits(run), []
    chosen = fits.get(run.report["state"])
    if chosen is None:
        return Checked((grave("state_unknown", f"no fit made state {run.report['state']}"),), f"{len(fits)} fits")
    others = [fit for fit in fits.values() if fit["converged"]]
    if not any(fit["variables"] < chosen["variables"] for fit in others):
        faults.append(grave("simpler_untried", "no model with fewer variables was fitted"))
    if not any(fit["variables"] > chosen["variables"] for fit in others):
        faults.append(grave("richer_untried", "no model with more variables was fitted"))
    better = [fit for fit in others if fit["bic"] < chosen["bic"] - parameters["bic"]]
    if better:
        faults.append(
            grave(
                "choice_not_borne_out",
                f"state {better[0]['state']} has a BIC lower by {chosen['bic'] - better[0]['bic']:.1f}",
            )
        )
    return Checked(tuple(faults), f"{len(fits)} fits, BIC {chosen['bic']:.1f}")


def looked_at(run, parameters):
    """The spectrum was shown before a fit, the reported state whole and in `windows` windows; what is read was so."""
    calls, report, faults = run.trajectory["calls"], run.report, []
    shown = [call for call in calls if call["plot"]]
    first = next((call["number"] for call in calls if call["tool"] == "fit"), 0)
    if not any(call["number"] < first for call in shown):
        faults.append(grave("looked_late", "nothing was looked at before the first fit"))
    final = [call["plot"] for call in shown if call["state"] == report["state"]]
    if not any(plot["whole"] for plot in final):
        faults.append(grave("plot_whole_absent", "the reported state was never looked at as a whole"))
    windows = {(plot["low"], plot["high"]) for plot in final if not plot["whole"]}
    if len(windows) < parameters["windows"]:
        faults.append(grave("plot_windows_few", f"{len(windows)} windows of the reported state were looked at"))
    seen = [(call["state"], call["plot"]["low"], call["plot"]["high"]) for call in shown]
    for one in report["plots"]:
        if not any(
            one["state"] == state and abs(one["low"] - low) + abs(one["high"] - high) < 1 for state, low, high in seen
        ):
            faults.append(grave("plot_unseen", f"a plot of state {one['state']} is read that no tool showed"))
            break
    return Checked(tuple(faults), f"{len(shown)} plots, {len(final)} of the reported state")


def few_calls(run, parameters):
    """No call is made twice in a row, more than `repeats` times; there are at most `calls`."""
    calls, faults = run.trajectory["calls"], []
    twins = sum(one["tool"] == two["tool"] and one["arguments"] == two["arguments"] for one, two in pairwise(calls))
    if twins > parameters["repeats"]:
        faults.append(grave("call_repeated", f"{twins} calls repeat the one before"))
    if len(calls) > parameters["calls"]:
        faults.append(grave("calls_many", f"{len(calls)} calls, at most are {parameters['calls']}"))
    return Checked(tuple(faults), f"{len(calls)} calls")
