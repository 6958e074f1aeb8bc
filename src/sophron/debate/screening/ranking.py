"""The ranking of a library of guests, with uncertainty."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from sophron.debate.screening import ranking_figure
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
    ranking_figure.ranked(rows, plot)
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
