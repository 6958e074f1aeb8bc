"""T5, the computed half: the whole pattern and windows of it were looked at, in the state that is reported."""

from collections.abc import Iterator

from sophron.agentbuild.case_run import CaseRun, Checked, Fault, Json, grave
from sophron.agentbuild.checks import cycles

DEG_WITHIN = 0.5


def seen(run: CaseRun, parameters: Json) -> Checked:
    """The reported state was shown whole and in windows, what is read was shown, and something was decided after it.

    parameters: `windows`, how many different ones at least; `widest_deg`, how wide a window may be in degrees 2 theta.
    The trajectory holds the digest of every picture that a tool gave: a plot that is not there was not looked at.
    """
    trajectory, report = run.trajectory or {"calls": [], "states": []}, run.report or {}
    shown = list(cycles.plots(trajectory))
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
    if shown and not any(call["decision"] for call in cycles.calls(trajectory) if call["number"] > shown[0][0]):
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
