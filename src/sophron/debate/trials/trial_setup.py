"""Steps of a trial before its stage files run: tasks, references, Layer-1, and the rehearsal with the Engineer's fixes.

What fails in a rehearsal is a result of its step, so the loop goes on with it.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sophron.agents.tools import literature
from sophron.debate.panel.votes import Label
from sophron.debate.pipelines.edits import mechanical_edits
from sophron.debate.pipelines.edits.refusals import RefusedEdit
from sophron.debate.pipelines.pipeline import PRODUCTION, STAGES, Pipeline
from sophron.debate.pipelines.static_check import layer1
from sophron.debate.trials import execute_stage_file, stage_sandbox
from sophron.debate.trials.execute_stage_file import ARCHIVE_NAME, packed
from sophron.debate.trials.methods import METHODS
from sophron.interfaces.kind import StepContext, StepResult, UpstreamStep
from sophron.records import documents, files
from sophron.records.typed_json import from_json
from sophron.sandbox.select_backend import choose
from sophron.science.host_guest.systems import systems

PIPELINE_NAME = "pipeline.txt"
REHEARSED_NS = 0.02


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
    about = {
        "metadata": made.metadata,
        "form": system.form,
        "names": list(system.names(settings)),
        "remarks": list(made.remarks),
    }
    return StepResult(about, {"left": archive})


def references(ctx: StepContext) -> StepResult:
    """Reference values, in a file that no agent is told and no sandbox shows."""
    values = systems.find(ctx.definition["system"]).references(ctx.definition["settings"], ctx.workdir)
    path = ctx.workdir / "references.json"
    files.write_json(path, values)
    return StepResult({"guests": len(values)}, {"references": path})


def looked_at(ctx: StepContext) -> StepResult:
    """Layer-1 of what the author replied, or of what the critic made of it.

    It asks no network: what may be cited beyond the bibliography lies beside the answer, with its digest in it.
    """
    (written,) = ctx.upstream["pipeline_critic"] or ctx.upstream["pipeline_author"]
    verdict = layer1.verify(
        written.result["reply"], _names(ctx), literature.load(), literature.read_cited(written.files)
    )
    path = ctx.workdir / PIPELINE_NAME
    files.write_text(path, verdict.pipeline.reply if verdict.pipeline else "")
    return StepResult(verdict.as_document(), {"pipeline": path})


def rehearse(ctx: StepContext) -> StepResult:
    """The first three stages, one window of production, on the first training guest, with the fixes made so far.

    It finds what does not run before a panel looks, and before all windows are paid for. Nothing that it samples is
    used, so it samples `REHEARSED_NS` a window at most; the trial itself has the signed length, whatever was rehearsed.
    """
    (looked,) = ctx.upstream["layer1"]
    if looked.result["label"] == Label.FAIL.value:
        return _rehearsed(ctx, "rejected", "", "the mechanical check refused it")
    number = int(ctx.wildcards["attempt"])
    pipeline = Pipeline.parse(looked.files["pipeline"].read_text(encoding="utf-8"))
    answers = [
        step for step in _in_order(ctx.upstream["pipeline_engineer"], "fix") if int(step.wildcards["fix"]) < number
    ]
    fixes = [from_json(mechanical_edits.Fix, step.result) for step in answers]
    made: list[mechanical_edits.Edit] = []
    for fix in fixes:
        if fix.action == "give_up":
            return _rehearsed(ctx, "stuck", pipeline.reply, f"the Engineer gave up: {fix.diagnosis}")
        made += fix.edits
        if mechanical_edits.repeated(made):
            return _rehearsed(ctx, "stuck", pipeline.reply, "the same fix was tried twice")
        fixed = _fixed(ctx, pipeline, fix.edits)
        if isinstance(fixed, str):
            return _rehearsed(ctx, "stuck", pipeline.reply, fixed)
        pipeline = fixed
    return _run_through(ctx, pipeline, number)


def _fixed(ctx: StepContext, pipeline: Pipeline, edits: Sequence[mechanical_edits.Edit]) -> Pipeline | str:
    """The pipeline with the Engineer's edits, or why they are refused: for what they change, or what comes of it.

    The rationale is no file that can be edited: what it cites was looked at with the author's reply.
    """
    fixed = mechanical_edits.apply(pipeline, edits)
    if isinstance(fixed, RefusedEdit):
        return f"an edit was refused ({fixed.reason}): {fixed.sentence}"
    faults = [fault for fault in layer1.verify(fixed.reply, _names(ctx)).faults if fault.check != "citations"]
    if faults:
        fault = faults[0]
        return f"an edit was refused ({fault.check}): {fault.file}, line {fault.line}: {fault.sentence}"
    return fixed


def _names(ctx: StepContext) -> list[str]:
    """Of host and guests of this campaign, which no pipeline may depend on."""
    return sorted({name for task in ctx.upstream["tasks"] for name in task.result["names"]})


def _run_through(ctx: StepContext, pipeline: Pipeline, number: int) -> StepResult:
    guest = ctx.definition["training"][0]
    (task,) = [one for one in ctx.upstream["tasks"] if one.wildcards["guest"] == guest]
    last = number >= ctx.definition["attempts"] or not METHODS[ctx.definition["method"]].engineer
    if pipeline.windows > ctx.definition["most_windows"]:
        most = ctx.definition["most_windows"]
        return _rehearsed(ctx, "stuck", pipeline.reply, f"{pipeline.windows} windows are more than the signed {most}")
    earlier: dict[str, Path] = {}
    tools = execute_stage_file.versions()
    # The attempts share the session; the three stages share what one attempt has.
    until = time.monotonic() + mechanical_edits.SESSION_S / (ctx.definition["attempts"] + 1)
    for stage in STAGES[:3]:
        window = 0 if stage is PRODUCTION else None
        wall_s = min(max(1.0, until - time.monotonic()), 60.0 * ctx.runtime_min)
        work = execute_stage_file.work(
            ctx, pipeline, stage, task, earlier=earlier, window=window, wall_s=wall_s, seed=ctx.seed
        )
        work = replace(work, ns_per_window=min(work.ns_per_window, REHEARSED_NS))
        executed = stage_sandbox.run(work, choose())
        if not executed.completed:
            return _rehearsed(
                ctx, "stuck" if last else "crashed", pipeline.reply, _said(executed), file=stage.file, tools=tools
            )
        earlier[stage.folder] = work.workdir
    return _rehearsed(ctx, execute_stage_file.READY, pipeline.reply, "", tools=tools)


def _said(executed: stage_sandbox.Executed) -> str:
    failure = executed.result.failure
    why = f"{failure.kind}: {failure.sentence}" if failure else "None: None"
    return f"{why}\n{executed.measured.stderr_tail}"[-4000:]


def _rehearsed(
    ctx: StepContext, state: str, reply: str, said: str, *, file: str = "", tools: Mapping[str, str] | None = None
) -> StepResult:
    path = ctx.workdir / PIPELINE_NAME
    files.write_text(path, reply)
    windows = Pipeline.parse(reply).windows if reply else 0
    about = {"state": state, "file": file, "said": said, "windows": windows}
    return StepResult(about, {"pipeline": path}, tools or {})


def _in_order(steps: Sequence[UpstreamStep], wildcard: str) -> list[UpstreamStep]:
    return sorted(steps, key=lambda one: int(one.wildcards[wildcard]))
