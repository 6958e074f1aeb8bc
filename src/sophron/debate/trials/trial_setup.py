"""Steps of a trial before its stage files run: tasks, references, Layer-1, and the rehearsal with the Engineer's fixes.

What fails in a rehearsal is a result of its step, so the loop goes on with it.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sophron.agents.tools import literature
from sophron.debate.panel.votes import Label
from sophron.debate.pipelines.edits import mechanical_edits
from sophron.debate.pipelines.edits.refusals import RefusedEdit
from sophron.debate.pipelines.pipeline import PRODUCTION, REHEARSED_NS, STAGES, Pipeline, StageFile
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
    """All four files, one window of production, on the first training guest, with the fixes made so far.

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
        said = "; ".join(f"{each.file}, line {each.line}: {each.sentence}" for each in faults)
        return f"an edit was refused ({faults[0].check}): {said}"
    return fixed


def _names(ctx: StepContext) -> list[str]:
    """Of host and guests of this campaign, which no pipeline may depend on."""
    return sorted({name for task in ctx.upstream["tasks"] for name in task.result["names"]})


def _run_through(ctx: StepContext, pipeline: Pipeline, number: int) -> StepResult:
    if pipeline.windows > ctx.definition["most_windows"]:
        most = ctx.definition["most_windows"]
        return _rehearsed(ctx, "stuck", pipeline.reply, f"{pipeline.windows} windows are more than the signed {most}")
    last = number >= ctx.definition["attempts"] or not METHODS[ctx.definition["method"]].engineer
    failed = _Rehearsal.of(ctx, pipeline).failure()
    if failed is None:
        return _rehearsed(ctx, execute_stage_file.READY, pipeline.reply, "", tools=execute_stage_file.versions())
    stage, executed = failed
    state = "stuck" if last else "crashed"
    tools = execute_stage_file.versions()
    return _rehearsed(ctx, state, pipeline.reply, _said(executed), file=stage.file, tools=tools)


@dataclass
class _Rehearsal:
    """One attempt. until: when its part of the session ends; the attempts share it, and the stages share a part."""

    ctx: StepContext
    pipeline: Pipeline
    task: UpstreamStep
    until: float
    earlier: dict[str, Path] = field(default_factory=dict)

    @classmethod
    def of(cls, ctx: StepContext, pipeline: Pipeline) -> _Rehearsal:
        guest = ctx.definition["training"][0]
        (task,) = [one for one in ctx.upstream["tasks"] if one.wildcards["guest"] == guest]
        part_s = mechanical_edits.SESSION_S / (ctx.definition["attempts"] + 1)
        return cls(ctx, pipeline, task, time.monotonic() + part_s)

    def failure(self) -> tuple[StageFile, stage_sandbox.Executed] | None:
        """Return the first stage that fails, with what it said; None if all come through."""
        for stage in STAGES[:3]:
            begun = time.monotonic()
            folder, executed = self.run(stage, 0 if stage is PRODUCTION else None)
            if not executed.completed:
                return stage, executed
            self.earlier["windows/0" if stage is PRODUCTION else stage.folder] = folder
        return self.analysis(time.monotonic() - begun)

    def analysis(self, window_s: float) -> tuple[StageFile, stage_sandbox.Executed] | None:
        """Return a failed analysis; None if it came through, refused, or could not be tried fairly.

        It is tried with copies of the first window, which costs nothing. If it fails, that may be for the copies: then
        all windows are run, if there is the time, and it is tried again. window_s: what a window takes.
        """
        windows, first = range(1, self.pipeline.windows), self.earlier["windows/0"]
        self.earlier |= {f"windows/{number}": first for number in windows}
        if self.run(STAGES[-1])[1].result.status != "failed":
            return None
        if time.monotonic() + (len(windows) + 1) * window_s > self.until:
            return None
        own = {name: path for name, path in self.earlier.items() if not name.startswith("windows/")}
        self.earlier = dict(own)
        made = {"windows/0": first}
        for number in windows:
            folder, executed = self.run(PRODUCTION, number)
            if not executed.completed:
                return PRODUCTION, executed
            made[f"windows/{number}"] = folder
        self.earlier |= made
        _, executed = self.run(STAGES[-1])
        return (STAGES[-1], executed) if executed.result.status == "failed" else None

    def run(self, stage: StageFile, window: int | None = None) -> tuple[Path, stage_sandbox.Executed]:
        """Run one file, in a folder of its own; where it ran, and how it went."""
        work = execute_stage_file.work(
            self.ctx,
            self.pipeline,
            stage,
            self.task,
            earlier=self.earlier,
            window=window,
            wall_s=min(max(1.0, self.until - time.monotonic()), 60.0 * self.ctx.runtime_min),
            seed=self.ctx.seed,
        )
        folder = work.folder if window is None else work.folder / str(window)
        shutil.rmtree(folder, ignore_errors=True)
        work = replace(work, folder=folder, ns_per_window=min(work.ns_per_window, REHEARSED_NS))
        return work.workdir, stage_sandbox.run(work, choose())


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
