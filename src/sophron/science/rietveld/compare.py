"""Stage compare: all patterns of a campaign side by side, and one parameter of them as the answer or as a series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult, UpstreamStep
from sophron.records.typed_json import from_json, to_json
from sophron.science.figures import BLUE, saved_figure
from sophron.science.rietveld import series

NORMAL = 1.959964
"""Half-width of a 95 % interval in standard errors."""


@dataclass(frozen=True)
class Row:
    """The parameter of the definition in one pattern. claimed: candidates that its report claims."""

    pattern: str
    value: float
    esd: float | None
    esd_counting: float | None
    rwp_percent: float
    gof: float
    engine: str
    stands: bool
    claimed: tuple[str, ...]


def run(ctx: StepContext) -> StepResult:
    """Return the parameter of the definition from every pattern; EngineFailure if one did not refine it. Draws it.

    One pattern gives an answer. Several give a series and no single value: what they have in common is a model of its
    own, which nobody stated.
    """
    steps = ctx.upstream["refine"]
    name = ctx.definition["parameter"]
    rows = [_row(step, name) for step in steps]
    followers = [from_json(series.Row, row) for step in ctx.upstream.get("series", ()) for row in step.result["rows"]]
    rows += [_followed(row, name) for row in followers if row.stands]
    value, error = (rows[0].value, rows[0].esd) if len(rows) == 1 else (None, None)
    ends = (None, None) if value is None or error is None else (value - NORMAL * error, value + NORMAL * error)
    path = ctx.workdir / "series.svg"
    _draw(path, rows, name)
    result = {
        "value": value,
        "standard_error": error,
        "interval_low": ends[0],
        "interval_high": ends[1],
        "units": ctx.definition["units"],
        "refusal": None if len(rows) == 1 else f"series: {len(rows)} patterns give {name} as a series, not one value",
        "patterns": len(rows),
        "listed": len(steps) + len(followers),
        "without_fit": sum(not row.fitted for row in followers),
        "reports_that_stand": sum(row.stands for row in rows),
        "largest_rwp_percent": max(row.rwp_percent for row in rows),
        "engine": rows[0].engine,
        "rows": to_json(rows),
    }
    return StepResult(result, {"series_plot": path}, {"numpy": np.__version__})


def _row(step: UpstreamStep, name: str) -> Row:
    found = step.result["parameters"].get(name)
    if found is None:
        raise EngineFailure(f"{step.wildcards['pattern']}: {name} was not refined; see its report for why")
    claimed = sorted(one["name"] for one in step.result["phases"] if one["claimed"])
    return from_json(Row, {**step.result, **step.wildcards, **found, "claimed": claimed})


def _followed(row: series.Row, name: str) -> Row:
    """The same of a pattern that followed a lead: nobody reported of it, so it claims nothing."""
    found = row.parameters.get(name)
    if found is None:
        raise EngineFailure(f"{row.pattern}: {name} was not refined; free it in the refinement of the lead")
    return from_json(Row, {**to_json(row), **to_json(found), "claimed": ()})


def _draw(path: Path, rows: Sequence[Row], name: str) -> None:
    with saved_figure(path) as figure:
        axes = figure.subplots()
        at = np.arange(len(rows))
        errors = [row.esd or 0.0 for row in rows]
        axes.errorbar(at, [row.value for row in rows], errors, fmt="o", color=BLUE, markersize=4, capsize=2)
        axes.set_xticks(at, [row.pattern for row in rows] if len(rows) <= 20 else [""] * len(rows))
        axes.set_ylabel(name)
