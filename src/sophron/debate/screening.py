"""A pipeline over a library of guests: its four stage files on each of them, and a ranking with uncertainty.

Each stage's definition holds its own file, so that an edited analysis repeats the analyses and no production.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from sophron.debate import execution, steps
from sophron.debate.pipeline import PRODUCTION, STAGES, Pipeline, StageFile
from sophron.interfaces.kind import StepContext, StepResult, UpstreamStep
from sophron.records import atomic, documents
from sophron.records.canonical import digest
from sophron.sandbox.choose import choose

COLUMNS = ("rank", "guest", "delta_g_kcal_per_mol", "statistical_error_kcal_per_mol", "systematic_error_kcal_per_mol")


def prepare(ctx: StepContext) -> StepResult:
    """`01_prep.py` on one guest."""
    return _stage(ctx, STAGES[0])


def equilibrate(ctx: StepContext) -> StepResult:
    """`02_equilibrate.py` on one guest."""
    return _stage(ctx, STAGES[1])


def produce(ctx: StepContext) -> StepResult:
    """`03_production.py` on one guest, one window."""
    return _stage(ctx, STAGES[2])


def analyse(ctx: StepContext) -> StepResult:
    """`04_analysis.py` on one guest."""
    return _stage(ctx, STAGES[3])


def _stage(ctx: StepContext, stage: StageFile) -> StepResult:
    (task,) = ctx.upstream["tasks"]
    before = [one for name in steps.PARTS[: stage.number - 1] for one in ctx.upstream.get(name, [])]
    if any(one.result["status"] != "completed" for one in before):
        return steps.left(ctx, "skipped", "", None, None)
    key = digest([ctx.definition, task.result["metadata"], dict(ctx.wildcards)])
    inputs = steps.extracted(task.files["left"], ctx.workdir / "inputs")
    work = execution.Work(
        pipeline=Pipeline("", ctx.definition["windows"], {stage.file: ctx.definition["source"]}),
        stage=stage,
        task=task.result["metadata"],
        folder=ctx.workdir / stage.folder,
        seed=steps.seed_of(key),
        ns_per_window=ctx.definition["ns_per_window"],
        platform=ctx.definition["platform"],
        window=int(ctx.wildcards["window"]) if stage is PRODUCTION else None,
        inputs={path.name: path for path in sorted(inputs.iterdir())},
        earlier=dict(steps.unpacked(ctx, before)),
        memory_mb=ctx.memory_mb,
        cores=ctx.cores.total,
        wall_s=60.0 * ctx.runtime_min,
    )
    executed = execution.run(work, choose())
    return steps.left(ctx, executed.result["status"], key, executed, work.workdir)


def rank(ctx: StepContext) -> StepResult:
    """Guests by their free energy, the strongest binder first; those without a number are counted, not ranked."""
    rows = [row for one in ctx.upstream["analyse"] if (row := _row(one))]
    rows.sort(key=lambda row: (row[1], row[0]))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([number, *row] for number, row in enumerate(rows, 1))
    path = ctx.workdir / "ranking.csv"
    atomic.write_text(path, text.getvalue())
    statuses = [one.result["status"] for one in ctx.upstream["analyse"]]
    result = {
        "ranked": len(rows),
        "refused": statuses.count("refused"),
        "failed": len(statuses) - len(rows) - statuses.count("refused"),
        "apart": _apart(rows),
        "strongest": rows[0][0] if rows else None,
    }
    return StepResult(result, {"ranking": path})


def _row(one: UpstreamStep) -> list[Any] | None:
    if one.result["delta_g_kcal_per_mol"] is None:
        return None
    found = documents.load_json(one.files["executed"])["result"]
    return [one.wildcards["guest"], *(found[column] for column in COLUMNS[2:])]


def _apart(rows: Sequence[Sequence[Any]]) -> int:
    """Neighbours in the ranking whose difference is more than twice its standard error."""
    return sum(after[1] - before[1] > 2 * (before[2] ** 2 + after[2] ** 2) ** 0.5 for before, after in pairwise(rows))
