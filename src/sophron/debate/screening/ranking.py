"""The ranking of a library of guests, with uncertainty, as a table and as a figure."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from sophron.interfaces.kind import StepContext, StepResult, UpstreamStep
from sophron.records import documents, files

COLUMNS = ("rank", "guest", "delta_g_kcal_per_mol", "statistical_error_kcal_per_mol", "systematic_error_kcal_per_mol")


def rank(ctx: StepContext) -> StepResult:
    """Rank guests by their free energy, the strongest binder first; those without a number are counted, not ranked."""
    rows = [row for one in ctx.upstream["analyse"] if (row := _row(one))]
    rows.sort(key=lambda row: (row[1], row[0]))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([number, *row] for number, row in enumerate(rows, 1))
    path = ctx.workdir / "ranking.csv"
    files.write_text(path, text.getvalue())
    plot = ctx.workdir / "ranking.svg"
    ranked(rows, plot)
    statuses = [one.result["status"] for one in ctx.upstream["analyse"]]
    refused = statuses.count("refused")
    counts = {"ranked": len(rows), "refused": refused, "failed": len(statuses) - len(rows) - refused}
    strongest, number, error, *_ = rows[0] if rows else (None, None, None)
    result = {
        "strongest": strongest,
        "strongest_kcal_per_mol": number,
        "strongest_error_kcal_per_mol": error,
        **counts,
        "apart": _apart(rows),
        "refusal": None if rows else f"no guest has one: {refused} were refused, {counts['failed']} failed",
    }
    return StepResult(result, {"ranking": path, "ranking_plot": plot})


def _row(one: UpstreamStep) -> list[Any] | None:
    if one.result["delta_g_kcal_per_mol"] is None:
        return None
    found = documents.load_json(one.files["executed"])["result"]
    return [one.wildcards["guest"], *(found[column] for column in COLUMNS[2:])]


def _apart(rows: Sequence[Sequence[Any]]) -> int:
    """Neighbours in the ranking whose difference is more than twice its standard error."""
    return sum(after[1] - before[1] > 2 * (before[2] ** 2 + after[2] ** 2) ** 0.5 for before, after in pairwise(rows))


MOST_NAMED = 40
"""Guests whose names fit below the axis; beyond them places in the ranking stand there."""
MOST_LINES = 500
"""Points that are drawn as lines; more of them become one image inside the picture, which stays small."""


def ranked(rows: Sequence[Sequence[Any]], path: Path) -> None:
    """Draw (guest, free energy, statistical error, systematic error) in kcal/mol, in the order of the rows; SVG.

    Thick bars: one standard error; thin ones: the bound of the systematic error beyond it.
    """
    from sophron.science.figures import BLUE, GREY, saved_figure

    with saved_figure(path, width=9.0, height=3.8) as figure:
        axes = figure.subplots()
        places = range(1, len(rows) + 1)
        values, statistical, systematic = ([row[column] for row in rows] for column in (1, 2, 3))
        whole = [one + other for one, other in zip(statistical, systematic, strict=True)]
        bars = partial(axes.errorbar, places, values, ls="none", rasterized=len(rows) > MOST_LINES)
        bars(yerr=whole, color=GREY, elinewidth=0.8, label="and systematic bound")
        bars(yerr=statistical, color=BLUE, elinewidth=2.4, marker="o", ms=3, label="one standard error")
        axes.set(title="Predicted standard binding free energy", xlabel="place in the ranking", ylabel="kcal/mol")
        if len(rows) <= MOST_NAMED:
            axes.set_xticks(list(places), [row[0] for row in rows], rotation=60, ha="right", parse_math=False)
            axes.set_xlabel("")
        if rows:
            axes.legend(loc="upper left")  # values rise to the right, so that nothing stands there
        else:
            axes.text(0.5, 0.5, "no guest has a number", transform=axes.transAxes, ha="center")
