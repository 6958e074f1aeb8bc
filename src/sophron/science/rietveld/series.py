"""Stage series: patterns that follow a lead pattern, several a step, with one engine that is started once.

What an agent refined of the lead is refined to each of them: scale and background first, then all that was free.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.interfaces.rietveld import Cycle, Freed, Pattern, Request, RietveldEngine, State, Sum
from sophron.records import documents, entry_points, step_progress
from sophron.records.errors import UserError
from sophron.records.files import write_json, write_text
from sophron.records.typed_json import from_json, to_json
from sophron.science.rietveld import batches, plots, refined_cif
from sophron.science.rietveld import pattern as patterns
from sophron.science.rietveld.convergence import MOST_CYCLES, MOVE_ESD, largest_move
from sophron.science.rietveld.data import REGISTRY, PinnedFile, Source, pinned
from sophron.science.rietveld.refinement import CURVES, Kept, read_kept, write_kept
from sophron.science.rietveld.session import model_files, sample
from sophron.science.rietveld.session.report import Value
from sophron.science.rietveld.session.session import weighted

LIMIT_S = 600.0
FIRST = ("scale", "background")
"""Counts change most from one pattern to the next."""

EACH, ROW, CIF, PATTERNS, WORST = "each", "row.json", "structure.cif", "patterns.zip", "worst.png"
BEFORE = ("data", "refine")
"""Stages that hold what is known of the lead."""

EPOCH = (1980, 1, 1, 0, 0, 0)
"""Date of every entry of the archive: equal results give equal bytes."""


@dataclass(frozen=True, eq=False)
class Lead:
    """The model that the others begin from. weights: where its variances came from."""

    given: sample.Sample
    state: State
    free: tuple[Freed, ...]
    equal: tuple[tuple[str, ...], ...]
    sums: tuple[Sum, ...]
    weights: str


@dataclass(frozen=True)
class Row:
    """What one pattern of a series came to; numbers are None without a fit."""

    pattern: str
    ended: str
    reason: str | None
    engine: str
    stands: bool
    rwp_percent: float | None
    gof: float | None
    variables: int | None
    largest_move_over_esd: float | None
    cycles: int
    engine_s: float
    parameters: Mapping[str, Value]

    @property
    def fitted(self) -> bool:
        """Whether it came to a fit."""
        return self.gof is not None


def run(ctx: StepContext) -> StepResult:
    """Refine the patterns of one batch in turn.

    Each leaves a folder of its own below EACH, whole before the next begins: a killed step goes on after it. One
    that holds no pattern or cannot be refined is a row that says why, also if it is alone in its step. UserError if a
    file is not the pinned one: with that, the next call goes on. EngineFailure if the lead has no model.
    """
    lead, paths = _lead(ctx), _paths(ctx)
    engine: RietveldEngine = entry_points.load(REGISTRY, lead.given.engine)()
    start, rows = lead.state, list[Row]()
    done = sum((ctx.workdir / EACH / name / ROW).is_file() for name in paths)
    with closing(engine), step_progress.Meter(ctx.workdir, len(paths), done) as meter:
        for name, path in paths.items():
            folder = ctx.workdir / EACH / name
            if not (folder / ROW).is_file():
                _follow(engine, lead, start, path, folder)
            rows.append(from_json(Row, documents.load_json(folder / ROW)))
            meter.at(len(rows))
            if ctx.definition["sequential"] and rows[-1].stands:
                start = read_kept(folder, 0).state
    fitted = [row for row in rows if row.fitted]
    files = {"patterns": ctx.workdir / PATTERNS, "worst_plot": ctx.workdir / WORST}
    _archive(files["patterns"], [ctx.workdir / EACH / row.pattern for row in fitted])
    worst = max(fitted, key=lambda row: row.gof or 0.0, default=None)
    if worst is None:
        plots.sentence_png(f"none of {len(rows)} patterns came to a fit", files["worst_plot"])
    else:
        _draw(ctx.workdir / EACH / worst.pattern, files["worst_plot"])
    return StepResult(_result(rows, fitted, lead), files, {lead.given.engine: lead.state.version})


def _lead(ctx: StepContext) -> Lead:
    name = ctx.definition["lead"]
    found = {stage: next(one for one in ctx.upstream[stage] if one.wildcards["pattern"] == name) for stage in BEFORE}
    given = sample.load(found["data"].files["sample"])
    try:
        _, kept = model_files.read(found["refine"].files["model"], given.pattern)
    except UserError as error:
        raise EngineFailure(f"the model of {name}: {error}") from None
    return Lead(given, kept.state, kept.free, kept.equal, given.sums_in(kept.phases), kept.weights)


def _paths(ctx: StepContext) -> dict[str, Path]:
    """Name of each pattern of the batch -> its file."""
    source = ctx.definition["source"] and from_json(Source, ctx.definition["source"])
    files = [from_json(PinnedFile, one) for one in batches.of(ctx.definition)[ctx.wildcards["batch"]]]
    return {one.name: pinned(source, one, ctx.workdir) for one in files}


def _follow(engine: RietveldEngine, lead: Lead, start: State, path: Path, folder: Path) -> None:
    """Refine one pattern and keep what came of it in `folder`, which has its name; the row is written last."""
    name = folder.name
    try:
        cycles = _cycles(engine, lead, start, patterns.read(path, engine))
    except UserError as error:
        write_json(folder / ROW, asdict(_row(name, engine.name, "refused", str(error))))
        return
    last = cycles[-1]
    if last.fit is not None:
        write_kept(folder, Kept(0, None, name, last.state, last.fit))
        names = [one.name for one in last.fit.phases]
        write_text(folder / CIF, refined_cif.structures(names, lead.given.cifs, last.state, last.fit))
    write_json(folder / ROW, asdict(_row(name, engine.name, last.ended, last.reason, cycles)))


def _cycles(engine: RietveldEngine, lead: Lead, start: State, pattern: Pattern) -> list[Cycle]:
    """Cycles until one changes nothing, or goes wrong. UserError for what the engine refuses."""
    first = tuple(one for one in lead.free if one.group in FIRST)
    done = [engine.refine(pattern, start, Request(first or lead.free, limit_s=LIMIT_S))]
    whole = Request(lead.free, lead.equal, sums=lead.sums, limit_s=LIMIT_S)
    while (fit := done[-1].fit) is not None and len(done) <= MOST_CYCLES:
        if len(done) > 2 and _move(done) < MOVE_ESD:
            break
        seen = weighted(pattern, fit) if lead.weights == "calculated" else pattern
        done.append(engine.refine(seen, done[-1].state, whole))
    return done


def _move(cycles: Sequence[Cycle]) -> float:
    """How far the last cycle moved a parameter, over its esd."""
    before, last = cycles[-2:]
    return 0.0 if last.fit is None else largest_move(last.fit, before.state.values)


def _row(name: str, engine: str, ended: str, reason: str, cycles: Sequence[Cycle] = ()) -> Row:
    fit = cycles[-1].fit if cycles else None
    move = _move(cycles) if fit is not None and len(cycles) > 1 else None
    parameters = fit.parameters if fit is not None else ()
    return Row(
        pattern=name,
        ended=ended,
        reason=reason or None,
        engine=engine,
        stands=ended == "converged" and move is not None and move < MOVE_ESD,
        rwp_percent=None if fit is None else fit.rwp.percent,
        gof=None if fit is None else fit.gof,
        variables=None if fit is None else fit.variables,
        largest_move_over_esd=move,
        cycles=len(cycles),
        engine_s=sum(one.wall_s for one in cycles),
        parameters={one.name: Value(one.value, one.esd, one.esd_counting) for one in parameters},
    )


def _result(rows: Sequence[Row], fitted: Sequence[Row], lead: Lead) -> dict[str, object]:
    return {
        "patterns": len(rows),
        "stand": sum(row.stands for row in rows),
        "without_fit": len(rows) - len(fitted),
        "largest_rwp_percent": max((row.rwp_percent for row in fitted if row.rwp_percent is not None), default=None),
        "largest_gof": max((row.gof for row in fitted if row.gof is not None), default=None),
        "engine": lead.given.engine,
        "engine_s": sum(row.engine_s for row in rows),
        "rows": to_json(rows),
    }


def _archive(path: Path, folders: Sequence[Path]) -> None:
    """`<pattern>/curves.npz` and `<pattern>/structure.cif` of each; the curves are compressed already."""
    with zipfile.ZipFile(path, "w") as archive:
        for folder in folders:
            for file in (folder / "0" / CURVES, folder / CIF):
                archive.writestr(zipfile.ZipInfo(f"{folder.name}/{file.name}", EPOCH), file.read_bytes())


def _draw(folder: Path, path: Path) -> None:
    fit = read_kept(folder, 0).fit
    if fit is None:
        raise EngineFailure(f"{folder.name}: its fit is gone from {folder}; run the step again")
    plots.pattern_png(fit, path)
