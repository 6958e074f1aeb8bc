"""Stage refine: what an agent reported, recomputed from the model that it left; a report is not believed."""

from __future__ import annotations

import shutil
from pathlib import Path

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.interfaces.rietveld import Cycle, Request, RietveldEngine
from sophron.records import documents, entry_points
from sophron.records.errors import UserError
from sophron.records.files import write_json, write_text
from sophron.records.typed_json import from_json, to_json
from sophron.science.rietveld import convergence, plots, refined_cif, report_check
from sophron.science.rietveld.data import REGISTRY
from sophron.science.rietveld.refinement import save_curves
from sophron.science.rietveld.session import model_files, sample
from sophron.science.rietveld.session.inspection_tools import worst_windows
from sophron.science.rietveld.session.report import Report, fit_numbers, significance
from sophron.science.rietveld.session.trajectory import Calls

RULE = "refinement"
"""The agent rule whose answer this stage takes up."""

REACHED = ("converged", "unfinished")
"""Ends of a cycle that leave a state."""

LIMIT_S = 600.0


def run(ctx: StepContext) -> StepResult:
    """Refine on from the agent's model, with what it had free, until a cycle changes nothing.

    The numbers of the report have to come out again. Raise EngineFailure if there is no model, or if a cycle does not
    end well. What does not stand is a result.
    """
    (answer,) = ctx.upstream[RULE]
    given = sample.load(ctx.one("data").files["sample"])
    engine: RietveldEngine = entry_points.load(REGISTRY, given.engine)()
    try:
        pattern, kept = model_files.read(answer.files["model"], given.pattern)
        request = Request(kept.free, kept.equal, sums=given.sums_in(kept.phases), limit_s=LIMIT_S)
        repeats = convergence.repeated(lambda state: engine.refine(pattern, state, request), kept.state)
    except UserError as error:
        raise EngineFailure(f"the model that the agent left: {error}") from None
    finally:
        engine.close()
    before, cycle = repeats[-1]
    if cycle.fit is None:
        raise EngineFailure(f"one more cycle from the reported model {cycle.ended}: {cycle.reason}")
    trajectory = from_json(Calls, documents.load_json(answer.files["trajectory"]))
    report, recipe = from_json(Report, answer.result), from_json(report_check.Recipe, ctx.definition["recipe"])
    found = report_check.Checked(report, cycle, before, kept, given, recipe, float(ctx.definition["tolerance"]))
    differences = [*found.differences(), *report_check.of_trajectory(report, trajectory)]
    files = _files(ctx.workdir, cycle, given, answer.files["trajectory"])
    shutil.copyfile(answer.files["model"], files["model"])
    write_json(files["report"], dict(answer.result))
    return StepResult(
        {**_result(cycle, found, differences, trajectory), "repeats": len(repeats)},
        files,
        {given.engine: cycle.state.version},
    )


def _result(cycle: Cycle, found: report_check.Checked, differences: list[str], trajectory: Calls) -> dict[str, object]:
    fit = found.fit
    calls = trajectory.calls
    seen = [one.plot for one in calls if one.plot is not None]
    cycles = [one for one in calls if one.ended is not None]
    claimed = [one for one in found.report.phases if one.claimed and one.role == "candidate"]
    least = min((significance(fit, one.name) or 0.0 for one in claimed if one.in_model), default=None)
    return {
        **fit_numbers(fit),
        "variables": fit.variables,
        "observations": fit.observations,
        "stands": not differences,
        "differences": differences,
        "engine": fit.rwp.engine,
        "engine_version": cycle.state.version,
        "converged": cycle.ended == "converged",
        "weights": found.kept.weights,
        "largest_move_over_esd": found.largest_move(),
        "impurities_claimed": len(claimed),
        "least_claimed_significance": least,
        "calls": len(calls),
        "plots_seen": len(seen),
        "whole_plots_seen": sum(one.whole for one in seen),
        "cycles": len(cycles),
        "cycles_failed": sum(one.ended not in REACHED for one in cycles),
        "engine_s": cycle.wall_s,
        "phases": to_json(found.phases()),
        "parameters": {
            one.name: {"value": one.value, "esd": one.esd, "esd_counting": one.esd_counting} for one in fit.parameters
        },
    }


def _files(workdir: Path, cycle: Cycle, given: sample.Sample, trajectory: Path) -> dict[str, Path]:
    fit = cycle.fit
    if fit is None:
        raise EngineFailure("there is no fit to keep")
    outputs = {
        "model": "model.json",
        "structure": "structure.cif",
        "curves": "curves.npz",
        "pattern_plot": "pattern.png",
        "window_plot": "window.png",
        "report": "report.json",
        "trajectory": "trajectory.json",
    }
    files = {key: workdir / name for key, name in outputs.items()}
    there = {one.name for one in fit.phases}
    names = [name for name in given.cifs if name in there]
    write_text(files["structure"], refined_cif.structures(names, given.cifs, cycle.state, fit))
    save_curves(files["curves"], fit.curves)
    plots.pattern_png(fit, files["pattern_plot"])
    worst = worst_windows(fit)[0]
    plots.pattern_png(fit, files["window_plot"], (worst.low_deg, worst.high_deg))
    shutil.copyfile(trajectory, files["trajectory"])
    return files
