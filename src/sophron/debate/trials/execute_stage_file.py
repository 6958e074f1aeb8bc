"""The step of a stage file, in a trial and in a screen alike: one file on one guest, and what it left in an archive.

A stage file's failure is a result of its step, so the loop goes on with it; only a sandbox that cannot be made is ours.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path

from sophron.debate.pipelines.pipeline import PRODUCTION, STAGES, Pipeline, StageFile
from sophron.debate.trials import stage_sandbox
from sophron.interfaces.kind import EngineFailure, StepContext, StepResult, UpstreamStep
from sophron.records.digests import digest
from sophron.records.errors import UserError
from sophron.records.files import write_json
from sophron.sandbox.select_backend import choose

EXECUTED_NAME = "executed.json"
PARTS = ("prepare", "equilibrate", "produce", "analyse")
"""Name of the step of each stage file, in their order."""
LARGEST_SEED = 900_000_000
LIMITS = {"wall_s": "time", "memory_mb": "memory"}
"""Limits of a sandbox that a further try may have more of."""
LIBRARIES = ("openmm", "openmmtools", "parmed", "pymbar")
"""Of this environment, those that a stage file may compute with; their versions are in the outcome."""
READY = "ready"


def execute(ctx: StepContext) -> StepResult:
    """Return the stage file that the step is called after (`PARTS`), on its guest and in production on its window.

    Skip it if an earlier stage of the guest did not complete; reuse the previous trial's result if nothing it
    depends on changed.
    """
    stage = STAGES[PARTS.index(ctx.stage)]
    pipeline, (task,) = _pipeline(ctx, stage), ctx.upstream["tasks"]
    before = [one for name in PARTS[: stage.number - 1] for one in ctx.upstream[name]]
    if any(one.result["status"] != "completed" for one in before):
        return _left(ctx, "skipped", "", None, None)
    key = _key(ctx, pipeline, stage, task)
    same = [one for one in ctx.previous.get(ctx.stage, []) if one.result["key"] == key]
    if same and same[0].result["status"] == "completed":
        files = {name: _copied(path, ctx.workdir / path.name) for name, path in same[0].files.items()}
        return StepResult(same[0].result, files, same[0].tools)
    made = work(
        ctx,
        pipeline,
        stage,
        task,
        earlier=dict(_unpacked(ctx, before)),
        window=int(ctx.wildcards["window"]) if stage is PRODUCTION else None,
        wall_s=60.0 * ctx.runtime_min,
        seed=int(key[:12], 16) % LARGEST_SEED + 1,  # from all that the execution depends on
    )
    executed = stage_sandbox.run(made, choose())
    curable = LIMITS.get(executed.measured.limit or "")
    if curable in ctx.may_grow:
        raise EngineFailure(f"{stage.file} passed its limit {executed.measured.limit}", curable_by=curable)
    return _left(ctx, executed.result.status, key, executed, made)


def _pipeline(ctx: StepContext, stage: StageFile) -> Pipeline:
    """Of a trial the one that came through its rehearsal; of a screen the one file that its definition holds."""
    if "rehearse" in ctx.upstream:
        return ready(ctx.upstream["rehearse"])
    return Pipeline("", ctx.definition["windows"], {stage.file: ctx.definition["source"]})


def ready(rehearsals: Sequence[UpstreamStep]) -> Pipeline:
    """Return the pipeline that a trial runs; ValueError if no rehearsal came through."""
    found = [one for one in rehearsals if one.result["state"] == READY]
    if not found:
        raise ValueError("no rehearsal of this trial came through")
    return Pipeline.parse(found[-1].files["pipeline"].read_text(encoding="utf-8"))


def _key(ctx: StepContext, pipeline: Pipeline, stage: StageFile, task: UpstreamStep) -> str:
    """What a stage's result depends on: the same in another trial means the same result, which is taken over."""
    sources = [pipeline.files[each.file] for each in STAGES[: stage.number] if each.file in pipeline.files]
    length = {key: ctx.definition[key] for key in ("ns_per_window", "platform")}
    place = {key: value for key, value in ctx.wildcards.items() if key != "trial"}
    required = [ctx.definition["measured"]] if "measured" in ctx.definition else []
    return digest([sources, pipeline.windows, task.result["metadata"], length, place, ctx.spec_seed, *required])


def work(
    ctx: StepContext,
    pipeline: Pipeline,
    stage: StageFile,
    task: UpstreamStep,
    *,
    earlier: Mapping[str, Path],
    window: int | None,
    wall_s: float,
    seed: int,
) -> stage_sandbox.Work:
    """Return what there is to run.

    earlier: name below the work folder -> folder; window: of production; wall_s: seconds.
    """
    inputs = extracted(task.files["left"], ctx.workdir / "inputs" / stage.folder)
    return stage_sandbox.Work(
        pipeline=pipeline,
        stage=stage,
        task=task.result["metadata"],
        folder=ctx.workdir / stage.folder,
        seed=seed,
        ns_per_window=ctx.definition["ns_per_window"],
        platform=ctx.definition["platform"],
        window=window,
        inputs={path.name: path for path in sorted(inputs.iterdir())},
        earlier=earlier,
        memory_mb=ctx.memory_mb,
        cores=ctx.cores.total,
        wall_s=wall_s,
        required=ctx.definition.get("measured", ()),
    )


def _left(
    ctx: StepContext, status: str, key: str, executed: stage_sandbox.Executed | None, made: stage_sandbox.Work | None
) -> StepResult:
    """The outcome of an execution without clocks; what was measured with one goes into the files.

    key: see `_key`; executed, made: None if a stage before did not complete.
    """
    empty = ctx.workdir / "empty"
    empty.mkdir(exist_ok=True)
    archive = packed(made.workdir if made else empty, ctx.workdir / ARCHIVE_NAME)
    document = executed.as_document() if executed else None
    path = ctx.workdir / EXECUTED_NAME
    write_json(path, document)
    number = executed.result.delta_g_kcal_per_mol if executed else None
    failure = executed.said.get("failure") if executed else None
    seed = made.seed if made else None
    about = {"status": status, "key": key, "seed": seed, "delta_g_kcal_per_mol": number, "failure": failure}
    return StepResult(about, {"left": archive, "executed": path}, versions() if executed else {})


def versions() -> dict[str, str]:
    """Return name -> version of what a stage file may compute with."""
    found = {}
    for name in LIBRARIES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _unpacked(ctx: StepContext, before: Sequence[UpstreamStep]) -> Iterator[tuple[str, Path]]:
    """What earlier stages of a guest left, by the name under which a stage file finds it."""
    for one in before:
        stage = STAGES[PARTS.index(one.stage)]
        name = f"windows/{one.wildcards['window']}" if stage is PRODUCTION else stage.folder
        yield name, extracted(one.files["left"], ctx.workdir / "earlier" / name)


def _copied(source: Path, target: Path) -> Path:
    shutil.copyfile(source, target)
    return target


ARCHIVE_NAME = "left.tar"


def packed(folder: Path, archive: Path) -> Path:
    """`archive`, made of what is in a folder: equal files make equal bytes, whenever and by whom they were written."""
    with tarfile.open(archive, "w") as stream:
        for path in sorted(folder.iterdir()):
            stream.add(path, path.name, filter=_nobody)
    return archive


def _nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mtime, member.uid, member.gid, member.uname, member.gname = 0, 0, 0, "", ""
    return member


def extracted(archive: Path, folder: Path) -> Path:
    """Return a new `folder` with what an archive holds; UserError for anything but files and folders inside.

    Filters of `tarfile` would do, but Python 3.11 has them only from 3.11.4 on.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tarfile.open(archive) as stream:
        for member in stream:
            target = (folder / member.name).resolve()
            if not (member.isdir() or member.isfile()) or not target.is_relative_to(folder.resolve()):
                raise UserError(f"{archive}: holds what no stage may leave ({member.name}); remove it and run again")
            if member.isfile():
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as copy:
                    shutil.copyfileobj(stream.extractfile(member) or io.BytesIO(), copy)
            else:
                target.mkdir(parents=True, exist_ok=True)
    return folder
