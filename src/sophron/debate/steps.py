"""Steps of a trial that look at a pipeline or run it: Layer-1, rehearsal with the Engineer's fixes, the four stages.

A stage file's failure is a result of its step, so the loop goes on with it; only a sandbox that cannot be made is ours.
"""

from __future__ import annotations

import io
import shutil
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sophron.debate import engineering, execution, layer1, literature
from sophron.debate.ablation import METHODS
from sophron.debate.pipeline import PRODUCTION, STAGES, Pipeline, StageFile
from sophron.debate.votes import Label
from sophron.interfaces.kind import StepContext, StepResult, UpstreamStep
from sophron.records import atomic, documents
from sophron.records.canonical import digest
from sophron.records.errors import UserError
from sophron.sandbox.choose import choose
from sophron.science.host_guest import systems

PIPELINE_NAME, ARCHIVE_NAME, EXECUTED_NAME = "pipeline.txt", "left.tar", "executed.json"
PARTS = ("prepare", "equilibrate", "produce", "analyse")
"""Name of the step of each stage file, in their order."""
LARGEST_SEED = 900_000_000
READY = "ready"


def tasks(ctx: StepContext) -> StepResult:
    """What pipelines are told of one guest, with its files in an archive."""
    settings, guest = ctx.definition["settings"], ctx.wildcards["guest"]
    system = systems.find(ctx.definition["system"])
    made = system.task(settings, guest, ctx.workdir)
    documents.validate(documents.Document(made.metadata, ctx.workdir), "debate/task_metadata")
    folder = ctx.workdir / "files"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, path in made.files.items():
        shutil.copyfile(path, folder / name)
    archive = packed(folder, ctx.workdir / ARCHIVE_NAME)
    about = {"metadata": made.metadata, "form": system.form, "names": list(system.names(settings))}
    return StepResult(about, {"left": archive})


def references(ctx: StepContext) -> StepResult:
    """Reference values, in a file that no agent is told and no sandbox shows."""
    values = systems.find(ctx.definition["system"]).references(ctx.definition["settings"])
    path = ctx.workdir / "references.json"
    atomic.write_json(path, values)
    return StepResult({"guests": len(values)}, {"references": path})


def looked_at(ctx: StepContext) -> StepResult:
    """Layer-1 of what the author replied."""
    (written,) = ctx.upstream["write"]
    names = {name for task in ctx.upstream["tasks"] for name in task.result["names"]}
    verdict = layer1.verify(written.result["reply"], sorted(names), literature.load())
    path = ctx.workdir / PIPELINE_NAME
    atomic.write_text(path, verdict.pipeline.reply if verdict.pipeline else "")
    return StepResult(verdict.as_document(), {"pipeline": path})


def rehearse(ctx: StepContext) -> StepResult:
    """The first three stages, one window of production, on the first training guest, with the fixes made so far.

    It finds what does not run before a panel looks, and before all windows are paid for.
    """
    (looked,) = ctx.upstream["layer1"]
    if looked.result["label"] == Label.FAIL.value:
        return _rehearsed(ctx, "rejected", "", "the mechanical check refused it")
    number = int(ctx.wildcards["attempt"])
    pipeline = Pipeline.parse(looked.files["pipeline"].read_text(encoding="utf-8"))
    fixes = [fix for fix in _in_order(ctx.upstream["engineer"], "fix") if int(fix.wildcards["fix"]) < number]
    made: list[engineering.Edit] = []
    for fix in fixes:
        if fix.result["action"] == "give_up":
            return _rehearsed(ctx, "stuck", pipeline.reply, f"the Engineer gave up: {fix.result['diagnosis']}")
        edits = engineering.read(fix.result)
        fixed = engineering.apply(pipeline, edits)
        if isinstance(fixed, engineering.Refused):
            return _rehearsed(ctx, "stuck", pipeline.reply, f"an edit was refused ({fixed.reason}): {fixed.sentence}")
        pipeline, made = fixed, made + edits
    if engineering.repeated(made):
        return _rehearsed(ctx, "stuck", pipeline.reply, "the same fix was tried twice")
    return _run_through(ctx, pipeline, number)


def _run_through(ctx: StepContext, pipeline: Pipeline, number: int) -> StepResult:
    guest = ctx.definition["training"][0]
    (task,) = [one for one in ctx.upstream["tasks"] if one.wildcards["guest"] == guest]
    last = number >= ctx.definition["attempts"] or not METHODS[ctx.definition["method"]].engineer
    if pipeline.windows > ctx.definition["most_windows"]:
        most = ctx.definition["most_windows"]
        return _rehearsed(ctx, "stuck", pipeline.reply, f"{pipeline.windows} windows are more than the signed {most}")
    earlier: dict[str, Path] = {}
    # The attempts share the session; the three stages share what one attempt has.
    until = time.monotonic() + engineering.SESSION_S / (ctx.definition["attempts"] + 1)
    for stage in STAGES[:3]:
        window = 0 if stage is PRODUCTION else None
        about: dict[str, Any] = {"earlier": earlier, "window": window, "seed": ctx.seed}
        wall_s = min(max(1.0, until - time.monotonic()), 60.0 * ctx.runtime_min)
        work = _work(ctx, pipeline, stage, task, wall_s=wall_s, **about)
        executed = execution.run(work, choose())
        if not executed.completed:
            return _rehearsed(ctx, "stuck" if last else "crashed", pipeline.reply, _said(executed), stage.file)
        earlier[stage.folder] = work.workdir
    return _rehearsed(ctx, READY, pipeline.reply, "")


def _said(executed: execution.Executed) -> str:
    failure = executed.result.get("failure") or {}
    return f"{failure.get('kind')}: {failure.get('sentence')}\n{executed.measured['stderr_tail']}"[-4000:]


def _rehearsed(ctx: StepContext, state: str, reply: str, said: str, file: str = "") -> StepResult:
    path = ctx.workdir / PIPELINE_NAME
    atomic.write_text(path, reply)
    windows = Pipeline.parse(reply).windows if reply else 0
    return StepResult({"state": state, "file": file, "said": said, "windows": windows}, {"pipeline": path})


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
    """`04_analysis.py` on one guest; run by itself, so that its failure costs no production."""
    return _stage(ctx, STAGES[3])


def ready(rehearsals: Sequence[UpstreamStep]) -> Pipeline:
    """The pipeline that a trial runs; ValueError where no rehearsal came through."""
    found = [one for one in rehearsals if one.result["state"] == READY]
    if not found:
        raise ValueError("no rehearsal of this trial came through")
    return Pipeline.parse(found[-1].files["pipeline"].read_text(encoding="utf-8"))


def _stage(ctx: StepContext, stage: StageFile) -> StepResult:
    pipeline, (task,) = ready(ctx.upstream["rehearse"]), ctx.upstream["tasks"]
    before = [one for name in PARTS[: stage.number - 1] for one in ctx.upstream[name]]
    if any(one.result["status"] != "completed" for one in before):
        return left(ctx, "skipped", "", None, None)
    key = _key(ctx, pipeline, stage, task)
    same = [one for one in ctx.previous.get(PARTS[stage.number - 1], []) if one.result["key"] == key]
    if same and same[0].result["status"] == "completed":
        files = {name: _copied(path, ctx.workdir / path.name) for name, path in same[0].files.items()}
        return StepResult(same[0].result, files)
    earlier = dict(unpacked(ctx, before))
    window = int(ctx.wildcards["window"]) if stage is PRODUCTION else None
    about: dict[str, Any] = {"earlier": earlier, "window": window, "seed": seed_of(key)}
    work = _work(ctx, pipeline, stage, task, wall_s=60.0 * ctx.runtime_min, **about)
    executed = execution.run(work, choose())
    return left(ctx, executed.result["status"], key, executed, work.workdir)


def _key(ctx: StepContext, pipeline: Pipeline, stage: StageFile, task: UpstreamStep) -> str:
    """What a stage's result depends on: the same in another trial means the same result, which is taken over."""
    sources = [pipeline.files[each.file] for each in STAGES[: stage.number]]
    length = {key: ctx.definition[key] for key in ("ns_per_window", "platform")}
    place = {key: value for key, value in ctx.wildcards.items() if key != "trial"}
    return digest([sources, pipeline.windows, task.result["metadata"], length, place])


def seed_of(key: str) -> int:
    """Seed of an execution, from all that it depends on."""
    return int(key[:12], 16) % LARGEST_SEED + 1


def _work(
    ctx: StepContext,
    pipeline: Pipeline,
    stage: StageFile,
    task: UpstreamStep,
    *,
    earlier: Mapping[str, Path],
    window: int | None,
    wall_s: float,
    seed: int,
) -> execution.Work:
    inputs = extracted(task.files["left"], ctx.workdir / "inputs" / stage.folder)
    return execution.Work(
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
    )


def left(
    ctx: StepContext, status: str, key: str, executed: execution.Executed | None, folder: Path | None
) -> StepResult:
    """The outcome of an execution without clocks; what was measured with one goes into the files.

    key: see `key` there; executed, folder: None where a stage before did not complete.
    """
    empty = ctx.workdir / "empty"
    empty.mkdir(exist_ok=True)
    archive = packed(folder or empty, ctx.workdir / ARCHIVE_NAME)
    document = executed.as_document() if executed else None
    path = ctx.workdir / EXECUTED_NAME
    atomic.write_json(path, document)
    number = executed.result["delta_g_kcal_per_mol"] if executed else None
    failure = executed.result.get("failure") if executed else None
    about = {"status": status, "key": key, "delta_g_kcal_per_mol": number, "failure": failure}
    return StepResult(about, {"left": archive, "executed": path})


def packed(folder: Path, archive: Path) -> Path:
    """`archive`, made of what is in a folder."""
    with tarfile.open(archive, "w") as stream:
        for path in sorted(folder.iterdir()):
            stream.add(path, path.name)
    return archive


def extracted(archive: Path, folder: Path) -> Path:
    """A new `folder` with what an archive holds; UserError for anything but files and folders inside.

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


def unpacked(ctx: StepContext, before: Sequence[UpstreamStep]) -> Iterator[tuple[str, Path]]:
    """What earlier stages of a guest left, by the name under which a stage file finds it."""
    for one in before:
        stage = STAGES[PARTS.index(one.stage)]
        name = f"windows/{one.wildcards['window']}" if stage is PRODUCTION else stage.folder
        yield name, extracted(one.files["left"], ctx.workdir / "earlier" / name)


def _copied(source: Path, target: Path) -> Path:
    shutil.copyfile(source, target)
    return target


def _in_order(steps: Sequence[UpstreamStep], wildcard: str) -> list[UpstreamStep]:
    return sorted(steps, key=lambda one: int(one.wildcards[wildcard]))
